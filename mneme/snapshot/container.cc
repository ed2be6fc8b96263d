#include "mneme/snapshot/container.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "mneme/snapshot/codec.h"

namespace mneme {
namespace {

constexpr size_t kChecksumAt = offsetof(ContainerStart, checksum);

}  // namespace

Digest container_checksum(ByteSpan file) {
  const std::array<std::byte, sizeof(Digest)> zeros{};
  return Hasher().add(file.first(kChecksumAt)).add(ByteSpan(zeros)).add(file.subspan(kChecksumAt + zeros.size())).finish();
}

Digest stored_checksum(ByteSpan file) {
  Digest stored;
  std::memcpy(stored.bytes.data(), file.data() + kChecksumAt, stored.bytes.size());
  return stored;
}

void seal_container(MutableByteSpan file) {
  const Digest checksum = container_checksum(file);
  std::memcpy(file.data() + kChecksumAt, checksum.bytes.data(), checksum.bytes.size());
}

std::optional<uint16_t> version_of_checksum(ByteSpan file) {
  if (file.size() < sizeof(ContainerStart)) return std::nullopt;
  ByteVector changed(file.begin(), file.end());
  for (uint16_t major = kFormatVersion.major; major >= 1; --major) {
    std::memcpy(changed.data() + offsetof(ContainerStart, major), &major, sizeof major);
    if (container_checksum(changed) == stored_checksum(changed)) return major;
  }
  return std::nullopt;
}

}  // namespace mneme
