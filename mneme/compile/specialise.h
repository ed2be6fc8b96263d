// A specialisation put into IR, after prepare_module() and before the user's pipeline, which then makes of it what it can.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/specialisation.h"

namespace mneme {

// Changes the kernel of `specialisation`; nothing where it names none. The signature stays, so that the kernel is launched as
// before. `architecture` is the one that the device code is made for, "sm_90".
//  - An argument becomes a constant: integers, floating-point numbers, pointers, vectors, and structures by value, of which a
//    kernel that may write to its copy keeps a copy for each thread.
//  - Reads of blockDim and gridDim become constants, and so does an index in a direction of extent 1; or each gets the range it
//    lies in. Reads by inline PTX stay.
//  - Launch bounds take the place of those that the kernel had.
//  - Alignment and no-alias facts become attributes of the parameters; an argument that is a constant needs none.
//
// not_found: the module does not define the kernel. invalid_argument: no such parameter, a value of another size, min_blocks
// without a bound of the threads. unsupported: a type that cannot be a constant; a bound that has no effect on the device, by
// name; dimensions where the kernel starts others. incompatible: a cluster bound beside the kernel's own cluster size.
Status specialise(llvm::Module& module, const Specialisation& specialisation, const std::string& architecture);

}  // namespace mneme
