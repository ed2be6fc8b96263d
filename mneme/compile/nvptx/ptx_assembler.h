// PtxAssembler: turns PTX into a cubin. There are four: NVIDIA's libraries nvPTXCompiler and nvJitLink, its program ptxas, and
// the driver. Only the driver needs a GPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/assembler_options.h"
#include "mneme/device/code_image.h"

namespace mneme::nvptx {

enum class LineInfo { leave_out, keep };

struct AssembleRequest {
  std::string ptx;
  std::string architecture;  // "sm_90"
  LineInfo lines = LineInfo::leave_out;
  AssemblerOptions options = {};
};

struct Assembled {
  CodeImage image;
  std::string log;  // the tool's messages, among them what ptxas writes under -v; the driver has none
};

// Used by one thread at a time; different objects by different threads.
class PtxAssembler {
 public:
  virtual ~PtxAssembler() = default;
  virtual std::string_view name() const = 0;  // "nvptxcompiler", "nvjitlink", "ptxas" or "driver"
  // Names the tool and its file. Two assemblers with one identity make the same of the same PTX.
  virtual std::string identity() const = 0;
  // Makes a cubin. With the driver, which assembles PTX when it loads it, the image is the PTX itself, with its terminator and
  // with the options for the driver (JitOptions). incompatible: the tool does not take the PTX or an option, in its own words.
  // unsupported: this assembler does not have an option, by name. unavailable: the tool does not run.
  virtual Result<Assembled> assemble(const AssembleRequest& request) = 0;
};

// The arguments for ptxas, without the program and the files; nvPTXCompiler takes the same.
std::vector<std::string> ptxas_arguments(const AssembleRequest& request);

// Those among them that nvJitLink has to hand on to ptxas: -dlcm and -dscm, where the options set them.
std::vector<std::string> cache_arguments(const AssemblerOptions& options);

// Which assembler to take, and the paths where it may be, in the order in which they are tried.
struct AssemblerSearch {
  std::string only = {};                              // one of the names, or empty for the first that is there
  std::vector<std::string> nvptxcompiler_paths = {};  // of the library
  std::vector<std::string> nvjitlink_paths = {};      // of the library; a bare name is looked for as the loader does
  std::vector<std::string> ptxas_paths = {};          // of the program

  // MNEME_PTX_ASSEMBLER gives `only`. The paths are those in Mneme's own installation, then in CUDA_HOME, in the toolkit that
  // Mneme was built with, in /usr/local/cuda, and last where the loader and the shell look. nvPTXCompiler is only in Mneme's
  // installation.
  static AssemblerSearch from_environment();
};

// The assembler that `only` names; without it the first that is there, in the order nvPTXCompiler, nvJitLink, ptxas, driver.
// The driver counts as there without being looked for. invalid_argument: `only` is no name of an assembler. unavailable: the
// assembler that it names is not there; the message has where it was looked for.
Result<std::unique_ptr<PtxAssembler>> find_assembler(const AssemblerSearch& search);

}  // namespace mneme::nvptx
