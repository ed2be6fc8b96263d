// A pass plugin for tests: "test-subtract" makes every addition of floating-point numbers a subtraction, and every function ends
// in the attribute "test-plugin" under the default pipelines.
//
// Compiled with TEST_API_VERSION it says that it has that version of the plugin interface, with TEST_NO_ENTRY it is no plugin,
// with TEST_MISSING_SYMBOL it calls a function of LLVM that there is not, and with TEST_OTHER its pass is "test-other", and what
// it writes in the place of code a line of its own.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/raw_ostream.h>

#ifndef TEST_API_VERSION
#define TEST_API_VERSION LLVM_PLUGIN_API_VERSION
#endif

#ifdef TEST_OTHER
#define TEST_PASS "test-other"
#else
#define TEST_PASS "test-subtract"
#endif

namespace llvm {
void function_of_another_version();
}

namespace {

struct Subtract : llvm::PassInfoMixin<Subtract> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (instruction.getOpcode() != llvm::Instruction::FAdd) continue;
      llvm::IRBuilder<> builder(&instruction);
      instruction.replaceAllUsesWith(builder.CreateFSub(instruction.getOperand(0), instruction.getOperand(1)));
      instruction.eraseFromParent();
    }
    return llvm::PreservedAnalyses::none();
  }
};

struct Mark : llvm::PassInfoMixin<Mark> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (llvm::Function& function : module) function.addFnAttr("test-plugin");
    return llvm::PreservedAnalyses::none();
  }
};

[[maybe_unused]] void register_callbacks(llvm::PassBuilder& builder) {
#ifdef TEST_MISSING_SYMBOL
  llvm::function_of_another_version();
#endif
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::FunctionPassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != TEST_PASS) return false;
        passes.addPass(Subtract());
        return true;
      });
  builder.registerOptimizerLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel, llvm::ThinOrFullLTOPhase) { passes.addPass(Mark()); });
}

[[maybe_unused]] bool generate(llvm::Module&, llvm::TargetMachine&, llvm::CodeGenFileType, llvm::raw_pwrite_stream& out) {
  out << "// by a plugin\n";
  return true;
}

}  // namespace

#ifndef TEST_NO_ENTRY
extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
#ifdef TEST_OTHER
  return {TEST_API_VERSION, "other", "1", register_callbacks, generate};
#else
  return {TEST_API_VERSION, "test", "1", register_callbacks, nullptr};
#endif
}
#endif
