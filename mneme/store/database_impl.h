// The state that Database shares with its publications. Not for other rooms.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "mneme/store/database.h"
#include "mneme/store/instance_list.h"
#include "mneme/store/page_store.h"
#include "mneme/store/ready_files.h"

namespace mneme {

// A page that a memory state names.
struct PageOfState {
  Digest digest;
  Bytes size;
};
// The pages of both states, each content once.
std::vector<PageOfState> pages_of(const RecordedInstance& recorded);
// The bitcode of a kernel, if it is what its document says. `name` is what messages call the file.
Status check_ir(const KernelDocument& document, ByteSpan bitcode, const std::string& name);
// The kernel whose file has this name.
std::optional<Digest> kernel_of_file(std::string_view name);

struct Database::Impl {
  static constexpr const char* kLockName = ".lock";
  static constexpr const char* kUseName = ".in-use";

  Impl(Path where, FileSystem& file_system)
      : directory(std::move(where)), files(file_system), store(directory / "pages", file_system) {}

  Path path_of(const std::string& name) const { return directory / name; }
  Path lock_path() const { return directory / kLockName; }
  // Held shared while an instance is published, and exclusively while files are removed. It has a byte for each time that
  // somebody began to remove some.
  Path use_path() const { return directory / kUseName; }
  // The temporary files that all publications of the database share. They go with the last publication.
  std::shared_ptr<ReadyFiles> ready_files();
  // Forgets what was read of files that another process may have removed since.
  void notice_removals();
  Result<KernelDocument> load_document(const Digest& static_hash) const;
  // The kernel's own document. It has no instances unless it is of version 1.
  Result<KernelDocument> load_head(const Digest& static_hash) const;
  // The list of a kernel, as one object for the life of the database, so that it reads each line once.
  std::shared_ptr<InstanceList> list_of(const KernelRecord& kernel);
  // The same if list_of() has given it before, so that the kernel lists its instances there; null otherwise.
  std::shared_ptr<InstanceList> known_list(const Digest& static_hash);
  // The same, refreshed. corrupt where the file is missing.
  Result<std::shared_ptr<InstanceList>> open_list(const KernelRecord& kernel);
  // Whether the file with the IR is there and whole, if the kernel has IR. Once it was, it is not looked at again.
  bool has_ir(const KernelDocument& document);
  // The same for an image.
  bool has_image(const CodeImageRecord& image);
  // Whether these bytes are those that the record names. An object that was found to have them is not digested again.
  bool is_image(const CodeImageRecord& record, const SharedBytes& bytes);
  // Whether all images of a kernel are there.
  bool has_images(const KernelRecord& kernel);
  Result<ByteVector> load_image(const CodeImageRecord& image) const;
  // Nothing when there is no such instance.
  Result<std::optional<InstanceRecord>> find_instance(const Digest& static_hash, const Digest& dynamic_hash);
  // ok when all files of an instance can be read. An instance that was found whole is not read again.
  Status check_files(const KernelDocument& document, const Digest& dynamic_hash);
  Result<StateDocument> load_state(Moment moment, const Digest& static_hash, const Digest& dynamic_hash) const;
  // These are in clean.cc. Both need the locks for removal: says to all who have the database open that files go; and makes these
  // all instances that the kernel has, and removes the kernel's file if there are none.
  Status begin_removal();
  Status unlist(const KernelDocument& rest);
  // What a change of a kernel's instances comes to.
  struct Changed {
    KernelDocument document;  // with the instances as they are to be, if it is of version 1
    InstanceList::Lines lines;
    Status missing;  // not_found: an instance that was to be changed is not there
  };
  Result<Changed> find_changes(const Digest& static_hash, const std::vector<Digest>& dynamic_hashes,
                               const ChangeInstance& change);
  // Under the database's lock.
  Status write_changes(std::vector<Changed> all);

  const Path directory;
  FileSystem& files;
  PageStore store;
  LockPatience patience;
  std::atomic<uint64_t> removals = 0;  // the size of the file at use_path() when it was last looked at

  std::mutex mutex;  // over everything below
  std::map<Digest, std::shared_ptr<InstanceList>> lists;
  std::weak_ptr<ReadyFiles> ready;
  std::map<Digest, std::weak_ptr<const ByteVector>> images;  // that is_image() has looked at, by digest
  std::set<Digest> whole_ir;                                 // of kernels
  std::set<std::string> whole_images;                        // by the names of their files
  std::set<std::pair<Digest, Digest>> whole_instances;       // by static and dynamic hash: launches of two kernels may be alike
};

}  // namespace mneme
