// Makes pointers to LDS and to private memory hold addresses of the host.
//
// On an AMD GPU these (address spaces 3 and 5) have 32 bits: an address of LDS counts from the block's own memory on, and one of
// private memory from the thread's. Here such a pointer is an address of the host while it is in a register, so that casts
// between the spaces change nothing but null. Its 32 bits, which it has in memory (narrow_types.h), as an integer and when it is
// compared, are
//  - of LDS, its distance from where the block's shared memory begins;
//  - of private memory, the low half of the host's address, which is found again beside the thread's stack.
// A null pointer has all 32 bits set in both spaces; the number 0 is the address of the first byte of LDS.
#pragma once

#include <llvm/IR/Module.h>

#include "mneme/base/status.h"

namespace mneme::cpu::amdgcn {

// To be called as Dialect::fit_pointers, while the module has the device's data layout. unsupported, by name: pointers of other
// spaces than generic, global, LDS, constant and private memory; atomic exchange of pointers to LDS or private memory, and masked
// accesses to such pointers; a variable that begins with the address of one.
Status fit_pointers(llvm::Module& module);

}  // namespace mneme::cpu::amdgcn
