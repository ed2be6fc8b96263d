#include <algorithm>

#include "mneme/store/database_impl.h"
#include "mneme/store/page_writer.h"

namespace mneme {
namespace {

ByteSpan bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

bool lists(const KernelDocument& document, const Digest& dynamic_hash) {
  return std::any_of(document.instances.begin(), document.instances.end(),
                     [&](const InstanceRecord& i) { return i.dynamic_hash == dynamic_hash; });
}

}  // namespace

// The lock is over the kernel's file: between reading it and replacing it no other process may.
Status Database::Impl::list_instance(const Recording& recording, uint64_t& written) {
  const Digest& static_hash = recording.kernel.static_hash;
  MNEME_ASSIGN(auto lock, files.lock(lock_path()));
  KernelDocument document{recording.kernel, Bytes(recording.ir.size()), digest_of(recording.ir), {}};
  const Path path = path_of(kernel_file_name(static_hash));
  uint64_t before = 0;
  if (files.exists(path)) {
    MNEME_ASSIGN(Bytes size, files.size(path));
    before = size.count;
    MNEME_ASSIGN(document, load_document(static_hash));
    if (lists(document, recording.instance.dynamic_hash)) return {};
  } else {
    MNEME_TRY(files.write_atomically(path_of(ir_file_name(static_hash)), recording.ir));
    written += recording.ir.size();
  }
  document.instances.push_back(recording.instance);
  std::string text = encode_kernel(document);
  written += text.size() - std::min<uint64_t>(before, text.size());
  return files.write_atomically(path, bytes_of(text));
}

Status Database::set_annotations(const Digest& static_hash, const Digest& dynamic_hash,
                                 const std::vector<Annotation>& annotations) {
  MNEME_ASSIGN(auto lock, impl_->files.lock(impl_->lock_path()));
  MNEME_ASSIGN(KernelDocument document, load_document(static_hash));
  for (InstanceRecord& instance : document.instances) {
    if (instance.dynamic_hash != dynamic_hash) continue;
    if (instance.annotations == annotations) return {};
    instance.annotations = annotations;
    return impl_->files.write_atomically(impl_->path_of(kernel_file_name(static_hash)), bytes_of(encode_kernel(document)));
  }
  return error(Code::not_found, "the kernel {} has no instance {}", static_hash.hex(), dynamic_hash.hex());
}

class DatabasePublication final : public Publication {
 public:
  DatabasePublication(Database::Impl& database, const PublicationOptions& options)
      : database_(database), writer_(database.store, database.files, options) {}

  Status put(PageBatch batch) override { return writer_.put(std::move(batch)); }
  Status wait() override { return writer_.wait(); }

  Status commit(const Recording& recording) override {
    MNEME_TRY(writer_.finish());
    const InstanceRecord& instance = recording.instance;
    MNEME_TRY(write_state({Moment::prologue, instance.static_hash, instance.dynamic_hash, recording.prologue}));
    MNEME_TRY(write_state({Moment::epilogue, instance.static_hash, instance.dynamic_hash, recording.epilogue}));
    return database_.list_instance(recording, written_);
  }

  Bytes written() const override { return writer_.written() + Bytes(written_); }
  bool over_limit() const override { return writer_.over_limit(); }

 private:
  Status write_state(const StateDocument& document) {
    ByteVector bytes = encode_state(document);
    written_ += bytes.size();
    return database_.files.write_atomically(
        database_.path_of(state_file_name(document.moment, document.static_hash, document.dynamic_hash)), bytes);
  }

  Database::Impl& database_;
  PageWriter writer_;
  uint64_t written_ = 0;
};

Result<std::unique_ptr<Publication>> Database::begin_publication(const PublicationOptions& options) {
  impl_->store.refresh();
  return std::unique_ptr<Publication>(new DatabasePublication(*impl_, options));
}

}  // namespace mneme
