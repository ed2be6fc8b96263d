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

// XXH3-128 of a canonical form of the root and all that it reaches in its module (an extracted one). Two roots that have the
// same hash have the same IR, with all that says what LLVM may do with it (attributes, TBAA and other metadata, lifetime markers,
// fast-math flags, linkage, module flags), the same visible name, the same names of state variables, and the same target. So
// one source at two optimisation levels has two hashes wherever clang makes other IR of it. Not in it:
//   debug information, and the places of loops, inline assembly and assertions (file, line, function)
//   names of local values, types, internal code and constants; the order of anything in the file; unreached code; comdats
//   suffixes of names that depend on the file's path (canonical_name)
// The form is independent of the process, of pointer values, and of the platform.
StaticHash static_hash(const llvm::GlobalValue& root);

}  // namespace mneme::instrument
