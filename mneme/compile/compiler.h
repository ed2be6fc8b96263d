// Compiler: makes a device code image of recorded IR and a configuration.
//
//   recorded IR → (link, pin launch facts, bind globals) → pass pipeline → code generation → Translation   translate()
//   Translation → PTX assembler, or linker → CodeImage                                                     assemble()
//
// One Compiler is used by one thread at a time. Failures: invalid_argument (a pipeline that does not parse, in LLVM's own
// words), unsupported (an instruction or intrinsic that the target device cannot run, by name), not_found (a kernel to keep, or
// the file of a plugin), unavailable (the PTX assembler does not run), internal (LLVM reported a fatal error), exhausted (LLVM
// ran out of memory).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/compile/access_tracking.h"
#include "mneme/compile/assembler_options.h"
#include "mneme/compile/code_facts.h"
#include "mneme/compile/codegen_options.h"
#include "mneme/compile/specialisation.h"
#include "mneme/compile/tool_commands.h"
#include "mneme/device/code_image.h"
#include "mneme/device/device.h"
#include "mneme/ir/module.h"

namespace mneme {

// A global that must lie at a given address. Its uses become that address, and the image does not define it.
struct GlobalBinding {
  std::string name;
  DevicePtr address;
};

// What the pass pipeline may conclude of the device functions and constants of a module.
enum class Linkage {
  recorded,  // what the compiler of the application could: a function that is visible outside of its file is none with one caller
  internal,  // that nobody outside calls or reads them: one with one caller is inlined there, and its parameters are its callers'
};
inline constexpr std::pair<const char*, Linkage> kLinkages[] = {{"recorded", Linkage::recorded}, {"internal", Linkage::internal}};

struct CompileOptions {
  std::string passes = "default<O3>";  // any string the new pass manager parses
  std::string as_built = {};           // what "as-built" in `passes` stands for, "default<O2>"; empty: not known
  Linkage linkage = Linkage::recorded;
  std::vector<std::string> pass_plugins = {};  // files of LLVM pass plugins, whose passes `passes` may name
  CodegenOptions codegen = {};
  AssemblerOptions assembler = {};
  std::vector<GlobalBinding> bindings = {};
  // Kernels to keep; the image does not show the others. Empty: all kernels of the module.
  std::vector<std::string> kernels = {};
  Specialisation specialisation = {};
  // Variables that the code reaches through a table of addresses, in its order (variable_table.h). Empty: it has none.
  std::vector<std::string> variable_table = {};
  AccessTracking tracking = {};  // unsupported, by name: the module has an access that cannot be followed
};

// The word for what the program's compiler optimised the kernel with, which can stand wherever a pipeline stands.
inline constexpr const char* kAsBuilt = "as-built";
// Whether a pipeline names it.
bool names_as_built(std::string_view passes);
// What the assembler is asked for these options. Where the pipeline names "as-built", and no level is asked for, the level is
// that with which clang had the program's code assembled: 2 for default<O2>.
AssemblerOptions assembler_options(const CompileOptions& options);
// The pipeline with another in the place of "as-built".
std::string replace_as_built(std::string passes, std::string_view with);

struct StageTime {
  std::string stage;  // "prepare", "optimise", "codegen", "assemble" or "link"; "cache"
  Nanoseconds time;
};

// What code generation gives to the assembler or the linker.
struct Translation {
  std::string code;          // PTX, or a relocatable object of the host
  std::string architecture;  // "sm_90", "sm_90a", "x86-64-v3"
  AssemblerOptions assembler;
  std::vector<std::string> kernels;     // as in CompileOptions
  std::vector<StageTime> times;         // in order
  std::vector<std::string> state = {};  // names of the variables that the code defines and may write
  ByteVector machine_code = {};         // in the place of `code`: what assemble() takes as it is (program_code.h)

  // A digest of all members but `times`. Translations with the same digest become the same object.
  Digest digest() const;
};

// What the cache of compiled code did for a compilation.
enum class CacheUse {
  off,        // there was none
  miss,       // it did not have the code, which was made and kept
  same_code,  // another compilation had led to the same translation; what was assembled then was taken
  hit,        // the same compilation had been done before; its code was taken
};

struct CompiledCode {
  CodeImage image;
  Digest digest;              // of the image's bytes
  Digest translation_digest;  // Translation::digest(): compilations that agree in it led to the same code
  CodeFacts facts;
  std::vector<std::string> warnings;  // the assembler's, in its own words
  CacheUse cache = CacheUse::off;
  std::vector<StageTime> times;    // in order
  std::vector<std::string> state;  // as in Translation
  // What made the image: "nvptxcompiler", "nvjitlink", "ptxas", "driver", "lld"; "recorded": it is the program's own machine
  // code.
  std::string assembler;
};

// CompiledCode::assembler where the code is the program's own machine code.
inline constexpr const char* kRecordedAssembler = "recorded";
// The same where the image is PTX, which the driver assembles when it loads it.
inline constexpr const char* kDriverAssembler = "driver";

// The stages after which emit() can show a compilation.
enum class Stage {
  specialised,  // IR as the pass pipeline gets it
  optimised,    // IR as the pass pipeline leaves it
  assembly,     // PTX, or the host's assembly
};

// Whether the device runs code for the target that `codegen` names, if it names one. unsupported: it does not; the message
// names both.
Status check_target(const CodegenOptions& codegen, const DeviceProperties& device);

class Compiler {
 public:
  virtual ~Compiler() = default;
  // Makes a compiler for a kind of device and an architecture; no device is needed. unsupported: there is none for the kind, or
  // LLVM does not know the architecture. unavailable: the PTX assembler that MNEME_PTX_ASSEMBLER names is not there.
  static Result<std::unique_ptr<Compiler>> create(DeviceKind kind, const std::string& architecture);
  // The same, but the compiler is made when it is first asked for something besides find() and identity(), so that LLVM is not
  // loaded where a cache has all the code. What create() would fail with, that call then fails with; here: unsupported, there is
  // no compiler for the kind; unavailable, invalid_argument: as find_assembler().
  static Result<std::unique_ptr<Compiler>> create_when_asked(DeviceKind kind, const std::string& architecture);

  // translate(), then assemble(); a compiler with a cache may leave out either.
  virtual Result<CompiledCode> compile(const ir::Module& module, const CompileOptions& options);
  // What compile() would give of a module with this digest (ir::Module::digest()), where a cache has it; nothing where none has.
  // The module need not be parsed for it, since what is in the cache was made of the same bytes.
  virtual std::optional<CompiledCode> find(const Digest& module, const CompileOptions& options);
  virtual Result<Translation> translate(const ir::Module& module, const CompileOptions& options) = 0;
  virtual Result<CompiledCode> assemble(const Translation& translation) = 0;
  // What assemble() makes of each. A compiler may know how to do several in less time; they then share it, in their "assemble".
  virtual std::vector<Result<CompiledCode>> assemble_all(std::span<const Translation> translations);
  // Names everything besides the arguments that the code depends on: the kind of device, the architecture, and the versions of
  // the tools. It is part of the keys of a cache.
  virtual std::string identity() const = 0;
  // The text that compile() would have after a stage: IR, or assembly. Fails as compile() would have failed until then.
  virtual Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) = 0;
  // How LLVM's own programs do the same (tool_commands.h). unsupported: no program does what is asked for, or the kind of device
  // has no such programs. Else it fails as compile() would.
  virtual Result<ToolCommands> tool_commands(const ir::Module& module, const CompileOptions& options);
  // The options of the program with which assemble() does its work, but for the files: those of ptxas or of ld.lld. Empty where
  // the code is machine code as it is, or no program assembles it.
  virtual std::vector<std::string> assembler_arguments(const Translation& translation) const;
  // The machine instructions of a compiled image, as text: SASS. unsupported: on the CPU device. unavailable: no tool for it is
  // installed (the message has what was looked for), or the driver assembles the PTX only when it loads it.
  virtual Result<std::string> disassemble(const CodeImage& image) const = 0;
};

}  // namespace mneme
