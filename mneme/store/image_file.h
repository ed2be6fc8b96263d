// An image file: one piece of a kernel's code, as the program had it, compressed. The functions here make and check its bytes;
// the caller writes and reads them.
//
//   header (88 bytes) | stored bytes: a zstd frame, or the code itself where that is not larger
//
// The header's checksum covers the whole file, and its digest the code.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// The bytes of the file with an image. `image` has the digest and the size of `code`.
ByteVector encode_image(const CodeImageRecord& image, ByteSpan code);

// The code in a file. `name` is what messages call the file. corrupt, with the offset: the file is damaged, or holds another
// image. incompatible: a newer Mneme has written it.
Result<ByteVector> decode_image(const CodeImageRecord& image, ByteSpan file, const std::string& name);

}  // namespace mneme
