// Compression and decompression with zstd, from memory to memory.
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// One zstd frame. `level` is zstd's own: 1 is the fastest.
ByteVector compress(ByteSpan bytes, int level = 1);
// Likewise, at the beginning of `out`. Gives how many bytes of it the frame takes; 0: it does not fit.
size_t compress_into(ByteSpan bytes, MutableByteSpan out, int level = 1);

// corrupt unless `compressed` is one whole frame of exactly `size` bytes of content.
Result<ByteVector> decompress(ByteSpan compressed, Bytes size);
Status decompress_into(ByteSpan compressed, MutableByteSpan out);

}  // namespace mneme
