#include "mneme/compile/fatal_error.h"

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "mneme/ir/access.h"

namespace mneme {
namespace {

// Thrown out of LLVM's handler, which may not return. LLVM is built without exceptions, but with unwind tables.
struct FatalError {
  std::string reason;
};

thread_local int guards = 0;

void on_fatal_error(void*, const char* reason, bool) {
  if (guards > 0) throw FatalError{reason};
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
  std::abort();
}

void on_bad_alloc(void*, const char* reason, bool) {
  if (guards > 0) throw std::bad_alloc();
  std::fprintf(stderr, "LLVM ERROR: out of memory: %s\n", reason);
  std::abort();
}

struct GuardCount {
  GuardCount() { ++guards; }
  ~GuardCount() { --guards; }
};

}  // namespace

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86Disassembler();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_bad_alloc);
  });
}

Status run_llvm(llvm::function_ref<Status()> work, bool* abandoned) {
  initialize_llvm();
  *abandoned = false;
  GuardCount guard;
  try {
    return work();
  } catch (const FatalError& failure) {
    *abandoned = true;
    return error(Code::internal, "LLVM reported a fatal error: {}", failure.reason);
  } catch (const std::bad_alloc&) {
    *abandoned = true;
    return error(Code::exhausted, "LLVM ran out of memory");
  }
}

Status run_llvm_on_copy(const ir::Module& module, llvm::function_ref<Status(llvm::Module&)> work) {
  MNEME_ASSIGN(ir::Module copy, module.clone());
  auto own = std::make_unique<ir::Module>(std::move(copy));
  bool abandoned = false;
  Status status = run_llvm([&] { return work(ir::llvm_module(*own)); }, &abandoned);
  if (abandoned) (void)own.release();  // it cannot even be destroyed
  return status;
}

}  // namespace mneme
