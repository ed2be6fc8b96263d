// GroupListing: lists instances whose pages and states are on the disk. Not for other rooms.
//
// It writes what is missing of their kernels' files, and adds the instances to the kernels' lists: first code, images and lists
// that are new, then lines of lists that there are, and the kernels' JSON last, each when what came before is on the disk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mneme/base/pending_file.h"
#include "mneme/store/database_impl.h"

namespace mneme {

class GroupListing {
 public:
  explicit GroupListing(Database::Impl& database);
  ~GroupListing();
  GroupListing(const GroupListing&) = delete;
  GroupListing& operator=(const GroupListing&) = delete;

  // Several of one kernel have the same record of it, and are different instances. They must outlive this.
  void add(const Recording& recording);
  // The bytes of an image's file, where somebody has made them already.
  void take_image(const std::string& name, ByteVector bytes) { images_[name].bytes = std::move(bytes); }
  struct Outcome {
    Status status;
    uint64_t written = 0;  // by how many bytes the database has grown, of a kernel's first instance here
  };
  // For each, in the order in which they were added. What fails for one kernel fails for it alone.
  std::vector<Outcome> write();
  // By how many bytes the database would grow, of a recording that need not be added.
  Result<Bytes> growth(const Recording& recording);

 private:
  struct Kernel;
  struct Image {
    ByteVector bytes{};  // of the file
    std::optional<PendingFile> file{};
    bool counted = false;  // in the growth of a kernel
    Status status{};       // which is that of each kernel that has it
  };
  struct Unsynced {
    UnsyncedFile* file;
    Status* status;  // of what fails with it
  };

  Status prepare(Kernel& kernel);
  // Add to the kernel what of the IR and of the JSON, and which images, must be written. `document` becomes what is to be
  // written.
  void list_code(KernelDocument& document, bool is_new, Kernel& kernel);
  void list_images(const KernelRecord& record, Kernel& kernel);
  void encode(const std::string& name, const CodeImageRecord& record, ByteSpan code);
  void encode_new_images();
  uint64_t growth_of(const Kernel& kernel) const;
  Status write_files(Kernel& kernel);
  void write_images();
  void fail_without_images();
  void sync(const std::vector<Unsynced>& all);
  void sync_files();
  void name_files();
  void add_lines();
  void name_documents();
  void fail_all(const Status& status);

  Database::Impl& database_;
  std::vector<Kernel> kernels_;
  std::map<std::string, Image> images_;  // by the names of their files
  std::vector<size_t> places_;           // of the instances' kernels
};

}  // namespace mneme
