// Where in the code the lanes of a wavefront meet.
//
// A GPU's lanes run together, and come together again where their ways join. Here each lane runs by itself, and a collective of
// the wave waits for the lanes that may still come to it. Every collective therefore has a number, its site: it is the same for
// all copies that later passes make of it, and rises with how far in the code the collective stands, so that of lanes which took
// different ways those go first that have further to go (mneme_cpu_services::wave_sync).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace mneme::cpu::amdgcn {

// Inlines what has collectives into its callers, since two calls of one function are two places in the code. A function that
// calls itself, or is called by a pointer, is left: there lanes meet whichever call brought them.
void inline_collectives(llvm::Module& module);

// The sites of the function's collectives, which no other function of the module has: a block comes after those that lead to it,
// and what follows a loop after all of the loop.
llvm::DenseMap<const llvm::Instruction*, uint32_t> number_sites(llvm::Function& function);

}  // namespace mneme::cpu::amdgcn
