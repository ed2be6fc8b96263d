#include <algorithm>

#include "mneme/store/commit_group.h"
#include "mneme/store/database_publication.h"
#include "mneme/store/text.h"
#include "mneme/store/unlisted.h"

namespace mneme {
namespace {

template <class T>
std::vector<Digest> keys_of(const std::map<Digest, T>& values) {
  std::vector<Digest> keys;
  for (const auto& [key, value] : values) keys.push_back(key);
  return keys;
}

}  // namespace

Status Database::set_annotations(const Digest& static_hash, const Digest& dynamic_hash,
                                 const std::vector<Annotation>& annotations) {
  return change_instances({{static_hash, {dynamic_hash}}},
                          [&](const Digest&, const Digest&, InstanceRecord& instance) { instance.annotations = annotations; });
}

Status Database::set_recorded_times(const Digest& static_hash, const std::map<Digest, RecordedTime>& times) {
  return change_instances({{static_hash, keys_of(times)}}, [&](const Digest&, const Digest& hash, InstanceRecord& instance) {
    instance.recorded_time = times.at(hash);
  });
}

Status Database::set_shape_launches(const LaunchesOfKernels& launches) {
  InstancesOfKernels instances;
  for (const auto& [static_hash, of_kernel] : launches) instances[static_hash] = keys_of(of_kernel);
  return change_instances(instances, [&](const Digest& static_hash, const Digest& hash, InstanceRecord& instance) {
    instance.shape_launches = launches.at(static_hash).at(hash);
  });
}

Status Database::add_trimmed(const Digest& static_hash, const Digest& dynamic_hash, const std::vector<Digest>& of) {
  return change_instances({{static_hash, {dynamic_hash}}}, [&](const Digest&, const Digest&, InstanceRecord& instance) {
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

// A kernel that cannot be read, and an instance that is not there, leave the others to be changed.
Status Database::change_instances(const InstancesOfKernels& instances, const ChangeInstance& change) {
  Status first;
  const auto note = [&](const Status& status) {
    if (first.ok()) first = status;
  };
  // Most often nothing is to be changed, for which nobody need wait.
  InstancesOfKernels differing;
  for (const auto& [static_hash, dynamic_hashes] : instances) {
    auto found = impl_->find_changes(static_hash, dynamic_hashes, change);
    note(found.ok() ? found->missing : found.status());
    if (!found.ok() || found->lines.instances.empty()) continue;
    for (const InstanceRecord& instance : found->lines.instances) differing[static_hash].push_back(instance.dynamic_hash);
  }
  if (differing.empty()) return first;
  MNEME_ASSIGN(auto lock, impl_->files.lock(impl_->lock_path(), impl_->patience));
  std::vector<Impl::Changed> all;
  for (const auto& [static_hash, ignored] : differing) {
    auto found = impl_->find_changes(static_hash, instances.at(static_hash), change);
    note(found.status());
    if (found.ok()) all.push_back(std::move(*found));
  }
  note(impl_->write_changes(std::move(all)));
  return first;
}

Result<Database::Impl::Changed> Database::Impl::find_changes(const Digest& static_hash, const std::vector<Digest>& dynamic_hashes,
                                                             const ChangeInstance& change) {
  Changed changed;
  MNEME_ASSIGN(changed.document, load_head(static_hash));
  std::vector<InstanceRecord>& inside = changed.document.instances;
  std::vector<std::optional<InstanceRecord>> found;
  if (!changed.document.lists_instances) {
    MNEME_ASSIGN(changed.lines.list, open_list(changed.document.kernel));
    MNEME_ASSIGN(found, changed.lines.list->find_all(dynamic_hashes));
  } else {
    for (const Digest& dynamic_hash : dynamic_hashes) {
      const auto one = std::ranges::find(inside, dynamic_hash, &InstanceRecord::dynamic_hash);
      found.push_back(one == inside.end() ? std::nullopt : std::optional(*one));
    }
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) {
      changed.missing = error(Code::not_found, "the kernel {} has no instance {}", static_hash.hex(), dynamic_hashes[i].hex());
      continue;
    }
    const InstanceRecord before = *found[i];
    change(static_hash, dynamic_hashes[i], *found[i]);
    if (*found[i] == before) continue;
    if (!changed.lines.list) *std::ranges::find(inside, before.dynamic_hash, &InstanceRecord::dynamic_hash) = *found[i];
    changed.lines.instances.push_back(std::move(*found[i]));
  }
  return changed;
}

Status Database::Impl::write_changes(std::vector<Changed> all) {
  Status first;
  const auto note = [&](const Status& status) {
    if (first.ok()) first = status;
  };
  std::vector<InstanceList::Lines> lines;
  for (Changed& one : all) {
    if (one.lines.instances.empty()) continue;
    if (one.lines.list) {
      lines.push_back(std::move(one.lines));
      continue;
    }
    const Digest& static_hash = one.document.kernel.static_hash;
    Status written = files.write_atomically(path_of(list_file_name(static_hash)),
                                            bytes_of(InstanceList::encode(static_hash, one.document.instances)));
    if (written.ok())
      written = files.write_atomically(path_of(kernel_file_name(static_hash)), bytes_of(encode_kernel(one.document)));
    note(written);
  }
  for (const Status& appended : InstanceList::append_all(files, lines)) note(appended);
  return first;
}

Status DatabasePublication::check(const Recording& recording) {
  if (!records_of_kernel_.empty()) return {};
  const KernelRecord& kernel = recording.kernel;
  if (kernel.images.size() != recording.images.size())
    return error(Code::invalid_argument, "publishing the kernel {}: {} images are recorded, and the bytes of {} are given",
                 kernel.name, kernel.images.size(), recording.images.size());
  for (size_t i = 0; i < kernel.images.size(); ++i)
    if (!database_.is_image(kernel.images[i], recording.images[i]))
      return error(Code::invalid_argument, "publishing the kernel {}: the bytes of image {} are not those that its record names",
                   kernel.name, i);
  records_of_kernel_ = encode_kernel({kernel, {}, {}, {}});
  return {};
}

Status DatabasePublication::prepare(const Recording& recording) {
  if (!states_.empty()) return {};
  MNEME_TRY(check(recording));
  records_ = encode_unlisted_records(records_of_kernel_, recording.instance);
  std::vector<PendingFile> states;
  states.reserve(2);
  for (const auto& [moment, kind] :
       {std::pair(Moment::prologue, ReadyFiles::Kind::prologue), std::pair(Moment::epilogue, ReadyFiles::Kind::epilogue)}) {
    Path path = database_.path_of(state_file_name(moment, recording.instance.static_hash, recording.instance.dynamic_hash));
    MNEME_ASSIGN(TemporaryFile temporary, ready_files_->take(kind));
    states.emplace_back(database_.files, std::move(path), std::move(temporary));
  }
  states_ = std::move(states);
  return {};
}

bool Database::Impl::is_image(const CodeImageRecord& record, const SharedBytes& bytes) {
  {
    std::lock_guard lock(mutex);
    if (const auto known = images.find(record.digest); known != images.end() && bytes.is(known->second)) return true;
  }
  if (record.size.count != bytes.size() || record.digest != digest_of(bytes)) return false;
  std::lock_guard lock(mutex);
  images[record.digest] = bytes.identity();
  return true;
}

Status DatabasePublication::commit(const Recording& recording) {
  CommitGroup group(database_, CommitGroup::Unfinished::lost);
  MNEME_TRY(group.add(*this, recording));
  return group.finish()[0];
}

std::shared_ptr<ReadyFiles> Database::Impl::ready_files() {
  std::lock_guard lock(mutex);
  auto shared = ready.lock();
  if (!shared)
    ready = shared = std::make_shared<ReadyFiles>(
        files, std::array{store.directory() / "pack", path_of(std::string(state_file_prefix(Moment::prologue))),
                          path_of(std::string(state_file_prefix(Moment::epilogue)))});
  return shared;
}

uint64_t Database::removals() const { return impl_->removals; }

Result<std::unique_ptr<Publication>> Database::begin_publication(const PublicationOptions& options) {
  MNEME_ASSIGN(auto use, impl_->files.lock(impl_->use_path(), impl_->patience, LockKind::shared));
  impl_->notice_removals();
  impl_->store.look_for_others();
  return std::unique_ptr<Publication>(new DatabasePublication(*impl_, options, std::move(use)));
}

}  // namespace mneme
