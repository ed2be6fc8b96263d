// Compiler: recorded IR and a configuration in, a device code image out.
//
//   recorded IR → (link, pin launch facts, bind globals) → pass pipeline → code generation → CodeImage
//
// Thread-compatible: one Compiler is used by one thread at a time. Failures: invalid_argument (a pipeline that does not parse,
// in LLVM's own words), unsupported (an instruction or intrinsic that the target device cannot run, by name), unavailable (no
// PTX assembler found, with what was looked for), internal (LLVM reported a fatal error).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/compile/access_tracking.h"
#include "mneme/compile/codegen_options.h"
#include "mneme/compile/specialisation.h"
#include "mneme/device/code_image.h"
#include "mneme/device/device.h"
#include "mneme/ir/module.h"

namespace mneme {

// A global that must lie at a given address: its uses become that address, and the image does not define it.
struct GlobalBinding {
  std::string name;
  DevicePtr address;
};

struct CompileOptions {
  std::string passes = "default<O3>";          // any string the new pass manager parses
  std::vector<std::string> pass_plugins = {};  // files of LLVM pass plugins, whose passes `passes` may name
  CodegenOptions codegen;
  std::vector<GlobalBinding> bindings;
  // Kernels to keep; everything else is internalised. Empty: all kernels of the module.
  std::vector<std::string> kernels;
  Specialisation specialisation = {};
  AccessTracking tracking = {};  // unsupported, by name, where an access cannot be followed
};

struct StageTime {
  std::string stage;  // "prepare", "optimise", "codegen", "assemble" or "link"
  Nanoseconds time;
};

struct CompiledCode {
  CodeImage image;
  Digest digest;                 // of the image's bytes
  std::vector<StageTime> times;  // in order
  std::string assembler;         // what turned PTX into cubin, or linked the object: "nvjitlink", "ptxas", "driver", "lld"
};

// Where a compilation can be looked at.
enum class Stage {
  specialised,   // IR as the pass pipeline gets it
  optimised,     // IR as it leaves it
  assembly,      // PTX, or the host's assembly
  instructions,  // of the finished object, disassembled: SASS. unsupported on the CPU device
};

// unsupported when `codegen` names a target whose code the device does not run; the message names both.
Status check_target(const CodegenOptions& codegen, const DeviceProperties& device);

class Compiler {
 public:
  virtual ~Compiler() = default;
  // For a device of this kind and architecture; no device is needed.
  static Result<std::unique_ptr<Compiler>> create(DeviceKind kind, const std::string& architecture);
  virtual Result<CompiledCode> compile(const ir::Module& module, const CompileOptions& options) = 0;
  // The text that compile() would have at a stage; it fails as compile() would have until then. IR is textual.
  virtual Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) = 0;
};

}  // namespace mneme
