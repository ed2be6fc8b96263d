// Database: recordings on disk. The only room that knows paths; docs/reference/database.md specifies every file.
//
//   DIR/<static-hash>.json                                    a kernel
//   DIR/Instances_<static-hash>.mneme                         the list of its instances
//   DIR/RecordedIR_<static-hash>.bc                           its IR
//   DIR/DeviceState.prologue.<static-hash>.<dynamic-hash>.mneme   memory before the launch, as digests of pages
//   DIR/DeviceState.epilogue.<static-hash>.<dynamic-hash>.mneme   memory after it
//   DIR/pages/<digest>.mneme                                  packs of page contents, each content once
//
// An instance exists when its kernel's list has it, which is the last thing that publishing does: what is listed is whole,
// whenever the recording was killed. Several processes may publish into one database at once. To publish one costs the same
// however many there are.
//
// A Database is movable and thread-safe. Failures: not_found (names what was looked for), corrupt (names the file and the
// offset or key), incompatible (a newer format), exhausted (disk full), timeout (somebody holds the lock), io.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/publication.h"

namespace mneme {

// What `DIR/<static-hash>.json` on a command line means.
struct KernelFile {
  Path directory;
  Digest static_hash;
};
// not_found when there is no such file, invalid_argument when it is not named like a kernel's file; a directory is told apart.
Result<KernelFile> locate_kernel(const Path& path);

struct RecordedInstance {
  InstanceRecord instance;
  MemoryState prologue;
  MemoryState epilogue;
};

// Where the content of one page is wanted. `into` has the page's size.
struct PageRequest {
  Digest digest;
  MutableByteSpan into;
};

struct Listing {
  std::vector<KernelDocument> kernels;  // by static hash
  std::vector<Status> damaged;          // one for each kernel's file that cannot be read
};

// What an instance takes on disk. Pages that it shares with others are in each one's `pages`.
struct InstanceSize {
  Bytes states;  // its two state files
  Bytes pages;   // stored (compressed) size of the pages that they name, each once
  Bytes total() const { return states + pages; }
};

class Database {
 public:
  // For reading. not_found when the directory is missing or holds no recording.
  static Result<Database> open(const Path& directory, FileSystem& files = FileSystem::posix());
  // For publishing: makes the directory where it is missing, checks that it can be written, and removes what killed recordings
  // left half-written.
  static Result<Database> create(const Path& directory, FileSystem& files = FileSystem::posix(),
                                 const LockPatience& patience = {});
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  const Path& directory() const;

  Result<Listing> list() const;
  Result<KernelDocument> load_document(const Digest& static_hash) const;
  Result<KernelRecord> load_kernel(const Digest& static_hash) const;
  // Bitcode: one module or several, one after another. Its digest is checked.
  Result<ByteVector> load_ir(const Digest& static_hash) const;
  Result<RecordedInstance> load_instance(const Digest& static_hash, const Digest& dynamic_hash) const;

  // The memory of an instance that was listed.
  Result<RecordedInstance> load_memory(const InstanceRecord& instance) const;

  // Fills every request; several threads read, decompress and check digests. May be called by several threads at once.
  Status read_pages(std::span<const PageRequest> requests) const;

  Result<InstanceSize> instance_size(const Digest& static_hash, const Digest& dynamic_hash) const;
  Result<InstanceSize> instance_size(const RecordedInstance& recorded) const;
  // Reads everything that belongs to an instance, the IR included, and checks it.
  Status check_instance(const Digest& static_hash, const Digest& dynamic_hash) const;
  // All files of the database, including what no instance names.
  Result<Bytes> disk_size() const;

  // Whether it is listed and whole: one of which files are missing or damaged is to be recorded again, which heals it. What was
  // found whole is not looked at again. corrupt, incompatible, io: the kernel's own files are there and cannot be read.
  Result<bool> has_instance(const Digest& static_hash, const Digest& dynamic_hash) const;
  // After a failure with one of these codes: ok unless it is this kernel's alone, because something stands in the place of a file
  // of its own (a FIFO, a directory) or what is there cannot be read.
  Status check_own_files(const Digest& static_hash, const Digest& dynamic_hash) const;
  // Replaces what is said of the memory of an instance that is there; not_found when it is not.
  Status set_annotations(const Digest& static_hash, const Digest& dynamic_hash, const std::vector<Annotation>& annotations);
  // Replaces what is said of the time in the program of several, by dynamic hash. not_found when one is not there; the others are
  // changed.
  Status set_recorded_times(const Digest& static_hash, const std::map<Digest, RecordedTime>& times);
  // Begins to publish one instance. The database must outlive the publication.
  Result<std::unique_ptr<Publication>> begin_publication(const PublicationOptions& options = {});

 private:
  friend class DatabasePublication;
  Status change_instances(const Digest& static_hash, const std::vector<Digest>& dynamic_hashes,
                          const std::function<void(InstanceRecord&)>& change);
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mneme
