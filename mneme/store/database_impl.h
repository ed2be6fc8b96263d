// What Database and its publications share. Not for other rooms.
#pragma once

#include "mneme/store/database.h"
#include "mneme/store/page_store.h"

namespace mneme {

struct Database::Impl {
  Impl(Path where, FileSystem& file_system)
      : directory(std::move(where)), files(file_system), store(directory / "pages", file_system) {}

  Path path_of(const std::string& name) const { return directory / name; }
  Path lock_path() const { return directory / ".lock"; }
  Result<KernelDocument> load_document(const Digest& static_hash) const;
  Result<StateDocument> load_state(Moment moment, const Digest& static_hash, const Digest& dynamic_hash) const;
  // In publish.cc. What the kernel's file and the IR would grow by with the instance, and its adding.
  struct KernelFileUpdate;
  Result<KernelFileUpdate> prepare_update(const Recording& recording) const;
  Status list_instance(const Recording& recording, uint64_t& written);

  const Path directory;
  FileSystem& files;
  PageStore store;
};

}  // namespace mneme
