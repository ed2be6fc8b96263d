// Compiler: recorded IR and a configuration in, a device code image out.
//
//   recorded IR → (link, pin launch facts, bind globals) → pass pipeline → code generation → Translation   translate()
//   Translation → PTX assembler, or linker → CodeImage                                                     assemble()
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
#include "mneme/compile/assembler_options.h"
#include "mneme/compile/code_facts.h"
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
  CodegenOptions codegen = {};
  AssemblerOptions assembler = {};
  std::vector<GlobalBinding> bindings = {};
  // Kernels to keep; everything else is internalised. Empty: all kernels of the module.
  std::vector<std::string> kernels = {};
  Specialisation specialisation = {};
  AccessTracking tracking = {};  // unsupported, by name, where an access cannot be followed
};

struct StageTime {
  std::string stage;  // "prepare", "optimise", "codegen", "assemble" or "link"; "cache"
  Nanoseconds time;
};

// What code generation leaves for the assembler or the linker.
struct Translation {
  std::string code;          // PTX, or a relocatable object of the host
  std::string architecture;  // "sm_90", "sm_90a", "x86-64-v3"
  AssemblerOptions assembler;
  std::vector<std::string> kernels;     // as in CompileOptions
  std::vector<StageTime> times;         // in order
  std::vector<std::string> state = {};  // names of the variables that the code defines and may write

  // Of everything but the times: translations with one digest become one object.
  Digest digest() const;
};

// What the cache of compiled code did for a compilation.
enum class CacheUse {
  off,        // it was not asked
  miss,       // nothing: the code was made, and kept
  same_code,  // another compilation had ended in the same translation: what was assembled then was taken
  hit,        // the compilation had been done before: its code was taken
};

struct CompiledCode {
  CodeImage image;
  Digest digest;              // of the image's bytes
  Digest translation_digest;  // two compilations that agree in it ended in the same code
  CodeFacts facts;
  std::vector<std::string> warnings;  // the assembler's, in its own words
  CacheUse cache = CacheUse::off;
  std::vector<StageTime> times;    // in order
  std::vector<std::string> state;  // as in Translation
  std::string assembler;           // what made the image: "nvptxcompiler", "nvjitlink", "ptxas", "driver", "lld"
};

// Where a compilation can be looked at.
enum class Stage {
  specialised,  // IR as the pass pipeline gets it
  optimised,    // IR as it leaves it
  assembly,     // PTX, or the host's assembly
};

// unsupported when `codegen` names a target whose code the device does not run; the message names both.
Status check_target(const CodegenOptions& codegen, const DeviceProperties& device);

class Compiler {
 public:
  virtual ~Compiler() = default;
  // For a device of this kind and architecture; no device is needed.
  static Result<std::unique_ptr<Compiler>> create(DeviceKind kind, const std::string& architecture);

  // Both steps.
  virtual Result<CompiledCode> compile(const ir::Module& module, const CompileOptions& options);
  virtual Result<Translation> translate(const ir::Module& module, const CompileOptions& options) = 0;
  virtual Result<CompiledCode> assemble(const Translation& translation) = 0;
  // Everything besides the arguments that the code depends on: device kind, architecture, versions of what makes it.
  virtual std::string identity() const = 0;
  // The text that compile() would have at a stage; it fails as compile() would have until then. IR is textual.
  virtual Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) = 0;
  // The instructions of an object that was compiled: SASS. unsupported on the CPU device; unavailable where no tool for it is
  // installed, with what was looked for, or where the driver is what assembles.
  virtual Result<std::string> disassemble(const CodeImage& image) const = 0;
};

}  // namespace mneme
