// Device functions become host functions: each gets the running thread as its last parameter, and with it everything that device
// instructions, and calls of the device's own library (vprintf, malloc, free, __assertfail), ask of the device.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Module.h>

#include "mneme/base/status.h"

namespace mneme::cpu {

// Gives every defined function the parameter `ptr thread`, and every call of one, direct or by pointer, the caller's. Kernels
// become ordinary internal functions; the result maps each kernel's name to its function.
llvm::StringMap<llvm::Function*> add_thread_parameter(llvm::Module& module);

// Makes a call through a pointer to anything but a function of the module a fault of the kernel's, where it would run what lies
// there on the host. After add_thread_parameter.
void guard_calls_by_pointer(llvm::Module& module);

// Replaces device instructions and library calls in every function, lets loops that wait for another thread yield, and makes
// arithmetic do what the GPU does (gpu_arithmetic.h). unsupported: names the instruction, or the function that is nowhere
// defined.
Status lower_device_code(llvm::Module& module);

// What NVPTX lets passes assume of a call and a host with many threads a core does not: drops memory effects, nosync, willreturn
// and speculatable, which else let a read of threadIdx move out of the loop over threads.
void drop_device_assumptions(llvm::Module& module);

// The functions that `kernel` may run: what it reaches by calls, and where one goes through a pointer, all whose address is
// taken.
std::vector<llvm::Function*> reachable_functions(llvm::Function& kernel);

// Whether a thread of `kernel` may have to wait for another one. Asked after add_thread_parameter, before lower_device_code.
bool kernel_needs_fibers(llvm::Function& kernel);

}  // namespace mneme::cpu
