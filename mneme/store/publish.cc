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

struct Database::Impl::KernelFileUpdate {
  std::string text;  // of the kernel's file; empty where it lists the instance already
  bool new_kernel = false;
  uint64_t growth = 0;  // in bytes, with the IR where the kernel is new
};

Result<Database::Impl::KernelFileUpdate> Database::Impl::prepare_update(const Recording& recording) const {
  const Digest& static_hash = recording.kernel.static_hash;
  const Path path = path_of(kernel_file_name(static_hash));
  KernelDocument document{recording.kernel, Bytes(recording.ir.size()), digest_of(recording.ir), {}};
  KernelFileUpdate update;
  update.new_kernel = !files.exists(path);
  uint64_t before = 0;
  if (!update.new_kernel) {
    MNEME_ASSIGN(Bytes size, files.size(path));
    before = size.count;
    MNEME_ASSIGN(document, load_document(static_hash));
    if (lists(document, recording.instance.dynamic_hash)) return update;
  }
  document.instances.push_back(recording.instance);
  update.text = encode_kernel(document);
  update.growth = update.text.size() - std::min<uint64_t>(before, update.text.size());
  if (update.new_kernel) update.growth += recording.ir.size();
  return update;
}

// The lock is over the kernel's file: between reading it and replacing it no other process may.
Status Database::Impl::list_instance(const Recording& recording, uint64_t& written) {
  const Digest& static_hash = recording.kernel.static_hash;
  MNEME_ASSIGN(auto lock, files.lock(lock_path()));
  MNEME_ASSIGN(KernelFileUpdate update, prepare_update(recording));
  if (update.text.empty()) return {};
  if (update.new_kernel) MNEME_TRY(files.write_atomically(path_of(ir_file_name(static_hash)), recording.ir));
  written += update.growth;
  return files.write_atomically(path_of(kernel_file_name(static_hash)), bytes_of(update.text));
}

Status Database::set_annotations(const Digest& static_hash, const Digest& dynamic_hash,
                                 const std::vector<Annotation>& annotations) {
  return change_instance(static_hash, dynamic_hash, [&](InstanceRecord& instance) { instance.annotations = annotations; });
}

Status Database::set_recorded_time(const Digest& static_hash, const Digest& dynamic_hash, const RecordedTime& time) {
  return change_instance(static_hash, dynamic_hash, [&](InstanceRecord& instance) { instance.recorded_time = time; });
}

Status Database::change_instance(const Digest& static_hash, const Digest& dynamic_hash,
                                 const std::function<void(InstanceRecord&)>& change) {
  MNEME_ASSIGN(auto lock, impl_->files.lock(impl_->lock_path()));
  MNEME_ASSIGN(KernelDocument document, load_document(static_hash));
  for (InstanceRecord& instance : document.instances) {
    if (instance.dynamic_hash != dynamic_hash) continue;
    const InstanceRecord before = instance;
    change(instance);
    if (instance == before) return {};
    return impl_->files.write_atomically(impl_->path_of(kernel_file_name(static_hash)), bytes_of(encode_kernel(document)));
  }
  return error(Code::not_found, "the kernel {} has no instance {}", static_hash.hex(), dynamic_hash.hex());
}

class DatabasePublication final : public Publication {
 public:
  DatabasePublication(Database::Impl& database, const PublicationOptions& options)
      : database_(database), limit_(options.limit), writer_(database.store, database.files, options) {}

  Status put(PageBatch batch) override { return writer_.put(std::move(batch)); }
  Status wait() override { return writer_.wait(); }

  Status commit(const Recording& recording) override {
    MNEME_TRY(writer_.wait());
    const InstanceRecord& instance = recording.instance;
    const ByteVector prologue = encode_state({Moment::prologue, instance.static_hash, instance.dynamic_hash, recording.prologue}),
                     epilogue = encode_state({Moment::epilogue, instance.static_hash, instance.dynamic_hash, recording.epilogue});
    MNEME_ASSIGN(Database::Impl::KernelFileUpdate update, database_.prepare_update(recording));
    const Bytes needed = writer_.finished_size() + Bytes(prologue.size() + epilogue.size() + update.growth);
    if (needed > limit_) {
      over_limit_ = true;
      return error(Code::exhausted, "the instance would add {} to the database, of which {} are allowed", needed, limit_);
    }
    MNEME_TRY(writer_.finish());
    MNEME_TRY(write_state(Moment::prologue, instance, prologue));
    MNEME_TRY(write_state(Moment::epilogue, instance, epilogue));
    return database_.list_instance(recording, written_);
  }

  Bytes written() const override { return writer_.written() + Bytes(written_); }
  bool over_limit() const override { return over_limit_ || writer_.over_limit(); }

 private:
  Status write_state(Moment moment, const InstanceRecord& instance, const ByteVector& bytes) {
    written_ += bytes.size();
    return database_.files.write_atomically(
        database_.path_of(state_file_name(moment, instance.static_hash, instance.dynamic_hash)), bytes);
  }

  Database::Impl& database_;
  const Bytes limit_;
  PageWriter writer_;
  bool over_limit_ = false;
  uint64_t written_ = 0;
};

Result<std::unique_ptr<Publication>> Database::begin_publication(const PublicationOptions& options) {
  impl_->store.refresh();
  return std::unique_ptr<Publication>(new DatabasePublication(*impl_, options));
}

}  // namespace mneme
