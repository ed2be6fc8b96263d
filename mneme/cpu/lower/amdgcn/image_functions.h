// Functions of ockl by which HIP's headers read and write images: __ockl_image_sample_2D and its like. They are taken whole,
// since what is in them, image instructions with a descriptor of the hardware's, a host has not.
//
// A texture or surface object of HIP's is a pointer to such descriptors. On the CPU device it is a handle of the device's
// (mneme/cpu/run/texture_table.h), which no code reads by: it only goes on into these functions.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

namespace mneme::cpu::amdgcn {

// Whether it is, by its name and its type, one of those that the CPU device has: samples with and without a level or gradients,
// gathers, loads, stores, and the type and the order of channels. Not among them are loads and stores of a level, shadows, and
// half precision.
bool is_image_function(llvm::StringRef name, const llvm::FunctionType& type);

// Replaces a call of one by calls of the device's services.
void lower_image_call(llvm::CallBase& call, llvm::Value* thread);

}  // namespace mneme::cpu::amdgcn
