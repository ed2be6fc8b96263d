// Defines the results of arithmetic that LLVM leaves undefined, as a GPU does.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace mneme::cpu {

// Changes operations of `function` so that they do what the GPU does where IR has no defined value: programs depend on what a GPU
// does there, and x86 does something else, or traps. A shift by the width or more does what the dialect says (LongShift). A
// division by zero gives all bits set, and its remainder is the dividend. The most negative integer divided by -1 is itself. A
// conversion to an integer saturates and takes NaN to 0. Operations whose operands are known to need none of this stay as they
// are.
void define_arithmetic(llvm::Function& function);

// Adds the functions that convert float and double to bfloat. Code generation calls them by name, x86-64 has no instruction for
// it, and libc has no such functions.
void add_bfloat_conversions(llvm::Module& module);

}  // namespace mneme::cpu
