// Puts a specialisation into IR. The user's pipeline then makes of it what it can.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/specialisation.h"

namespace mneme {

// Changes the kernel that `specialisation` names; does nothing where it names none. To be called after prepare_module() and
// before the user's pipeline. The signature stays, so that the kernel is launched as before. `architecture` is what the code is
// made for, "sm_90".
//  - Arguments become constants: integers, floating-point numbers, pointers, vectors, and structures by value. If the kernel may
//    write to its copy of a structure, each thread still gets one.
//  - With `dimensions`, reads of blockDim and gridDim become constants, and so does an index in a direction of extent 1. With
//    `ranges`, each read gets the range that it lies in (launch_reads.h). Reads by inline assembly stay.
//  - Launch bounds take the place of those that the kernel had (launch_bounds.h).
//  - Alignment and no-alias facts become attributes of the parameters; an argument that is a constant needs none.
//
// not_found: the module does not define the kernel. invalid_argument: no such parameter; a value of another size; pointer facts
// of a parameter that is no pointer; min_blocks without a bound of the threads. unsupported: a type that cannot be a constant;
// a cluster bound before sm_90; dimensions or ranges where the kernel refers to another kernel. incompatible: a cluster bound
// beside the kernel's own cluster size.
Status specialise(llvm::Module& module, const Specialisation& specialisation, const std::string& architecture);

}  // namespace mneme
