// The part of a state that says which arrays, textures and surfaces there were; docs/reference/database.md specifies it.
#pragma once

#include "mneme/base/byte_stream.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

ByteVector encode_textures(const TextureSet& textures);
// Reads it into a state whose regions are there. corrupt: an array that no region holds, an object of no array, and what else no
// program has.
Status decode_textures(ByteReader& in, MemoryState& state);

}  // namespace mneme
