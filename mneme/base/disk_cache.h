// DiskCache: keeps blobs by key in a folder. Any number of processes may use the folder at once. Its size is bounded: the entries
// that were not used for longest are removed first.
//
// The cache only ever saves work: an entry may be gone at any moment. An entry that is damaged (a torn write, a flipped bit) is
// found by its checksum and removed, and reading it finds nothing. Nothing is synced to the disk. After a failed write (a full
// disk, a folder that cannot be written) this object logs one warning and stores nothing more; reading goes on.
//
// The folder holds `<first two digits of the key>/<32 digits>` for each entry, `tmp/` for entries that are being written, and
// `usage`, the number of bytes in the cache. Each process adds to that number what it writes, and each scan of the folder puts it
// right. The process that makes it pass the limit scans the folder and removes the entries that were not used for longest, down
// to four fifths of the limit, while the others go on. It holds the lock `evicting` meanwhile, so that only one process scans.
// The lock `lock` is held while `usage` is read and written.
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

  // The folder is $MNEME_CACHE_DIR, else $XDG_CACHE_HOME/mneme/objects, else ~/.cache/mneme/objects. The limit is
  // $MNEME_CACHE_SIZE, a number of bytes that may have K, M, G or T behind it ("4G"). not_found: no variable names a folder.
  // invalid_argument: $MNEME_CACHE_SIZE is no size.
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
  // The content of an entry, which counts as used now; nothing when there is no such entry.
  std::optional<ByteVector> read(const Digest& key);
  // Stores an entry, in place of one of the same key. Content larger than a quarter of the limit is not stored. A failure is
  // logged (see above), not returned.
  void put(const Digest& key, ByteSpan bytes);
  // Removes an entry whose content turned out to be of no use.
  void drop(const Digest& key);
  // How much the folder holds, found by looking at every entry.
  Usage usage() const;
  // Removes every entry, and returns how much that was.
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
