// Compilation: the way from recorded IR to code, whose stages all compilers share in one order.
//
//   check() → plugins, floating point → target() → prepare → before_binding() → bind → specialise → track → after_tracking()
//           → the user's pipeline → generate()
//
// A backend derives its own class from Compilation, makes one object of it for each compilation, and calls run(), which calls
// what the backend has overridden. What run() times stands in CompiledCode::times as "prepare" and "optimise".
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

// What the device code is made for: the user's pipeline may name the machine's own passes.
struct CodeTarget {
  std::string architecture;  // "sm_90"
  std::unique_ptr<llvm::TargetMachine> machine;
};

class Compilation {
 public:
  // With `last` the compilation ends there, and code() is that stage's text; else it goes to what an assembler or a linker takes.
  // `options` outlive it.
  Compilation(const CompileOptions& options, std::optional<Stage> last) : options_(options), last_(last) {}
  virtual ~Compilation() = default;

  // Changes `module`, which is of no further use then. Called once, within run_llvm_on_copy().
  Status run(llvm::Module& module);

  std::string& code() { return code_; }
  std::vector<std::string>& state() { return state_; }  // as in Translation
  Stages& stages() { return stages_; }

 protected:
  // Refuses a module that the backend cannot compile, before anything is done to it.
  virtual Status check(const llvm::Module& module) = 0;
  // The target, by the module as it was recorded.
  virtual Result<CodeTarget> target(const llvm::Module& module) = 0;
  // Sees the globals before those that are bound become addresses.
  virtual Status before_binding(llvm::Module&) { return {}; }
  // Sees the module as the user's pipeline will get it.
  virtual Status after_tracking(llvm::Module&) { return {}; }
  // Makes code() and state() of the optimised module: what the assembler or the linker takes, or assembly where last() is that.
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

}  // namespace mneme
