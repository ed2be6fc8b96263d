// A pass plugin that does what its passes are called: "hostile-crash", "hostile-exit", "hostile-hang", "hostile-allocate",
// "hostile-miscompile", "hostile-bytes" (a call of what has no name in UTF-8); and "hostile-dice", which is one of them or none,
// at random.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace {

char* volatile taken;

// Each product of floating-point numbers is a sum.
void miscompile(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (instruction.getOpcode() != llvm::Instruction::FMul) continue;
    llvm::IRBuilder<> builder(&instruction);
    instruction.replaceAllUsesWith(builder.CreateFAdd(instruction.getOperand(0), instruction.getOperand(1)));
    instruction.eraseFromParent();
  }
}

void allocate() {
  for (;;) {
    taken = static_cast<char*>(std::malloc(1 << 24));
    if (taken == nullptr) std::abort();
    std::memset(taken, 1, 1 << 24);
  }
}

// A message about it cannot be read.
void call_bytes(llvm::Function& function) {
  auto callee = function.getParent()->getOrInsertFunction("\xff\xfe", llvm::Type::getVoidTy(function.getContext()));
  llvm::IRBuilder<>(&*function.getEntryBlock().getFirstInsertionPt()).CreateCall(callee);
}

struct Hostile : llvm::PassInfoMixin<Hostile> {
  explicit Hostile(std::string how) : how(std::move(how)) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    std::string now = how;
    if (how == "dice") now = std::array{"crash", "exit", "allocate", "miscompile", "nothing"}[std::random_device()() % 5];
    if (now == "crash") *static_cast<volatile int*>(nullptr) = 1;
    if (now == "exit") ::_exit(3);
    while (now == "hang") ::pause();
    if (now == "allocate") allocate();
    if (now == "miscompile") miscompile(function);
    if (now == "bytes") call_bytes(function);
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
  std::string how;
};

void register_callbacks(llvm::PassBuilder& builder) {
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::FunctionPassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (!name.consume_front("hostile-")) return false;
        passes.addPass(Hostile(name.str()));
        return true;
      });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "hostile", "1", register_callbacks};
}
