// PageStore: the packs of a database, and where in them each page lies. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
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
  // Reads the index of every pack that is not known yet. A damaged one is remembered and does not hide the others.
  void refresh();
  bool contains(const Digest& digest) const;
  // corrupt, with the first damaged pack where there is one, since the page may be in it, when no pack holds the page.
  Result<PackedPage> find(const Digest& digest);
  Status read(std::span<const PageRequest> requests);
  // A pack that this process has just put into the directory.
  void add(const Digest& name);

 private:
  struct Pack {
    Path path;  // opened for each reading: there are more packs than a process may have open files
    std::vector<PackedPage> pages;
  };
  struct Place {
    const Pack* pack;
    uint32_t index;
  };

  void load(const std::string& name);  // under the lock
  Result<Place> locate(const Digest& digest);
  Status read_some(std::span<const PageRequest> requests);

  const Path directory_;
  FileSystem& files_;
  mutable std::shared_mutex mutex_;
  std::set<std::string> known_;  // names of files that were looked at
  std::vector<std::unique_ptr<Pack>> packs_;
  std::vector<Status> damaged_;
  std::unordered_map<Digest, Place> places_;
};

}  // namespace mneme
