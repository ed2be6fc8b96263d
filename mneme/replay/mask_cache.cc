#include "mneme/replay/mask_cache.h"

#include "mneme/base/byte_stream.h"
#include "mneme/base/log.h"

namespace mneme {

std::optional<KnownMask> MaskCache::read() const {
  if (!cache_) return std::nullopt;
  const auto entry = cache_->read(key_);
  KnownMask known;
  if (entry) {
    ByteReader in(*entry, "a mask in the cache");
    if (!in.read_string(known.none).ok()) return std::nullopt;
    const ByteSpan mask = *in.read_bytes(in.remaining());
    known.mask.assign(mask.begin(), mask.end());
  }
  log::debug("cache of masks: {}", entry ? "hit" : "miss");
  return entry ? std::optional(std::move(known)) : std::nullopt;
}

void MaskCache::put(const KnownMask& known) const {
  if (!cache_) return;
  ByteWriter out;
  out.put_string(known.none);
  out.put_bytes(known.mask);
  cache_->put(key_, out.buffer());
}

}  // namespace mneme
