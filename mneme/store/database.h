// Database: recordings on disk. Only this room knows the paths of their files. docs/reference/database.md specifies every file.
//
//   DIR/<static-hash>.json                                    a kernel
//   DIR/Instances_<static-hash>.mneme                         the list of its instances
//   DIR/RecordedIR_<static-hash>.bc                           its IR, where it was recorded with IR
//   DIR/Image_<digest>.cubin, …ptx, …hsaco                    the program's own code, for all kernels that it is of
//   DIR/DeviceState.prologue.<static-hash>.<dynamic-hash>.mneme   memory before the launch, as digests of pages
//   DIR/DeviceState.epilogue.<static-hash>.<dynamic-hash>.mneme   memory after it
//   DIR/pages/<digest>.mneme                                  packs of page contents, each content once
//
// An instance exists when its kernel's file is there and the kernel's list has it. Publishing writes these last, so an instance
// that exists is whole, whenever the recording was killed. What waits in a group to be listed then is listed by who opens the
// database next. Several processes may publish into one database at once. Publishing an
// instance takes the same time however many there are.
//
// A Database is movable and thread-safe. Failures: not_found (the message says what was looked for), corrupt (it has the file and
// the offset or key), incompatible (a newer format), exhausted (the disk is full), timeout (another process holds the lock), io.
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
#include "mneme/store/cleaning.h"
#include "mneme/store/publication.h"
#include "mneme/store/recording_sink.h"

namespace mneme {

class CommitGroup;

// What `DIR/<static-hash>.json` on a command line means.
struct KernelFile {
  Path directory;
  Digest static_hash;
};
// not_found: there is no such file. invalid_argument: it is not named like a kernel's file, or is a directory.
Result<KernelFile> locate_kernel(const Path& path);

// Where the content of one page is wanted. `into` has the page's size.
struct PageRequest {
  Digest digest;
  MutableByteSpan into;
};

struct Listing {
  std::vector<KernelDocument> kernels;  // by static hash
  std::vector<Status> damaged;          // one for each kernel whose file or list cannot be read
};

// What an instance takes on disk. Pages that several instances share count in each of them.
struct InstanceSize {
  Bytes states;  // its two state files
  Bytes pages;   // stored (compressed) size of the pages that they name, each once
  Bytes total() const { return states + pages; }
};

class Database {
 public:
  // Opens a database for reading. Launches that a recording has left complete when it was killed are listed before. not_found:
  // the directory is missing or holds no recording. invalid_argument: it is a file.
  static Result<Database> open(const Path& directory, FileSystem& files = FileSystem::posix());
  // Opens a database for publishing. Makes the directory where it is missing, checks that it can be written, lists
  // what recordings that were killed have left complete, and removes what they have left half-written.
  static Result<Database> create(const Path& directory, FileSystem& files = FileSystem::posix(),
                                 const LockPatience& patience = {});
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  const Path& directory() const;

  Result<Listing> list() const;
  Result<KernelDocument> load_document(const Digest& static_hash) const;
  Result<KernelRecord> load_kernel(const Digest& static_hash) const;
  // The recorded bitcode, one module or several one after another. Its digest is checked. unsupported: the kernel was recorded
  // without IR.
  Result<ByteVector> load_ir(const Digest& static_hash) const;
  // The bytes of an image that a kernel's record names. Their digest is checked.
  Result<ByteVector> load_image(const CodeImageRecord& image) const;
  // The same for the first image of a kind. not_found: the kernel was recorded without one.
  Result<ByteVector> load_image(const KernelRecord& kernel, CodeImageRecord::Kind kind) const;
  // One that was trimmed is found by the hash that it was recorded with, too; so it is by all that take a dynamic hash here.
  Result<RecordedInstance> load_instance(const Digest& static_hash, const Digest& dynamic_hash) const;

  // The memory of an instance that was listed.
  Result<RecordedInstance> load_memory(const InstanceRecord& instance) const;

  // Fills every request; several threads read, decompress and check digests. May be called by several threads at once.
  Status read_pages(std::span<const PageRequest> requests) const;

  // Gives these kernels, with their instances that `kernels` lists, to `to`. Each page is given once. What is read is checked.
  Status send(const std::vector<KernelDocument>& kernels, RecordingSink& to) const;

  Result<InstanceSize> instance_size(const Digest& static_hash, const Digest& dynamic_hash) const;
  Result<InstanceSize> instance_size(const RecordedInstance& recorded) const;
  // The stored size of the pages that both states name, each once. One that is not stored counts as nothing.
  Bytes stored_pages(const RecordedInstance& recorded) const;
  // Reads everything that belongs to an instance, the IR and the images included, and checks it.
  Status check_instance(const Digest& static_hash, const Digest& dynamic_hash) const;
  // Reads and checks every file of the database. What is damaged, and what no instance needs, is told; with Deed::remove it is
  // removed, too, which needs that nobody publishes (timeout). Other failures than damage (a newer format, a file that may not be
  // read) end it.
  Result<CheckedDatabase> check_all(Deed deed) const;
  // All files of the database, including what no instance names.
  Result<Bytes> disk_size() const;

  // Whether the instance is listed and all its files are whole. Where some are missing or damaged the answer is no, so that the
  // instance is recorded again, which repairs it. An instance that was found whole is not looked at again. corrupt, incompatible,
  // io: the kernel's own files exist and cannot be read.
  Result<bool> has_instance(const Digest& static_hash, const Digest& dynamic_hash) const;
  // Tells whether a failure while an instance was published concerns its kernel alone. It does, and the result is a failure, when
  // one of the kernel's own files cannot be read, or something else (a FIFO, a directory) stands in its place. ok otherwise.
  // `images` are those that were to be published with it.
  Status check_own_files(const Digest& static_hash, const Digest& dynamic_hash,
                         const std::vector<CodeImageRecord>& images = {}) const;
  // Replaces the annotations of an instance. not_found: there is no such instance.
  Status set_annotations(const Digest& static_hash, const Digest& dynamic_hash, const std::vector<Annotation>& annotations);
  // Replaces the times in the program of several instances, by dynamic hash. not_found: one of them does not exist; the others
  // are changed all the same.
  Status set_recorded_times(const Digest& static_hash, const std::map<Digest, RecordedTime>& times);
  // Likewise of how often their shapes ran, of instances of several kernels, by static hash.
  using LaunchesOfKernels = std::map<Digest, std::map<Digest, ShapeLaunches>>;
  Status set_shape_launches(const LaunchesOfKernels& launches);
  // Says of a trimmed instance that it stands for launches that were recorded with these dynamic hashes, too.
  Status add_trimmed(const Digest& static_hash, const Digest& dynamic_hash, const std::vector<Digest>& of);
  // Gives a kernel that was recorded without IR the IR that was found of it later: writes the bitcode, and then the kernel's JSON
  // with what `kernel` says, whose level must be ir. Instances and images stay. Does nothing where the kernel has whole IR
  // already. not_found: there is no such kernel. invalid_argument: `kernel` is not of the level ir, or its parameters are of
  // another size.
  Status add_ir(const KernelRecord& kernel, ByteSpan bitcode);
  // Removes these instances, the kernels of which none is left, and all that no instance needs then. Fails before anything is
  // removed, or leaves a database whose instances are whole. timeout: somebody publishes.
  Result<Cleaned> clean(const std::vector<KernelDocument>& gone, Deed deed);
  // Removes every file of the database, and its folder if nothing else is in it.
  Result<Cleaned> remove_all(Deed deed);
  // Waits until nobody publishes. Nobody does as long as the lock is held.
  Result<std::unique_ptr<FileLock>> lock_for_removal() const;
  // How often files were removed of the database, as far as begin_publication() and list() have noticed. Nothing is removed while
  // a publication is there.
  uint64_t removals() const;
  // Begins to publish one instance. The database must outlive the publication.
  Result<std::unique_ptr<Publication>> begin_publication(const PublicationOptions& options = {});
  // Begins to commit several publications of this database together (commit_group.h), which it must outlive. `before`: a group
  // that may still be finishing, whose pages this one may count on, and which is finished before it.
  std::unique_ptr<CommitGroup> begin_group(const CommitGroup* before = nullptr);

  struct Impl;

 private:
  // What is to change of the instance that was asked for by these hashes.
  using ChangeInstance = std::function<void(const Digest& static_hash, const Digest& dynamic_hash, InstanceRecord& instance)>;
  using InstancesOfKernels = std::map<Digest, std::vector<Digest>>;
  Status change_instances(const InstancesOfKernels& instances, const ChangeInstance& change);
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mneme
