// How values that hold 32-bit pointers lie in memory.
//
// Pointers to LDS and to private memory (address spaces 3 and 5) have 32 bits in the memory of an AMD GPU, and as many as the
// host's in registers here. So a type has two forms: the one that IR names, and the one that it lies in memory by, in which such
// a pointer is an i32. Integers of more than 64 bits become arrays of words, since a host aligns them further.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>

#include "mneme/base/status.h"

namespace mneme::cpu::amdgcn {

constexpr unsigned kLdsSpace = 3, kPrivateSpace = 5;

bool is_narrow_space(unsigned space);
// A pointer to LDS or private memory, or a vector of such.
bool is_narrow(const llvm::Type* type);
// Whether a value of the type has one somewhere within.
bool holds_narrow(const llvm::Type* type);

// The form that the type has in memory: of the same size, alignment and offsets by the device's layout and by the host's. The
// type itself where nothing within differs.
llvm::Type* in_memory(llvm::Type* type, const llvm::DataLayout& device);
// The same of a constant, which a variable begins with. Null: it holds an address of LDS or of private memory, which has none
// before a launch.
llvm::Constant* in_memory(llvm::Constant* constant, const llvm::DataLayout& device);

}  // namespace mneme::cpu::amdgcn
