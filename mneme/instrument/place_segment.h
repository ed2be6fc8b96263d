// Where a segment lies in the device image.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <string>

namespace llvm {
class GlobalValue;
class Module;
}  // namespace llvm

namespace mneme::instrument {

// Whether the module has segments already: the pass has run on it before.
bool has_segments(const llvm::Module& module);

// Places the bytes of one segment so that they stand whole in the device image, once where several files have the same ones.
//
// NVPTX: a weak constant in global memory, whose name is MNEME_SEGMENT_PREFIX and the hash of its bytes. ptxas keeps no section
// of somebody else's, so the segment costs device memory. It is returned, so that the caller lists it in llvm.used. AMDGCN: a
// label of that name in the section MNEME_SEGMENT_SECTION, which is not loaded. LLVM gives every global variable a section that
// is loaded, so it is module-level assembly. Returns null.
llvm::GlobalValue* place_segment(llvm::Module& module, llvm::ArrayRef<uint8_t> bytes);

}  // namespace mneme::instrument
