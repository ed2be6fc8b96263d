// MaskCache: what was found of the mask of a recorded launch, kept in the cache on disk, so that it is looked for once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mneme/base/disk_cache.h"

namespace mneme {

struct KnownMask {
  std::string none;  // why there is no mask; empty: there is one
  ByteVector mask;   // OutputMask::encode()
};

// The entry of one launch. One that is damaged is not there.
class MaskCache {
 public:
  // `key` is a digest of all that the mask depends on. Where `cache` is null nothing is kept.
  MaskCache(std::shared_ptr<DiskCache> cache, const Digest& key) : cache_(std::move(cache)), key_(key) {}

  std::optional<KnownMask> read() const;
  void put(const KnownMask& known) const;

 private:
  std::shared_ptr<DiskCache> cache_;
  Digest key_;
};

}  // namespace mneme
