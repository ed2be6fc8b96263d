// What turns PTX into a cubin: NVIDIA's nvPTXCompiler or nvJitLink library, its ptxas program, or the driver. Only the
// driver needs a GPU.
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
  std::string log;  // the tool's messages, among them what ptxas -v tells; empty from the driver's
};

// Used by one thread at a time; different objects by different threads.
class PtxAssembler {
 public:
  virtual ~PtxAssembler() = default;
  virtual std::string_view name() const = 0;  // "nvptxcompiler", "nvjitlink", "ptxas" or "driver"
  // The name, the version and the file: two assemblers of one identity make the same of the same PTX.
  virtual std::string identity() const = 0;
  // A cubin; from the driver's, the PTX itself with its terminator and with what the driver is to be told when it loads it.
  // incompatible: the tool does not take the PTX or an option, in its own words. unsupported: an option that this assembler does
  // not have, by name. unavailable: the tool does not run.
  virtual Result<Assembled> assemble(const AssembleRequest& request) = 0;
};

// The request as ptxas's command line has it, without program and files; nvPTXCompiler takes the same.
std::vector<std::string> ptxas_arguments(const AssembleRequest& request);

// Of those the ones that only ptxas has: -dlcm, -dscm.
std::vector<std::string> cache_arguments(const AssemblerOptions& options);

// Where to look, in order.
struct AssemblerSearch {
  std::string only = {};                              // one of the names, or empty for the first that is there
  std::vector<std::string> nvptxcompiler_paths = {};  // of the library
  std::vector<std::string> nvjitlink_paths = {};      // of the library; a bare name is looked for as the loader does
  std::vector<std::string> ptxas_paths = {};          // of the program

  // MNEME_PTX_ASSEMBLER gives `only`. Looks beside the running executable, then in CUDA_HOME, in /usr/local/cuda, in the toolkit
  // that Mneme was built with, and last where the loader and the shell look.
  static AssemblerSearch from_environment();
};

// The first of nvPTXCompiler, nvJitLink, ptxas and the driver that is there; the driver's always is. invalid_argument: `only` is
// no name of an assembler. unavailable: that one is not there, with where it was looked for.
Result<std::unique_ptr<PtxAssembler>> find_assembler(const AssemblerSearch& search);

}  // namespace mneme::nvptx
