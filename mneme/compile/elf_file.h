// Reading ELF files of which parts may be damaged.
#pragma once

#include <llvm/Object/ELFObjectFile.h>

namespace mneme {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

// What was read, or nothing where it could not be.
template <typename T>
T or_empty(llvm::Expected<T> read) {
  return llvm::expectedToOptional(std::move(read)).value_or(T());
}

}  // namespace mneme
