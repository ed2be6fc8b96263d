// PageStore: the packs of a database. It knows in which pack each page lies. Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/store/database.h"
#include "mneme/store/pack.h"

namespace mneme {

class PageStore {
 public:
  // `directory` is the database's `pages`; it need not exist.
  PageStore(Path directory, FileSystem& files) : directory_(std::move(directory)), files_(files) {}

  const Path& directory() const { return directory_; }
  // Reads the index of every pack that is not known yet. A damaged one is remembered and does not hide the others; one that could
  // not be read is read again by the next refresh().
  void refresh();
  // As refresh(), but does nothing if that would take more than a fiftieth of the time since the last refresh(). (Refreshing
  // takes the longer the more packs there are.)
  void look_for_others();
  // Forgets all packs: some may have been removed.
  void forget();
  // Whether a page of this content and size is stored and can be read. It is read to find out, and not again once it was whole.
  bool holds_whole(const Digest& digest, Bytes size);
  // Likewise. corrupt: it is in no pack, or damaged. All else is a failure of reading, which says nothing of the page.
  Status check_whole(const Digest& digest, Bytes size);
  // Whether holds_whole() is known to be true, without reading.
  bool has_read(const Digest& digest, Bytes size) const;
  struct Packs {
    std::vector<Digest> names;   // of those that hold the pages, each once
    std::vector<Digest> others;  // the pages that none holds, or of which it is not known that they are whole
  };
  Packs find_packs(std::span<const Digest> pages) const;
  // The names of the packs that hold these pages, whole or not. unavailable: no pack holds one of them.
  Result<std::vector<Digest>> packs_of(std::span<const Digest> pages) const;
  // Names packs that should exist. When a page is missing, the message names those of them that do not.
  void expect(const std::vector<Digest>& packs);
  // Where a page is stored. corrupt: no pack holds it. The message is about the first damaged pack where there is one, since the
  // page may be in that.
  Result<PackedPage> find(const Digest& digest);
  // Fills every request, by several threads where there are many, and checks the contents against the digests.
  Status read(std::span<const PageRequest> requests);
  // One page as it is stored; its content is checked as read() does.
  Result<StoredPage> read_stored(const Digest& digest, Bytes size);
  // Takes in a pack of these pages that this process has just put into the directory, perhaps in place of a damaged one of the
  // same name. Gives the size, before compression, of those that were not there whole.
  Bytes add(const Digest& name, std::vector<PackedPage> pages);

 private:
  struct Pack {
    Digest name;
    Path path;  // opened for each reading: there are more packs than a process may have open files
    std::vector<PackedPage> pages;
    size_t place;  // among all packs
  };
  struct Place {
    const Pack* pack;
    uint32_t index;
    bool whole = false;    // has been read, or written by this process
    bool counted = false;  // add() has counted it
  };

  void load(const std::string& name);  // under the lock, as the next one
  const Pack* insert(const Digest& name, std::vector<PackedPage> pages);
  Status missing(const Digest& page) const;  // under the lock
  Result<Place> locate(const Digest& digest);
  Status read_some(std::span<const PageRequest> requests);
  Status read_elsewhere(const PageRequest& request, Place damaged, const Status& status);

  const Path directory_;
  FileSystem& files_;
  mutable std::shared_mutex mutex_;
  std::set<std::string> known_;  // names of files that were read, or that are damaged
  std::set<std::string> expected_;
  std::vector<std::unique_ptr<Pack>> packs_;  // also those that were forgotten, which somebody may be reading
  std::map<std::string, Status> damaged_;     // by name of the pack
  Status unlisted_;                           // why refresh() did not see the packs that there are
  std::unordered_map<Digest, Place> places_;
  std::unordered_multimap<Digest, Place> others_;  // further places where the same content is stored
  std::chrono::steady_clock::time_point looked_;   // when refresh() ended
  std::chrono::steady_clock::duration look_{};     // how long that took
};

}  // namespace mneme
