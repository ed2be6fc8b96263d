// PassPlugins: LLVM pass plugins of the user. A plugin is a shared library with the function llvmGetPassPluginInfo, as opt's
// -load-pass-plugin takes it.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Target/TargetMachine.h>

#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme {

class PassPlugins {
 public:
  // Loads the plugins. Each file is loaded once, and stays loaded for the life of the process. Thread-safe.
  // not_found: there is no such file. invalid_argument: it is no shared library, or one without the function. incompatible: it
  // was built for another LLVM (its symbols, or its version of the plugin interface, with both versions), or the file has changed
  // since this process loaded it.
  static Result<PassPlugins> load(const std::vector<std::string>& paths);

  // Makes the plugins' passes, and what they add to the default pipelines, known to `builder`, in the order of the paths.
  void register_with(llvm::PassBuilder& builder) const;
  // Asks the plugins, as clang does before it generates code, whether one of them writes the output itself; true: one has
  // written it to `out`.
  bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                llvm::raw_pwrite_stream& out) const;

 private:
  std::vector<const llvm::PassPlugin*> plugins_;
};

}  // namespace mneme
