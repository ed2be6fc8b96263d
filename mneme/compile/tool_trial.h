// What LLVM's own programs make of a compilation is tried by the libraries of the same LLVM. All vendors share how; what is a
// vendor's own are its machine, its code, and which words opt and llc have for them.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/compile/tool_commands.h"

namespace mneme {

struct ToolTrial {
  std::string ir;                            // ToolCommands::ir
  std::string assembly;                      // ToolCommands::assembly
  std::vector<std::string> target;           // options that opt and llc share
  std::vector<std::string> codegen;          // further ones of llc
  std::vector<std::string_view> linkage;     // a line that begins with one of these says nothing but who may see a function
  std::vector<std::string_view> visibility;  // likewise words that a line may begin with
  std::function<Result<std::unique_ptr<llvm::TargetMachine>>()> machine;
  // Makes assembly of a module, which is of no further use then.
  std::function<Result<std::string>(llvm::Module&, llvm::TargetMachine&)> emit;
};

// unsupported: the options have pass plugins, which no text has. To be asked before anything is compiled.
Status check_tools(const CompileOptions& options);
// The commands that make the code of the trial under the options' pipeline. Fails as the pipeline and emit() do.
Result<ToolCommands> try_tools(const CompileOptions& options, ToolTrial trial);

// The word that opt and llc have for a mode, as "-fp-contract=WORD".
std::string_view contraction_word(llvm::FPOpFusion::FPOpFusionMode fusion);

}  // namespace mneme
