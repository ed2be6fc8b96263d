// Removing instances, kernels and whole databases.
#include <algorithm>

#include "mneme/store/text.h"
#include "mneme/store/unlisted.h"
#include "mneme/store/unneeded_files.h"

namespace mneme {
namespace {

bool goes(const std::vector<KernelDocument>& gone, const Digest& static_hash, const Digest& dynamic_hash) {
  for (const KernelDocument& document : gone)
    if (document.kernel.static_hash == static_hash)
      return std::any_of(document.instances.begin(), document.instances.end(),
                         [&](const InstanceRecord& each) { return each.dynamic_hash == dynamic_hash; });
  return false;
}

}  // namespace

Result<std::unique_ptr<FileLock>> Database::lock_for_removal() const {
  MNEME_ASSIGN(auto use, impl_->files.lock(impl_->use_path(), impl_->patience, LockKind::exclusive));
  // Whoever has recorded until now may have been killed, and has left launches that are complete.
  MNEME_ASSIGN(const std::vector<std::string> names, impl_->files.list(impl_->directory));
  if (!recover_unlisted(*impl_, names, UseLock::held))
    return error(Code::io, "removing from {}: launches that a killed recording has left cannot be listed, and would be lost",
                 impl_->directory.string());
  return use;
}

Status Database::Impl::begin_removal() {
  MNEME_ASSIGN(const Bytes size, files.size(use_path()));
  MNEME_ASSIGN(auto file, files.open_to_change(use_path()));
  constexpr std::byte kOne{'\n'};
  return file->write(size.count, {&kOne, 1});
}

Status Database::Impl::unlist(const KernelDocument& rest) {
  const Digest& static_hash = rest.kernel.static_hash;
  // A list names nothing that is removed, not even when its kernel's file is removed and made again.
  MNEME_TRY(
      files.write_atomically(path_of(list_file_name(static_hash)), bytes_of(InstanceList::encode(static_hash, rest.instances))));
  const Path file = path_of(kernel_file_name(static_hash));
  if (rest.instances.empty()) return files.remove(file);
  return rest.lists_instances ? files.write_atomically(file, bytes_of(encode_kernel(rest))) : Status();
}

Result<Cleaned> Database::clean(const std::vector<KernelDocument>& gone, Deed deed) {
  std::unique_ptr<FileLock> use, lock;
  if (deed == Deed::remove) {
    MNEME_ASSIGN(use, lock_for_removal());
    MNEME_ASSIGN(lock, impl_->files.lock(impl_->lock_path(), impl_->patience));
  }
  MNEME_ASSIGN(const DatabaseFiles all, files_of(*impl_));
  MNEME_ASSIGN(const Listing listing, list());
  Cleaned cleaned;
  Needed needed;
  std::vector<KernelDocument> changed;
  for (KernelDocument rest : listing.kernels) {
    const bool is_named = std::any_of(gone.begin(), gone.end(), [&](const KernelDocument& document) {
      return document.kernel.static_hash == rest.kernel.static_hash;
    });
    const size_t before = rest.instances.size();
    std::erase_if(rest.instances, [&](const InstanceRecord& i) { return goes(gone, i.static_hash, i.dynamic_hash); });
    if (rest.instances.size() != before || (is_named && rest.instances.empty())) changed.push_back(rest);
    if (is_named && rest.instances.empty()) continue;
    needed.add(rest);
    for (const InstanceRecord& instance : rest.instances) {
      auto recorded = load_memory(instance);
      if (recorded.ok()) needed.add(*recorded);
      if (!recorded.ok())
        needed.pages_known = false, cleaned.left.push_back("pages and images are left: " + recorded.status().message());
    }
  }
  for (const std::string& name : all.names)
    if (const auto hash = kernel_of_file(name))
      if (std::none_of(listing.kernels.begin(), listing.kernels.end(),
                       [&](const KernelDocument& document) { return document.kernel.static_hash == *hash; }))
        needed.kept_hashes.insert(hash->hex());
  for (const Status& damage : listing.damaged)
    needed.pages_known = false, cleaned.left.push_back("pages and images are left: " + damage.message());
  if (deed == Deed::remove) {
    MNEME_TRY(impl_->begin_removal());
    for (const KernelDocument& rest : changed) MNEME_TRY(impl_->unlist(rest));
    MNEME_TRY(impl_->files.sync_directory(impl_->directory));
  }
  MNEME_TRY(remove_unneeded(*impl_, all, needed, [](const std::string&, const PackedPage&) { return true; }, deed, cleaned));
  return cleaned;
}

Result<Cleaned> Database::remove_all(Deed deed) {
  MNEME_ASSIGN(DatabaseFiles all, files_of(*impl_));
  std::unique_ptr<FileLock> use, lock;
  if (deed == Deed::remove) {
    MNEME_ASSIGN(use, lock_for_removal());
    MNEME_ASSIGN(lock, impl_->files.lock(impl_->lock_path(), impl_->patience));
    MNEME_TRY(impl_->begin_removal());
    for (const std::string& name : all.names)
      if (const auto hash = kernel_of_file(name)) MNEME_TRY(impl_->unlist(without_instances(*hash)));
    MNEME_ASSIGN(all, files_of(*impl_));
  }
  Cleaned cleaned;
  MNEME_TRY(remove_unneeded(*impl_, all, {}, [](const std::string&, const PackedPage&) { return true; }, deed, cleaned));
  for (const std::string& name : all.names) {
    const bool is_own = name == kArchiveHeaderName || name == Impl::kLockName || name == Impl::kUseName;
    const auto size = impl_->files.size(impl_->directory / name);
    if (is_own && deed == Deed::remove) MNEME_TRY(impl_->files.remove(impl_->directory / name));
    if (is_own && size.ok()) cleaned.files.push_back({name, "the whole database goes", *size});
  }
  if (deed == Deed::tell) return cleaned;
  std::error_code ignored;
  std::filesystem::remove(impl_->store.directory(), ignored);  // unless something is in it
  if (!std::filesystem::remove(impl_->directory, ignored))
    cleaned.left.push_back(fmt::format("{} stays: it holds files that are no database's", impl_->directory.string()));
  return cleaned;
}

}  // namespace mneme
