// How the binary files of a database begin: 8 bytes that name the kind of file, the format's version, two sizes, and a checksum
// of the whole file. The functions take the bytes of a file that has at least that much, and do no I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "mneme/base/digest.h"
#include "mneme/base/types.h"

namespace mneme {

// As it lies in the file.
struct ContainerStart {
  char magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t header_bytes;
  uint64_t total_bytes;
  uint8_t checksum[16];  // of the whole file with this field zero
};
static_assert(sizeof(ContainerStart) == 40);

// The checksum that the file must have, and the one that stands in it.
Digest container_checksum(ByteSpan file);
Digest stored_checksum(ByteSpan file);
// Writes the checksum, when all else is written.
void seal_container(MutableByteSpan file);
// The major version that this Mneme reads with which the checksum is right: a version that was damaged is told from a newer one
// by it. Nothing when there is none, or the file is too short.
std::optional<uint16_t> version_of_checksum(ByteSpan file);

}  // namespace mneme
