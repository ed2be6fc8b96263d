// Prepares recorded IR for the user's pipeline. This is the same whichever device it is compiled for.
#pragma once

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/ir/access.h"

namespace mneme {

using ir::is_kernel;

// Whether the bytes of `variable` belong to the application's state, which the host, an earlier launch or the recording may
// have written. That is every variable in generic, global or constant space, but for constants that are defined here and that
// the host cannot set (they are not externally_initialized), for internal ones that nothing writes, as which the plugin does not
// record them either, and for LLVM's own (llvm.*).
bool is_state(const llvm::GlobalVariable& variable);

// Makes the module ready for any pipeline:
//  - calls of __nvvm_reflect become constants, __CUDA_ARCH being that of `architecture` ("sm_90");
//  - optnone, and the noinline that came with it, are removed (clang -O0 puts them on every function);
//  - aliases are replaced by what they stand for; llvm.used and llvm.compiler.used are dropped;
//  - functions and constants keep their linkage, or become internal, as `linkage` says; what is available_externally becomes
//    internal either way, since no other file provides it. Kernels to keep become external; others are removed where nothing
//    refers to them, and become internal where something does;
//  - threadIdx and its like, which clang declares and nobody defines, are defined (the address of one may be taken);
//  - no pipeline can fold a state variable to its initialiser, remove it, or split it.
// not_found: a kernel to keep is not defined in the module; the message lists the kernels that are.
Status prepare_module(llvm::Module& module, const std::vector<std::string>& kernels, const std::string& architecture,
                      Linkage linkage);

// To be called after the pipeline: removes functions and constants that the kernels do not reach any more, which a pipeline must
// leave where other files could name them. No linker does it here.
Status drop_unreached(llvm::Module& module, llvm::TargetMachine& machine);

// Replaces every use of a bound variable by its address, also in the initialisers of other variables, and removes the variable
// from the module. A cast of it to the generic space becomes the generic pointer; elsewhere it becomes a pointer of the
// variable's own space, whose value is the same number. A name that the module lacks is ignored, so that the bindings of a
// recording serve each of its kernels. invalid_argument: the name is that of a function, or of a variable that is no state
// (shared memory, a constant of the compiler).
Status bind_globals(llvm::Module& module, const std::vector<GlobalBinding>& bindings);

// Which names variables can have outside of the image. PTX takes only identifiers: letters, digits, _ and $, no digit first.
enum class AllowedNames { any, identifiers };
// To be called after the pipeline: makes every variable of the module's state that is defined visible outside of the image,
// also those that the pipeline or a pass plugin has added. A variable gets a new name where its own is not allowed, or where it
// was internal and its name is no identifier. Returns the names.
std::vector<std::string> expose_state(llvm::Module& module, AllowedNames allowed);

}  // namespace mneme
