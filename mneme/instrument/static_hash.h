// The static hash: the identity of a kernel's code.
#pragma once

#include <array>
#include <cstdint>

namespace llvm {
class GlobalValue;
}

namespace mneme::instrument {

// The digest's bytes, most significant first.
using StaticHash = std::array<uint8_t, 16>;

// The XXH3-128 digest of a canonical form of the root and all that it reaches in its module, which is an extracted one.
//
// Roots with the same hash have the same IR, the same visible name, the same names of state variables and the same target. IR
// here includes all that tells LLVM what it may do: attributes, TBAA and other metadata, lifetime markers, fast-math flags,
// linkage, module flags. One source at two optimisation levels therefore has two hashes wherever clang makes other IR of it.
// These do not count:
//   - debug information, and the file, line and function of loops, inline assembly and assertions;
//   - names of local values, types, internal code and constants; the order of anything in the file; unreached code; comdats;
//   - suffixes of names that depend on the file's path (canonical_name()).
// The hash is the same in every process and on every platform.
StaticHash static_hash(const llvm::GlobalValue& root);

}  // namespace mneme::instrument
