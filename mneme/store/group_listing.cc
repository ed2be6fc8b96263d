#include "mneme/store/group_listing.h"

#include <algorithm>
#include <set>
#include <utility>

#include "mneme/store/image_file.h"
#include "mneme/store/text.h"

namespace mneme {

// What is to be written for a kernel, in the order of its members. Empty: nothing.
struct GroupListing::Kernel {
  std::vector<const Recording*> recordings;
  bool ir = false;
  std::vector<std::string> images{};      // names of files
  std::string list{};                     // the whole list
  std::shared_ptr<InstanceList> there{};  // the list that there is
  std::vector<InstanceRecord> lines{};    // what is added to it
  std::string json{};
  std::vector<PendingFile> files{};       // the IR and the list
  std::optional<PendingFile> document{};  // the JSON
  uint64_t written = 0;
  Status status{};

  const Digest& static_hash() const { return recordings[0]->kernel.static_hash; }
  void note(const Status& of_one) {
    if (status.ok()) status = of_one;
  }
};

GroupListing::GroupListing(Database::Impl& database) : database_(database) {}
GroupListing::~GroupListing() = default;

void GroupListing::add(const Recording& recording) {
  const auto kernel = std::ranges::find(kernels_, recording.kernel.static_hash, &Kernel::static_hash);
  places_.push_back(static_cast<size_t>(kernel - kernels_.begin()));
  if (kernel == kernels_.end())
    kernels_.push_back({{&recording}});
  else
    kernel->recordings.push_back(&recording);
}

// The lock is over the kernels' files: between reading and changing them no other process may. What takes long is done before.
std::vector<GroupListing::Outcome> GroupListing::write() {
  encode_new_images();
  if (auto lock = database_.files.lock(database_.lock_path(), database_.patience); !lock.ok()) {
    fail_all(lock.status());
  } else {
    for (Kernel& kernel : kernels_) kernel.note(prepare(kernel));
    write_images();
    for (Kernel& kernel : kernels_)
      if (kernel.status.ok()) kernel.note(write_files(kernel));
    sync_files();
    name_files();
    add_lines();
    name_documents();
  }
  std::vector<Outcome> outcomes;
  for (size_t place : places_) outcomes.push_back({kernels_[place].status, std::exchange(kernels_[place].written, 0)});
  return outcomes;
}

Result<Bytes> GroupListing::growth(const Recording& recording) {
  Kernel kernel{{&recording}};
  MNEME_TRY(prepare(kernel));
  return Bytes(kernel.written);
}

void GroupListing::fail_all(const Status& status) {
  for (Kernel& kernel : kernels_) kernel.note(status);
}

Status GroupListing::prepare(Kernel& kernel) {
  const Recording& first = *kernel.recordings[0];
  KernelDocument document{first.kernel, {}, {}, {}};
  if (first.kernel.level == CodeLevel::ir) {
    document.ir_size = Bytes(first.ir.size());
    document.ir_digest = digest_of(first.ir);
  }
  const bool is_new = !database_.files.exists(database_.path_of(kernel_file_name(kernel.static_hash())));
  if (!is_new) {
    MNEME_ASSIGN(document, database_.load_head(kernel.static_hash()));
  }
  // The kernel's file may have been removed, or a recording killed before it was written: what the list has is kept where it is
  // whole.
  if (!document.lists_instances && database_.files.exists(database_.path_of(list_file_name(kernel.static_hash())))) {
    kernel.there = database_.list_of(document.kernel);
    if (Status read = kernel.there->refresh(); is_new && read.code() == Code::corrupt)
      kernel.there.reset();
    else
      MNEME_TRY(std::move(read));
  }
  for (const Recording* recording : kernel.recordings) {
    const InstanceRecord& instance = recording->instance;
    if (kernel.there) {
      MNEME_ASSIGN(const std::optional<InstanceRecord> found, kernel.there->find(instance.dynamic_hash));
      if (!found || found->dynamic_hash != instance.dynamic_hash)
        kernel.lines.push_back(instance);
      else if (found->annotations != instance.annotations)
        kernel.lines.push_back(*found), kernel.lines.back().annotations = instance.annotations;
    } else if (std::ranges::find(document.instances, instance.dynamic_hash, &InstanceRecord::dynamic_hash) ==
               document.instances.end()) {
      document.instances.push_back(instance);
    }
  }
  if (!kernel.there) kernel.list = InstanceList::encode(kernel.static_hash(), document.instances);
  list_code(document, is_new, kernel);
  list_images(document.kernel, kernel);
  kernel.written = growth_of(kernel);
  for (const std::string& name : kernel.images) images_.at(name).counted = true;
  return {};
}

// What is recorded now takes the place of code that is damaged.
void GroupListing::list_code(KernelDocument& document, bool is_new, Kernel& kernel) {
  const Recording& recording = *kernel.recordings[0];
  const KernelRecord before = document.kernel;
  if (!is_new && !(database_.has_ir(document) && database_.has_images(before))) {
    document.kernel.level = recording.kernel.level;
    document.kernel.images = recording.kernel.images;
  }
  const bool both_have_ir = document.kernel.level == CodeLevel::ir && recording.kernel.level == CodeLevel::ir;
  kernel.ir = both_have_ir && (is_new || !database_.has_ir(document));
  const Digest ir_digest = kernel.ir ? digest_of(recording.ir) : document.ir_digest;
  if (is_new || document.lists_instances || ir_digest != document.ir_digest || document.kernel != before) {
    if (kernel.ir) document.ir_size = Bytes(recording.ir.size());
    document.ir_digest = ir_digest;
    kernel.json = encode_kernel(document);
  }
}

void GroupListing::list_images(const KernelRecord& record, Kernel& kernel) {
  const Recording& recording = *kernel.recordings[0];
  for (size_t i = 0; i < recording.images.size(); ++i) {
    const CodeImageRecord& image = recording.kernel.images[i];
    if (std::ranges::find(record.images, image) == record.images.end() || database_.has_image(image)) continue;
    const std::string name = image_file_name(image);
    encode(name, image, recording.images[i]);
    if (std::ranges::find(kernel.images, name) == kernel.images.end()) kernel.images.push_back(name);
  }
}

void GroupListing::encode(const std::string& name, const CodeImageRecord& record, ByteSpan code) {
  if (!images_.contains(name)) images_[name].bytes = encode_image(record, code);
}

void GroupListing::encode_new_images() {
  for (const Kernel& kernel : kernels_) {
    if (database_.files.exists(database_.path_of(kernel_file_name(kernel.static_hash())))) continue;
    const Recording& recording = *kernel.recordings[0];
    for (size_t i = 0; i < recording.images.size(); ++i)
      if (const CodeImageRecord& image = recording.kernel.images[i]; !database_.has_image(image))
        encode(image_file_name(image), image, recording.images[i]);
  }
}

uint64_t GroupListing::growth_of(const Kernel& kernel) const {
  uint64_t growth = 0;
  const auto replaced = [&](const std::string& name, uint64_t size) {
    auto before = database_.files.size(database_.path_of(name));
    growth += size - (before.ok() ? std::min(before->count, size) : 0);
  };
  if (kernel.ir) replaced(ir_file_name(kernel.static_hash()), kernel.recordings[0]->ir.size());
  for (const std::string& name : kernel.images)
    if (const Image& image = images_.at(name); !image.counted) replaced(name, image.bytes.size());
  if (!kernel.list.empty()) replaced(list_file_name(kernel.static_hash()), kernel.list.size());
  if (!kernel.json.empty()) replaced(kernel_file_name(kernel.static_hash()), kernel.json.size());
  for (const InstanceRecord& line : kernel.lines) growth += encode_instance(line).size();
  return growth;
}

void GroupListing::write_images() {
  std::set<std::string> needed;
  for (const Kernel& kernel : kernels_)
    if (kernel.status.ok()) needed.insert(kernel.images.begin(), kernel.images.end());
  for (const std::string& name : needed) {
    Image& image = images_.at(name);
    auto pending = PendingFile::write(database_.files, database_.path_of(name), image.bytes);
    image.status = pending.status();
    if (pending.ok()) image.file = std::move(*pending);
  }
  fail_without_images();
}

void GroupListing::fail_without_images() {
  for (Kernel& kernel : kernels_)
    for (const std::string& name : kernel.images) kernel.note(images_.at(name).status);
}

Status GroupListing::write_files(Kernel& kernel) {
  const auto write = [&](const std::string& name, ByteSpan bytes) -> Status {
    MNEME_ASSIGN(PendingFile pending, PendingFile::write(database_.files, database_.path_of(name), bytes));
    kernel.files.push_back(std::move(pending));
    return {};
  };
  if (kernel.ir) MNEME_TRY(write(ir_file_name(kernel.static_hash()), kernel.recordings[0]->ir));
  if (!kernel.list.empty()) MNEME_TRY(write(list_file_name(kernel.static_hash()), bytes_of(kernel.list)));
  if (kernel.json.empty()) return {};
  MNEME_ASSIGN(
      PendingFile document,
      PendingFile::write(database_.files, database_.path_of(kernel_file_name(kernel.static_hash())), bytes_of(kernel.json)));
  kernel.document = std::move(document);
  return {};
}

void GroupListing::sync(const std::vector<Unsynced>& all) {
  std::vector<UnsyncedFile*> files;
  for (const Unsynced& one : all) files.push_back(one.file);
  const std::vector<Status> statuses = database_.files.sync_all(files);
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].status->ok()) *all[i].status = statuses[i];
}

void GroupListing::sync_files() {
  std::vector<Unsynced> all;
  for (auto& [name, image] : images_)
    if (image.file) all.push_back({&image.file->file(), &image.status});
  for (Kernel& kernel : kernels_) {
    if (!kernel.status.ok()) continue;
    for (PendingFile& file : kernel.files) all.push_back({&file.file(), &kernel.status});
    if (kernel.document) all.push_back({&kernel.document->file(), &kernel.status});
  }
  sync(all);
  fail_without_images();
}

void GroupListing::name_files() {
  bool some = false;
  for (auto& [name, image] : images_)
    if (image.file && image.status.ok()) some = true, image.status = image.file->take_place();
  fail_without_images();
  for (Kernel& kernel : kernels_)
    for (PendingFile& file : kernel.files)
      if (kernel.status.ok()) some = true, kernel.note(file.take_place());
  if (some)
    if (Status synced = database_.files.sync_directory(database_.directory); !synced.ok()) fail_all(synced);
}

void GroupListing::add_lines() {
  std::vector<InstanceList::Lines> all;
  std::vector<Kernel*> owners;
  for (Kernel& kernel : kernels_) {
    if (!kernel.status.ok() || kernel.lines.empty()) continue;
    all.push_back({kernel.there, std::move(kernel.lines)});
    owners.push_back(&kernel);
  }
  const std::vector<Status> statuses = InstanceList::append_all(database_.files, all);
  for (size_t i = 0; i < all.size(); ++i) owners[i]->note(statuses[i]);
}

void GroupListing::name_documents() {
  bool some = false;
  for (Kernel& kernel : kernels_)
    if (kernel.status.ok() && kernel.document) some = true, kernel.note(kernel.document->take_place());
  if (some)
    if (Status synced = database_.files.sync_directory(database_.directory); !synced.ok()) fail_all(synced);
}

}  // namespace mneme
