// Functions of HIP's headers and device libraries that the CPU device has: the calls of the host by which device code prints, the
// heap, assertions, and images (image_functions.h).
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

namespace mneme::cpu::amdgcn {

// Takes the bodies of these functions away, before a pipeline can inline them: malloc, free and __assert_fail, which are services
// for every vendor's code, and those below. Those that linking has numbered (malloc.5) become one.
void cut_library_functions(llvm::Module& module);

// The host call (__ockl_hostcall_preview), the heap's functions (__ockl_dm_alloc, __ockl_dm_dealloc) and those of images, without
// a body.
bool is_library_function(const llvm::Function& function);
void lower_library_call(llvm::CallBase& call, llvm::Value* thread);

}  // namespace mneme::cpu::amdgcn
