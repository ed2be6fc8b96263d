// Turns device functions into host functions. Each gets the running thread as its last parameter. By the thread, device
// instructions and calls of the device's library (vprintf, malloc, free, __assertfail) reach the device.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Module.h>

#include "mneme/base/status.h"

namespace mneme::cpu {

// Gives every defined function one more parameter, `ptr thread`. Every call of one, directly or by a pointer, passes the
// caller's thread on. Kernels become ordinary internal functions; the result maps each kernel's name to its function.
llvm::StringMap<llvm::Function*> add_thread_parameter(llvm::Module& module);

// Checks each call through a pointer at run time: if the pointer points to no function of the module, the call is a fault of
// the kernel, and does not run what lies there on the host. To be called after add_thread_parameter().
void guard_calls_by_pointer(llvm::Module& module);

// Replaces device instructions and library calls in every function, lets loops that wait for another thread yield, and makes
// arithmetic do what the GPU does (gpu_arithmetic.h). unsupported, by name: an instruction that the CPU device does not have,
// or a function that is nowhere defined.
Status lower_device_code(llvm::Module& module);

// Drops attributes that hold on a GPU and not on a host where one core runs many threads: memory effects, nosync, willreturn,
// speculatable and convergent. With them a pass could move a read of threadIdx out of the loop over threads.
void drop_device_assumptions(llvm::Module& module);

// The functions that `kernel` may run, itself included: those that it reaches by calls and, if one of the calls goes through a
// pointer, all functions whose address is taken.
std::vector<llvm::Function*> reachable_functions(llvm::Function& kernel);

// Whether a thread of `kernel` may have to wait for another thread. To be asked after add_thread_parameter() and before
// lower_device_code().
bool kernel_needs_fibers(llvm::Function& kernel);

}  // namespace mneme::cpu
