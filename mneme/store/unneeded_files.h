// Finds the files of a database that no instance needs, and removes them. Touches only files that are named as a
// database's are, in its folder and its folder of packs. Not for other rooms.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_set>

#include "mneme/store/cleaning.h"
#include "mneme/store/database_impl.h"

namespace mneme {

// What the instances of a database need.
struct Needed {
  std::set<std::string> names;  // files in the database's folder
  std::unordered_set<Digest> pages;
  std::set<std::string> kept_hashes;  // of kernels that cannot be read: whatever is named by them stays
  bool pages_known = true;            // false: some state could not be read, so that every pack and image stays

  void add(const KernelDocument& document);
  void add(const RecordedInstance& recorded);
};

// A kernel of which nothing stays.
KernelDocument without_instances(const Digest& static_hash);

struct DatabaseFiles {
  std::vector<std::string> names, packs;  // `packs` in the folder of packs
};
// io: the folder of packs is a symbolic link, behind which nothing is removed.
Result<DatabaseFiles> files_of(const Database::Impl& database);

// Whether a copy of a page may stay; the pack is its file's name.
using IsWhole = std::function<bool(const std::string& pack, const PackedPage& page)>;

// Adds to `cleaned` what is removed of `all`.
Status remove_unneeded(Database::Impl& database, const DatabaseFiles& all, const Needed& needed, const IsWhole& is_whole,
                       Deed deed, Cleaned& cleaned);

}  // namespace mneme
