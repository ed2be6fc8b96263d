#include <algorithm>

#include "mneme/store/database_impl.h"
#include "mneme/store/image_file.h"
#include "mneme/store/page_writer.h"

namespace mneme {
namespace {

ByteSpan bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

Status check_images(const Recording& recording) {
  const std::vector<CodeImageRecord>& records = recording.kernel.images;
  if (records.size() != recording.images.size())
    return error(Code::invalid_argument, "publishing the kernel {}: {} images are recorded, and the bytes of {} are given",
                 recording.kernel.name, records.size(), recording.images.size());
  for (size_t i = 0; i < records.size(); ++i)
    if (records[i].size.count != recording.images[i].size() || records[i].digest != digest_of(recording.images[i]))
      return error(Code::invalid_argument, "publishing the kernel {}: the bytes of image {} are not those that its record names",
                   recording.kernel.name, i);
  return {};
}

template <class T>
std::vector<Digest> keys_of(const std::map<Digest, T>& values) {
  std::vector<Digest> keys;
  for (const auto& [key, value] : values) keys.push_back(key);
  return keys;
}

}  // namespace

// What is to be written for an instance, in the order of its members. Empty: nothing.
struct Database::Impl::Listed {
  bool ir = false;
  std::vector<std::string> images;    // names of files
  std::string list;                   // the whole list
  std::vector<InstanceRecord> lines;  // what is added to the list that there is
  std::string json;
  uint64_t growth = 0;  // of the database, in bytes
};

Result<Database::Impl::Listed> Database::Impl::prepare_listing(const Recording& recording, ImageFiles& images) {
  const Digest& static_hash = recording.kernel.static_hash;
  KernelDocument document{recording.kernel, {}, {}, {}};
  if (recording.kernel.level == CodeLevel::ir) {
    document.ir_size = Bytes(recording.ir.size());
    document.ir_digest = digest_of(recording.ir);
  }
  const bool is_new = !files.exists(path_of(kernel_file_name(static_hash)));
  if (!is_new) {
    MNEME_ASSIGN(document, load_head(static_hash));
  }
  Listed listed;
  // The kernel's file may have been removed, or a recording killed before it was written: what the list has is kept where it is
  // whole.
  std::shared_ptr<InstanceList> list;
  if (!document.lists_instances && files.exists(path_of(list_file_name(static_hash)))) {
    list = list_of(document.kernel);
    if (Status read = list->refresh(); is_new && !read.ok())
      list.reset();
    else
      MNEME_TRY(std::move(read));
  }
  if (list) {
    MNEME_ASSIGN(std::optional<InstanceRecord> there, list->find(recording.instance.dynamic_hash));
    if (!there || there->dynamic_hash != recording.instance.dynamic_hash)
      listed.lines = {recording.instance};
    else if (there->annotations != recording.instance.annotations)
      listed.lines = {*there}, listed.lines[0].annotations = recording.instance.annotations;
  } else {
    const auto same = [&](const InstanceRecord& i) { return i.dynamic_hash == recording.instance.dynamic_hash; };
    if (std::none_of(document.instances.begin(), document.instances.end(), same))
      document.instances.push_back(recording.instance);
    listed.list = InstanceList::encode(static_hash, document.instances);
  }
  list_code(document, is_new, recording, listed);
  list_images(document.kernel, recording, images, listed);
  listed.growth = growth_of(listed, recording, images);
  return listed;
}

// What is recorded now takes the place of code that is damaged.
void Database::Impl::list_code(KernelDocument& document, bool is_new, const Recording& recording, Listed& listed) {
  const KernelRecord before = document.kernel;
  if (!is_new && !(has_ir(document) && has_images(before))) {
    document.kernel.level = recording.kernel.level;
    document.kernel.images = recording.kernel.images;
  }
  const bool both_have_ir = document.kernel.level == CodeLevel::ir && recording.kernel.level == CodeLevel::ir;
  listed.ir = both_have_ir && (is_new || !has_ir(document));
  const Digest ir_digest = listed.ir ? digest_of(recording.ir) : document.ir_digest;
  if (is_new || document.lists_instances || ir_digest != document.ir_digest || document.kernel != before) {
    if (listed.ir) document.ir_size = Bytes(recording.ir.size());
    document.ir_digest = ir_digest;
    listed.json = encode_kernel(document);
  }
}

void Database::Impl::list_images(const KernelRecord& kernel, const Recording& recording, ImageFiles& images, Listed& listed) {
  for (size_t i = 0; i < recording.images.size(); ++i) {
    const CodeImageRecord& image = recording.kernel.images[i];
    if (std::find(kernel.images.begin(), kernel.images.end(), image) == kernel.images.end() || has_image(image)) continue;
    const std::string name = image_file_name(image);
    if (!images.contains(name)) images[name] = encode_image(image, recording.images[i]);
    if (std::find(listed.images.begin(), listed.images.end(), name) == listed.images.end()) listed.images.push_back(name);
  }
}

uint64_t Database::Impl::growth_of(const Listed& listed, const Recording& recording, const ImageFiles& images) const {
  const Digest& static_hash = recording.kernel.static_hash;
  uint64_t growth = 0;
  const auto replaced = [&](const std::string& name, uint64_t size) {
    auto before = files.size(path_of(name));
    growth += size - (before.ok() ? std::min(before->count, size) : 0);
  };
  if (listed.ir) replaced(ir_file_name(static_hash), recording.ir.size());
  for (const std::string& name : listed.images) replaced(name, images.at(name).size());
  if (!listed.list.empty()) replaced(list_file_name(static_hash), listed.list.size());
  if (!listed.json.empty()) replaced(kernel_file_name(static_hash), listed.json.size());
  for (const InstanceRecord& line : listed.lines) growth += encode_instance(line).size();
  return growth;
}

// The lock is over the kernel's files: between reading and changing them no other process may.
Status Database::Impl::list_instance(const Recording& recording, ImageFiles& images, uint64_t& written) {
  const Digest& static_hash = recording.kernel.static_hash;
  MNEME_ASSIGN(auto lock, files.lock(lock_path(), patience));
  MNEME_ASSIGN(Listed listed, prepare_listing(recording, images));
  written += listed.growth;
  if (listed.ir) MNEME_TRY(files.write_atomically(path_of(ir_file_name(static_hash)), recording.ir));
  for (const std::string& name : listed.images) MNEME_TRY(files.write_atomically(path_of(name), images.at(name)));
  if (!listed.list.empty()) MNEME_TRY(files.write_atomically(path_of(list_file_name(static_hash)), bytes_of(listed.list)));
  if (!listed.lines.empty()) MNEME_TRY(list_of(recording.kernel)->append(listed.lines));
  if (listed.json.empty()) return {};
  return files.write_atomically(path_of(kernel_file_name(static_hash)), bytes_of(listed.json));
}

Status Database::set_annotations(const Digest& static_hash, const Digest& dynamic_hash,
                                 const std::vector<Annotation>& annotations) {
  return change_instances(static_hash, {dynamic_hash},
                          [&](const Digest&, InstanceRecord& instance) { instance.annotations = annotations; });
}

Status Database::set_recorded_times(const Digest& static_hash, const std::map<Digest, RecordedTime>& times) {
  return change_instances(static_hash, keys_of(times),
                          [&](const Digest& hash, InstanceRecord& instance) { instance.recorded_time = times.at(hash); });
}

Status Database::set_shape_launches(const Digest& static_hash, const std::map<Digest, ShapeLaunches>& launches) {
  return change_instances(static_hash, keys_of(launches),
                          [&](const Digest& hash, InstanceRecord& instance) { instance.shape_launches = launches.at(hash); });
}

Status Database::add_trimmed(const Digest& static_hash, const Digest& dynamic_hash, const std::vector<Digest>& of) {
  return change_instances(static_hash, {dynamic_hash}, [&](const Digest&, InstanceRecord& instance) {
    if (!instance.trimmed) return;
    std::vector<Digest>& all = instance.trimmed->of;
    for (const Digest& hash : of)
      if (std::find(all.begin(), all.end(), hash) == all.end()) all.push_back(hash);
  });
}

Status Database::add_ir(const KernelRecord& kernel, ByteSpan bitcode) {
  const Digest& static_hash = kernel.static_hash;
  MNEME_ASSIGN(auto lock, impl_->files.lock(impl_->lock_path(), impl_->patience));
  MNEME_ASSIGN(KernelDocument document, impl_->load_head(static_hash));
  if (kernel.level != CodeLevel::ir || kernel.parameter_bytes != document.kernel.parameter_bytes)
    return error(
        Code::invalid_argument,
        "adding IR to the kernel {}: what is given is of the level {}, and has {} bytes of parameters where {} were recorded",
        kernel.name, to_string(kernel.level), kernel.parameter_bytes, document.kernel.parameter_bytes);
  if (document.kernel.level == CodeLevel::ir && impl_->has_ir(document)) return {};
  // Another process may have recorded the kernel with other images meanwhile.
  std::vector<CodeImageRecord> images = std::move(document.kernel.images);
  document.kernel = kernel;
  document.kernel.images = std::move(images);
  document.ir_size = Bytes(bitcode.size());
  document.ir_digest = digest_of(bitcode);
  MNEME_TRY(impl_->files.write_atomically(impl_->path_of(ir_file_name(static_hash)), bitcode));
  return impl_->files.write_atomically(impl_->path_of(kernel_file_name(static_hash)), bytes_of(encode_kernel(document)));
}

Status Database::change_instances(const Digest& static_hash, const std::vector<Digest>& dynamic_hashes,
                                  const ChangeInstance& change) {
  // Most often nothing is to be changed, for which nobody need wait.
  MNEME_ASSIGN(bool differs, impl_->change(static_hash, dynamic_hashes, change, Impl::Change::compare));
  if (!differs) return {};
  MNEME_ASSIGN(auto lock, impl_->files.lock(impl_->lock_path(), impl_->patience));
  return impl_->change(static_hash, dynamic_hashes, change, Impl::Change::write).status();
}

// Whether there was anything to change. not_found: an instance is not there; those that are have been changed.
Result<bool> Database::Impl::change(const Digest& static_hash, const std::vector<Digest>& dynamic_hashes,
                                    const ChangeInstance& change, Change what) {
  MNEME_ASSIGN(KernelDocument document, load_head(static_hash));
  std::shared_ptr<InstanceList> list;
  if (!document.lists_instances) {
    MNEME_ASSIGN(list, open_list(document.kernel));
  }
  std::vector<InstanceRecord> changed;
  Status missing;
  for (const Digest& dynamic_hash : dynamic_hashes) {
    auto inside = std::find_if(document.instances.begin(), document.instances.end(),
                               [&](const InstanceRecord& i) { return i.dynamic_hash == dynamic_hash; });
    std::optional<InstanceRecord> there;
    if (list) {
      MNEME_ASSIGN(there, list->find(dynamic_hash));
    } else if (inside != document.instances.end()) {
      there = *inside;
    }
    if (!there) {
      missing = error(Code::not_found, "the kernel {} has no instance {}", static_hash.hex(), dynamic_hash.hex());
      continue;
    }
    const InstanceRecord before = *there;
    change(dynamic_hash, *there);
    if (*there == before) continue;
    if (!list) *inside = *there;
    changed.push_back(std::move(*there));
  }
  if (what == Change::compare || changed.empty()) {
    if (changed.empty()) MNEME_TRY(missing);
    return !changed.empty();
  }
  if (list) {
    MNEME_TRY(list->append(changed));
  } else {
    MNEME_TRY(files.write_atomically(path_of(list_file_name(static_hash)),
                                     bytes_of(InstanceList::encode(static_hash, document.instances))));
    MNEME_TRY(files.write_atomically(path_of(kernel_file_name(static_hash)), bytes_of(encode_kernel(document))));
  }
  MNEME_TRY(missing);
  return true;
}

class DatabasePublication final : public Publication {
 public:
  DatabasePublication(Database::Impl& database, const PublicationOptions& options, std::unique_ptr<FileLock> use)
      : database_(database), use_(std::move(use)), limit_(options.limit), writer_(database.store, database.files, options) {}

  Status put(PageBatch batch) override { return writer_.put(std::move(batch)); }
  Status wait() override { return writer_.wait(); }

  Status commit(const Recording& recording) override {
    MNEME_TRY(check_images(recording));
    MNEME_TRY(writer_.settle());
    const InstanceRecord& instance = recording.instance;
    MNEME_ASSIGN(const ByteVector prologue, encode(Moment::prologue, instance, recording.prologue));
    MNEME_ASSIGN(const ByteVector epilogue, encode(Moment::epilogue, instance, recording.epilogue));
    Database::Impl::ImageFiles images;
    MNEME_ASSIGN(Database::Impl::Listed listed, database_.prepare_listing(recording, images));
    const Bytes needed = writer_.finished_size() + Bytes(prologue.size() + epilogue.size() + listed.growth);
    if (needed > limit_) {
      over_limit_ = true;
      return error(Code::exhausted, "the instance would add {} to the database, of which {} are allowed", needed, limit_);
    }
    MNEME_TRY(writer_.finish());
    MNEME_TRY(write_state(Moment::prologue, instance, prologue));
    MNEME_TRY(write_state(Moment::epilogue, instance, epilogue));
    return database_.list_instance(recording, images, written_);
  }

  Status keep_pages() override { return writer_.finish(); }

  Bytes written() const override { return writer_.written() + Bytes(written_); }
  bool over_limit() const override { return over_limit_ || writer_.over_limit(); }

 private:
  Result<ByteVector> encode(Moment moment, const InstanceRecord& instance, const MemoryState& memory) const {
    MNEME_ASSIGN(std::vector<Digest> packs, writer_.packs_of(memory));
    return encode_state({moment, instance.static_hash, instance.dynamic_hash, memory, std::move(packs)});
  }
  Status write_state(Moment moment, const InstanceRecord& instance, const ByteVector& bytes) {
    const Path path = database_.path_of(state_file_name(moment, instance.static_hash, instance.dynamic_hash));
    const auto before = database_.files.size(path);
    written_ += bytes.size() - (before.ok() ? std::min<uint64_t>(before->count, bytes.size()) : 0);
    return database_.files.write_atomically(path, bytes);
  }

  Database::Impl& database_;
  const std::unique_ptr<FileLock> use_;  // what it has found in the database stays there
  const Bytes limit_;
  PageWriter writer_;
  bool over_limit_ = false;
  uint64_t written_ = 0;
};

uint64_t Database::removals() const { return impl_->removals; }

Result<std::unique_ptr<Publication>> Database::begin_publication(const PublicationOptions& options) {
  MNEME_ASSIGN(auto use, impl_->files.lock(impl_->use_path(), impl_->patience, LockKind::shared));
  impl_->notice_removals();
  impl_->store.look_for_others();
  return std::unique_ptr<Publication>(new DatabasePublication(*impl_, options, std::move(use)));
}

}  // namespace mneme
