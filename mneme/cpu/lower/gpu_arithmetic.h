// Arithmetic that LLVM leaves open and a GPU answers all the same.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace mneme::cpu {

// Programs depend on what the hardware does where IR has no defined value, and x86 does something else, or traps. As in PTX:
// shifts by the width or more give 0 (or the sign), division by zero gives all bits set and its remainder the dividend, the most
// negative integer divided by -1 is itself, a conversion to an integer saturates and takes NaN to 0. Operations whose operands
// are known to be ordinary stay as they are.
void define_arithmetic(llvm::Function& function);

// Adds what code generation calls by name where x86-64 has no instruction and libc no function: float and double to bfloat.
void add_bfloat_conversions(llvm::Module& module);

}  // namespace mneme::cpu
