// Compilation: takes recorded IR to code. All compilers share its stages and their order:
//
//   check() → plugins, floating point → target() → prepare → table → before_binding() → bind → specialise → track →
//   after_tracking()
//           → the user's pipeline → generate()
//
// A backend derives its own class from Compilation, makes one object of it for each compilation, and calls run(), which calls
// the functions that the backend has overridden. run() times the stages "prepare" and "optimise" (StageTime).
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/compile/pass_plugins.h"
#include "mneme/compile/stages.h"

namespace mneme {

// What the code is made for. The user's pipeline may name passes of the machine's own.
struct CodeTarget {
  std::string architecture;  // "sm_90"
  std::unique_ptr<llvm::TargetMachine> machine;
};

class Compilation {
 public:
  // With `last` the compilation ends after that stage, and code() is the stage's text. Without, it goes on to what an assembler
  // or a linker takes. `options` must outlive the object.
  Compilation(const CompileOptions& options, std::optional<Stage> last) : options_(options), last_(last) {}
  virtual ~Compilation() = default;

  // Compiles `module`, which is of no further use then. To be called once, within run_llvm_on_copy().
  Status run(llvm::Module& module);

  // The result of run(): the text, or the object.
  std::string& code() { return code_; }
  // The same with all that an assembler or a linker is to know. The compilation is of no further use then.
  Translation take(const std::string& architecture, const AssemblerOptions& assembler = {});

 protected:
  std::vector<std::string>& state() { return state_; }  // Translation::state
  Stages& stages() { return stages_; }

  // Called first: refuses a module that the backend cannot compile.
  virtual Status check(const llvm::Module& module) = 0;
  // The target, chosen by the module as it was recorded and by options().
  virtual Result<CodeTarget> target(const llvm::Module& module) = 0;
  // Called before bound globals become addresses (bind_globals()).
  virtual Status before_binding(llvm::Module&) { return {}; }
  // Called last before the user's pipeline.
  virtual Status after_tracking(llvm::Module&) { return {}; }
  // Fills code() and state() from the optimised module: with what the assembler or the linker takes, or with assembly text
  // where last() is Stage::assembly.
  virtual Status generate(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins) = 0;

  const CompileOptions& options() const { return options_; }
  std::optional<Stage> last() const { return last_; }

 private:
  const CompileOptions& options_;
  const std::optional<Stage> last_;
  std::string code_;
  std::vector<std::string> state_;
  Stages stages_;
};

// For Compilation::check(), of a module that is for other devices than `devices`, "AMD GPUs". incompatible.
Status refuse_target(const llvm::Module& module, const std::string& architecture, const char* devices);

// The image that was made of a translation, with all that is known of it then: neither facts nor warnings, and of the times those
// of the translation.
CompiledCode compiled_code(const Translation& translation, CodeImage image, std::string_view assembler);

}  // namespace mneme
