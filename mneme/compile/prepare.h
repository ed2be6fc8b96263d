// What is done to recorded IR before the user's pipeline sees it, whichever device it is compiled for.
#pragma once

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// A kernel by its calling convention, NVPTX's or AMDGCN's.
bool is_kernel(const llvm::Function& function);

// Whether the bytes of `variable` belong to the application's state: what the host, an earlier launch or the recording may have
// written. That is every variable in generic, global or constant space, unless it is a constant that the host cannot set (one
// that is not externally_initialized).
bool is_state(const llvm::GlobalVariable& variable);

// Makes the module ready for any pipeline:
//  - calls of __nvvm_reflect become constants, __CUDA_ARCH being that of `architecture` ("sm_90");
//  - optnone, and the noinline that came with it, are removed (clang -O0 puts them on every function);
//  - aliases of functions are resolved; llvm.used and llvm.compiler.used are dropped;
//  - every function but the kernels to keep becomes internal; other kernels lose their bodies where nothing calls them;
//  - threadIdx and its like, which clang declares and nobody defines, are defined (the address of one may be taken);
//  - no pipeline can fold a state variable to its initialiser, remove it, or split it.
// not_found: a kernel to keep is not defined in the module; the message lists the kernels that are.
Status prepare_module(llvm::Module& module, const std::vector<std::string>& kernels, const std::string& architecture);

// Every use of a bound variable, also in other variables' initialisers, becomes its address, and the variable is removed from the
// module. In a cast to the generic space it becomes the generic pointer; elsewhere a pointer of the variable's own space, whose
// value is the same number. A name that the module lacks is ignored: one recording's bindings serve each of its kernels.
// invalid_argument: the name is a function, or a variable that is no state (shared memory, a constant of the compiler).
Status bind_globals(llvm::Module& module, const std::vector<GlobalBinding>& bindings);

// What is left of the module's state after its pipeline, and what the pipeline or a pass plugin has added to it: each such
// variable that is defined becomes visible outside of the image, by its name or, where that is not allowed, by a new one. Returns
// the names.
enum class AllowedNames { any, identifiers };  // PTX takes letters, digits, _ and $
std::vector<std::string> expose_state(llvm::Module& module, AllowedNames allowed);

}  // namespace mneme
