#include "mneme/store/import.h"

#include <cstring>
#include <iterator>

#include "mneme/base/shown.h"

namespace mneme {
namespace {

constexpr uint64_t kBatchBytes = 4 << 20;

}  // namespace

Status refusal(const ImportedInstance& instance, const Path& database) {
  return error(Code::incompatible, "instance {} of {} is not taken: the database {} has it already, and they differ in {}",
               instance.dynamic_hash.hex(), shown(instance.kernel), database.string(), instance.difference);
}

std::string difference_between(const RecordedInstance& a, const RecordedInstance& b) {
  if (a.instance.dynamic_hash != b.instance.dynamic_hash) return "what they keep of the memory: one of them was trimmed";
  InstanceRecord launch = a.instance;
  launch.annotations = b.instance.annotations;
  launch.device_kind = b.instance.device_kind;
  launch.device_name = b.instance.device_name;
  launch.recorded_at = b.instance.recorded_at;
  launch.mneme_version = b.instance.mneme_version;
  launch.recorded_time = b.instance.recorded_time;
  launch.shape_launches = b.instance.shape_launches;
  launch.trimmed = b.instance.trimmed;
  if (launch != b.instance) return "the launch";
  if (a.prologue != b.prologue) return "the memory before the launch";
  if (a.epilogue != b.epilogue) return "the memory after the launch";
  return a.instance.annotations == b.instance.annotations ? "" : "the annotations";
}

Status DatabaseImport::begin_kernel(SentKernel sent) {
  const auto there = into_.load_kernel(sent.document.kernel.static_hash);
  if (there.ok() && there->level != CodeLevel::ir && sent.document.kernel.level == CodeLevel::ir)
    MNEME_TRY(into_.add_ir(sent.document.kernel, sent.ir));
  kernel_.kernel = std::move(sent.document.kernel);
  kernel_.ir = std::move(sent.ir);
  kernel_.images.assign(std::make_move_iterator(sent.images.begin()), std::make_move_iterator(sent.images.end()));
  return {};
}

Result<bool> DatabaseImport::wants(const RecordedInstance& recorded) {
  const InstanceRecord& instance = recorded.instance;
  MNEME_ASSIGN(const bool is_there, into_.has_instance(instance.static_hash, instance.dynamic_hash));
  if (!is_there) return true;
  MNEME_ASSIGN(const RecordedInstance there, into_.load_instance(instance.static_hash, instance.dynamic_hash));
  const std::string difference = difference_between(there, recorded);
  tell_({difference.empty() ? ImportedInstance::Outcome::there_already : ImportedInstance::Outcome::refused,
         kernel_.kernel.demangled, instance.static_hash, instance.dynamic_hash, difference});
  return false;
}

Status DatabaseImport::begin_publication() {
  if (publication_) return {};
  MNEME_ASSIGN(publication_, into_.begin_publication());
  return {};
}

Status DatabaseImport::put_page(const StoredPage& page) {
  batch_bytes_ += page.content.size();
  batch_.push_back(page);
  return batch_bytes_ < kBatchBytes ? Status() : end_batch();
}

Status DatabaseImport::end_batch() {
  if (batch_.empty()) return {};
  MNEME_TRY(begin_publication());
  PageBatch batch{std::make_unique<std::byte[]>(batch_bytes_), {}};
  std::byte* at = batch.bytes.get();
  for (const StoredPage& page : batch_) {
    std::memcpy(at, page.content.data(), page.content.size());
    at += page.content.size();
    batch.pages.push_back({page.content.size(), &digests_.emplace_back()});
  }
  batch_.clear();
  batch_bytes_ = 0;
  return publication_->put(std::move(batch));
}

Status DatabaseImport::put_instance(const RecordedInstance& recorded) {
  MNEME_TRY(end_batch());
  MNEME_ASSIGN(const bool wanted, wants(recorded));
  if (!wanted) return {};
  MNEME_TRY(begin_publication());
  kernel_.instance = recorded.instance;
  kernel_.prologue = recorded.prologue;
  kernel_.epilogue = recorded.epilogue;
  MNEME_TRY(publication_->commit(kernel_));
  publication_.reset();
  digests_.clear();
  tell_({ImportedInstance::Outcome::imported, kernel_.kernel.demangled, recorded.instance.static_hash,
         recorded.instance.dynamic_hash, ""});
  return {};
}

}  // namespace mneme
