// DiskCache: blobs by key in a folder that any number of processes use at once, bounded, the least recently used given up first.
//
// It is only ever a shortcut: an entry may be gone at any moment, and an entry that is damaged (a torn write, a flipped bit) is
// found by its checksum, removed, and not there. Nothing is synced to the disk. Once writing has failed (a full disk, a folder
// that cannot be written) one warning is logged and this object stores nothing more; reading goes on.
//
// The folder: `<first two digits of the key>/<32 digits>` for each entry, `tmp/` for those being written, and `usage`, the bytes
// in all by the count of those who wrote, which each scan corrects. Whoever makes the count pass the limit scans the folder and
// removes the entries that were not used for longest, down to four fifths of the limit; the others go on meanwhile. It holds the
// lock `evicting` for that time, so that one process scans at once; `lock` is held while the count is read and written.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

inline constexpr Bytes kDefaultCacheLimit = 4_GiB;

struct CachePlace {
  Path folder;
  Bytes limit = kDefaultCacheLimit;

  // $MNEME_CACHE_DIR, else $XDG_CACHE_HOME/mneme/objects, else ~/.cache/mneme/objects; $MNEME_CACHE_SIZE in bytes, or with K, M,
  // G or T behind it. not_found: none of the three is set. invalid_argument: a size that is none.
  static Result<CachePlace> from_environment();
};

// Thread-safe.
class DiskCache {
 public:
  struct Usage {
    uint64_t entries = 0;
    Bytes size;
  };

  explicit DiskCache(CachePlace place, FileSystem& files = FileSystem::posix()) : place_(std::move(place)), files_(files) {}

  const CachePlace& place() const { return place_; }
  // Nothing when there is no such entry. It counts as used now.
  std::optional<ByteVector> read(const Digest& key);
  // An entry of the same key is replaced. What is larger than a quarter of the limit is not stored.
  void put(const Digest& key, ByteSpan bytes);
  // Removes an entry whose content turned out to be of no use.
  void drop(const Digest& key);
  // By looking at every entry.
  Usage usage() const;
  // Removes every entry, and says what that was.
  Result<Usage> clear();

 private:
  struct Entry;
  Path path_of(const Digest& key) const;
  Status write(const Digest& key, ByteSpan bytes);
  Status count(Bytes added);
  // Removes the oldest entries where the folder is over its limit, and counts what is left. `uncounted`: bytes that this process
  // has added and could not count.
  Status evict(Bytes uncounted);
  Bytes remove_oldest(Bytes target);
  std::vector<Entry> entries() const;
  std::optional<Bytes> read_count() const;  // nothing where there is none, or a part of one
  Status write_count(Bytes total);

  CachePlace place_;
  FileSystem& files_;
  std::atomic<bool> writable_ = true;
};

}  // namespace mneme
