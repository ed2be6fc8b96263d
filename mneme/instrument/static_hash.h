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
// same hash have the same code, the same visible name, the same names of state variables, and the same target. Not in it:
//   names of local values, struct types, internal code and constants; the order of anything in the file
//   debug information, comdats, linkage, unreached code
//   suffixes that depend on the file's path (canonical_name); file, line and function of assertions
//   what only tells of the optimisation level: TBAA, lifetime markers, noinline, inlinehint
// The form is independent of the process, of pointer values, and of the platform.
StaticHash static_hash(const llvm::GlobalValue& root);

}  // namespace mneme::instrument
