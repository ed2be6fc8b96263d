// Checking all of a database, and repairing it by removing what is damaged.
#include <algorithm>

#include "mneme/store/unneeded_files.h"

namespace mneme {
namespace {

// What repairing may take for damage. Anything else, as a newer format or a file that may not be read, is none.
bool is_damage(const Status& status) { return status.code() == Code::corrupt || status.code() == Code::not_found; }

class Check {
 public:
  Check(const Database& database, Database::Impl& impl, Deed deed) : database_(database), impl_(impl), deed_(deed) {}

  Result<CheckedDatabase> run() {
    std::unique_ptr<FileLock> use, lock;
    if (deed_ == Deed::remove) {
      MNEME_ASSIGN(use, database_.lock_for_removal());
      MNEME_ASSIGN(lock, impl_.files.lock(impl_.lock_path(), impl_.patience));
    } else {
      // Nobody waits for long: packs and states of an instance that is being published are in no list yet.
      if (impl_.files.exists(impl_.use_path())) {
        auto now = impl_.files.lock(impl_.use_path(), {.limit = {}});
        looks_for_unneeded_ = now.status().code() != Code::timeout;
        if (now.ok()) use = std::move(*now);
      }
    }
    MNEME_ASSIGN(const DatabaseFiles all, files_of(impl_));
    MNEME_TRY(read_kernels(all));
    if (deed_ == Deed::tell) use.reset();
    MNEME_TRY(check_packs(all));
    MNEME_TRY(check_instances());
    if (deed_ == Deed::remove) {
      MNEME_TRY(impl_.begin_removal());
      MNEME_TRY(take_out());
    }
    const IsWhole is_whole = [this](const std::string& pack, const PackedPage& page) {
      return !damaged_copies_.contains({pack, page.offset});
    };
    if (looks_for_unneeded_)
      MNEME_TRY(remove_unneeded(impl_, all, needed_, is_whole, deed_, found_.repair));
    else
      found_.repair.left.push_back("somebody records into the database: what no instance needs is not told");
    return std::move(found_);
  }

 private:
  struct Kernel {
    KernelDocument document;
    std::vector<std::optional<RecordedInstance>> memory;  // of document.instances; nothing where a state is damaged
  };

  // True: it is ok. Failures that are no damage end the check.
  Result<bool> note(const Status& status) {
    if (status.ok()) return true;
    if (!is_damage(status)) return status;
    if (std::find(found_.damage.begin(), found_.damage.end(), status.message()) == found_.damage.end())
      found_.damage.push_back(status.message());
    return false;
  }

  Status read_kernels(const DatabaseFiles& all) {
    for (const std::string& name : all.names) {
      const std::optional<Digest> static_hash = kernel_of_file(name);
      if (!static_hash) continue;
      auto document = database_.load_document(*static_hash);
      MNEME_ASSIGN(const bool is_read, note(document.status()));
      if (!is_read) {
        lose_kernel(*static_hash, "kernel " + static_hash->hex());
        continue;
      }
      Kernel kernel{std::move(*document), {}};
      for (const InstanceRecord& instance : kernel.document.instances) {
        auto recorded = database_.load_memory(instance);
        MNEME_ASSIGN(const bool is_whole, note(recorded.status()));
        kernel.memory.push_back(is_whole ? std::optional(std::move(*recorded)) : std::nullopt);
      }
      kernels_.push_back(std::move(kernel));
    }
    return {};
  }

  // Every copy of every page.
  Status check_packs(const DatabaseFiles& all) {
    ByteVector content, scratch;
    for (const std::string& name : all.packs) {
      if (!pack_of_file(name)) continue;
      const Path path = impl_.store.directory() / name;
      auto file = impl_.files.open(path);
      MNEME_ASSIGN(const bool is_there, note(file.status()));
      if (!is_there) continue;
      auto pages = read_pack(**file, path.string());
      MNEME_ASSIGN(const bool is_read, note(pages.status()));
      if (!is_read) continue;
      for (const PackedPage& page : *pages) {
        content.resize(page.size);
        MNEME_ASSIGN(const bool is_whole, note(read_page(**file, page, content, scratch, path.string())));
        if (is_whole)
          whole_[page.digest] = page.size;
        else
          damaged_copies_.insert({name, page.offset});
      }
    }
    found_.pages = whole_.size();
    return {};
  }

  Status check_instances() {
    for (Kernel& kernel : kernels_) {
      MNEME_ASSIGN(const bool has_code, check_code(kernel.document));
      if (!has_code) {
        lose_kernel(kernel.document.kernel.static_hash, "kernel " + kernel.document.kernel.demangled);
        continue;
      }
      KernelDocument rest = kernel.document;
      rest.instances.clear();
      for (size_t i = 0; i < kernel.memory.size(); ++i) {
        const InstanceRecord& instance = kernel.document.instances[i];
        MNEME_ASSIGN(const bool is_whole, check_pages(instance, kernel.memory[i]));
        if (!is_whole) {
          found_.lost.push_back(fmt::format("instance {} of {}", instance.dynamic_hash.hex(), kernel.document.kernel.demangled));
          continue;
        }
        rest.instances.push_back(instance);
        needed_.add(*kernel.memory[i]);
      }
      if (rest.instances.size() != kernel.document.instances.size()) changed_.push_back(rest);
      if (rest.instances.empty() && !kernel.document.instances.empty()) continue;
      needed_.add(rest);
      ++found_.kernels;
      found_.instances += rest.instances.size();
    }
    return {};
  }

  Result<bool> check_code(const KernelDocument& document) {
    bool whole = true;
    if (document.kernel.level == CodeLevel::ir) {
      MNEME_ASSIGN(whole, note(database_.load_ir(document.kernel.static_hash).status()));
    }
    for (const CodeImageRecord& image : document.kernel.images) {
      MNEME_ASSIGN(const bool is_whole, note(database_.load_image(image).status()));
      whole = whole && is_whole;
    }
    return whole;
  }

  Result<bool> check_pages(const InstanceRecord& instance, const std::optional<RecordedInstance>& recorded) {
    if (!recorded) return false;
    size_t missing = 0;
    for (const PageOfState& page : pages_of(*recorded)) {
      const auto found = whole_.find(page.digest);
      missing += found == whole_.end() || found->second != page.size.count;
    }
    if (missing == 0) return true;
    return note(error(Code::corrupt, "{}: {} pages of instance {} are missing or damaged", impl_.store.directory().string(),
                      missing, instance.dynamic_hash.hex()));
  }

  void lose_kernel(const Digest& static_hash, std::string name) {
    lost_kernels_.push_back(static_hash);
    found_.lost.push_back(std::move(name));
  }

  Status take_out() {
    for (const Digest& static_hash : lost_kernels_) MNEME_TRY(impl_.unlist(without_instances(static_hash)));
    for (const KernelDocument& rest : changed_) MNEME_TRY(impl_.unlist(rest));
    return impl_.files.sync_directory(impl_.directory);
  }

  const Database& database_;
  Database::Impl& impl_;
  const Deed deed_;
  bool looks_for_unneeded_ = true;
  std::vector<Kernel> kernels_;
  std::vector<Digest> lost_kernels_;
  std::vector<KernelDocument> changed_;  // with the instances that stay
  std::unordered_map<Digest, uint64_t> whole_;
  std::set<std::pair<std::string, uint64_t>> damaged_copies_;  // packs, and offsets in them
  Needed needed_;
  CheckedDatabase found_;
};

}  // namespace

Result<CheckedDatabase> Database::check_all(Deed deed) const { return Check(*this, *impl_, deed).run(); }

}  // namespace mneme
