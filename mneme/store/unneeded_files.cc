#include "mneme/store/unneeded_files.h"

#include <algorithm>
#include <array>

namespace mneme {
namespace {

constexpr std::string_view kUnneeded = "no instance needs it";

bool is_hash(std::string_view text) { return Digest::from_hex(text).ok(); }

// "<begin><hash><end>", and "<begin><hash>.<hash><end>" where there are two.
bool is_named(std::string_view name, std::string_view begin, size_t hashes, std::string_view end) {
  constexpr size_t kDigits = 32;
  if (name.size() != begin.size() + hashes * (kDigits + 1) - 1 + end.size() || !name.starts_with(begin) || !name.ends_with(end))
    return false;
  name.remove_prefix(begin.size());
  return is_hash(name.substr(0, kDigits)) &&
         (hashes == 1 || (name[kDigits] == '.' && is_hash(name.substr(kDigits + 1, kDigits))));
}

bool is_a_kernels(std::string_view name) {
  return kernel_of_file(name) || is_named(name, "Instances_", 1, ".mneme") || is_named(name, "RecordedIR_", 1, ".bc") ||
         is_named(name, "DeviceState.prologue.", 2, ".mneme") || is_named(name, "DeviceState.epilogue.", 2, ".mneme");
}

bool is_image(std::string_view name) {
  return std::ranges::any_of(std::array{".cubin", ".ptx", ".hsaco"},
                             [&](const char* end) { return is_named(name, "Image_", 1, end); });
}

class Removal {
 public:
  Removal(Database::Impl& database, const Needed& needed, const IsWhole& is_whole, Deed deed, Cleaned& cleaned)
      : database_(database), needed_(needed), is_whole_(is_whole), deed_(deed), cleaned_(cleaned) {}

  Status run(const DatabaseFiles& all) {
    for (const std::string& name : all.names) MNEME_TRY(look_at(name));
    for (const std::string& name : all.packs) MNEME_TRY(look_at_pack(name));
    if (deed_ == Deed::tell) return {};
    MNEME_TRY(database_.files.sync_directory(database_.store.directory()));
    return database_.files.sync_directory(database_.directory);
  }

 private:
  Status look_at(const std::string& name) {
    if (is_temporary(name)) return remove_left_over(database_.directory, "", name);
    if (needed_.names.contains(name)) return {};
    if (is_image(name)) return needed_.pages_known ? remove(name, std::string(kUnneeded)) : Status();
    if (!is_a_kernels(name)) return {};
    const bool is_kept = std::any_of(needed_.kept_hashes.begin(), needed_.kept_hashes.end(),
                                     [&](const std::string& hash) { return name.find(hash) != std::string::npos; });
    return is_kept ? Status() : remove(name, std::string(kUnneeded));
  }

  Status remove(const std::string& name, std::string why) {
    auto size = database_.files.size(database_.directory / name);
    if (size.status().code() == Code::not_found && !is_link(name)) return {};
    cleaned_.files.push_back({name, std::move(why), size.ok() && !is_link(name) ? *size : Bytes()});
    return deed_ == Deed::remove ? database_.files.remove(database_.directory / name) : Status();
  }

  bool is_link(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::is_symlink(database_.directory / name, ignored);
  }

  // Of a process that was killed. One that is being written is locked.
  Status remove_left_over(const Path& folder, const std::string& before, const std::string& name) {
    const Path path = folder / name;
    auto size = database_.files.size(path);
    if (deed_ == Deed::tell || !size.ok()) return {};
    MNEME_TRY(database_.files.remove_unused(path));
    if (!database_.files.exists(path)) cleaned_.files.push_back({before + name, "a process that was killed has left it", *size});
    return {};
  }

  Status look_at_pack(const std::string& name) {
    if (is_temporary(name)) return remove_left_over(database_.store.directory(), kFolder, name);
    if (!pack_of_file(name) || !needed_.pages_known) return {};
    const Path path = database_.store.directory() / name;
    if (needed_.pages.empty()) return remove(kFolder + name, std::string(kUnneeded));
    auto file = database_.files.open(path);
    if (file.status().code() == Code::not_found) return {};
    if (!file.ok()) return file.status();
    auto pages = read_pack(**file, path.string());
    if (!pages.ok() && pages.status().code() != Code::corrupt) return pages.status();
    std::vector<PackedPage> kept;
    if (pages.ok())
      std::copy_if(pages->begin(), pages->end(), std::back_inserter(kept),
                   [&](const PackedPage& page) { return needed_.pages.contains(page.digest) && is_whole_(name, page); });
    if (pages.ok() && kept.size() == pages->size() && !kept.empty()) return {};
    if (!kept.empty()) return write_anew(name, **file, std::move(kept));
    return remove(kFolder + name, pages.ok() ? std::string(kUnneeded) : "it is damaged");
  }

  // With the pages that are needed. The former pack is there until the new one is.
  Status write_anew(const std::string& name, ReadableFile& file, std::vector<PackedPage> kept) {
    const Path path = database_.store.directory() / name;
    ByteVector bytes = pack_header(), content, scratch;
    uint64_t size = bytes.size();
    for (const PackedPage& page : kept) size += page.stored;
    std::vector<PackedPage> moved = kept;
    uint64_t at = bytes.size();
    for (PackedPage& page : moved) page.offset = std::exchange(at, at + page.stored);
    Digest digest;
    const ByteVector tail = pack_tail(moved, digest);
    size += tail.size();
    const RemovedFile told{kFolder + name, "some of its pages: no instance needs them, or they are damaged",
                           Bytes(file.size().count - std::min(size, file.size().count)), true};
    if (deed_ == Deed::tell) return cleaned_.files.push_back(told), Status();
    MNEME_ASSIGN(TemporaryFile temporary, database_.files.create_temporary(database_.store.directory() / "pack"));
    auto write = [&]() -> Status {
      MNEME_TRY(temporary.file->append(bytes));
      for (const PackedPage& page : kept) {
        content.resize(page.size);
        MNEME_TRY(read_page(file, page, content, scratch, path.string()));
        const bool raw = page.encoding == PageEncoding::raw;
        MNEME_TRY(temporary.file->append(raw ? ByteSpan(content) : ByteSpan(scratch).first(page.stored)));
      }
      MNEME_TRY(temporary.file->append(tail));
      MNEME_TRY(temporary.file->sync());
      MNEME_TRY(database_.files.rename(temporary.path, database_.store.directory() / pack_file_name(digest)));
      MNEME_TRY(temporary.file->close());
      return database_.files.sync_directory(database_.store.directory());
    };
    if (Status status = write(); !status.ok()) {
      if (database_.files.exists(temporary.path)) [[maybe_unused]]
        Status ignored = database_.files.remove(temporary.path);
      if (status.code() != Code::corrupt && status.code() != Code::exhausted) return status;
      cleaned_.left.push_back(fmt::format("{}{} stays as it is: {}", kFolder, name, status.message()));
      return {};
    }
    cleaned_.files.push_back(told);
    return database_.files.remove(path);
  }

  static inline const std::string kFolder = "pages/";

  Database::Impl& database_;
  const Needed& needed_;
  const IsWhole& is_whole_;
  const Deed deed_;
  Cleaned& cleaned_;
};

}  // namespace

void Needed::add(const KernelDocument& document) {
  const KernelRecord& kernel = document.kernel;
  names.insert(kernel_file_name(kernel.static_hash));
  if (!document.lists_instances) names.insert(list_file_name(kernel.static_hash));
  if (kernel.level == CodeLevel::ir) names.insert(ir_file_name(kernel.static_hash));
  for (const CodeImageRecord& image : kernel.images) names.insert(image_file_name(image));
  for (const InstanceRecord& instance : document.instances)
    for (const Moment moment : {Moment::prologue, Moment::epilogue})
      names.insert(state_file_name(moment, instance.static_hash, instance.dynamic_hash));
}

void Needed::add(const RecordedInstance& recorded) {
  for (const PageOfState& page : pages_of(recorded)) pages.insert(page.digest);
}

KernelDocument without_instances(const Digest& static_hash) {
  KernelDocument document;
  document.kernel.static_hash = static_hash;
  return document;
}

Result<DatabaseFiles> files_of(const Database::Impl& database) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(database.store.directory(), ignored))
    return error(Code::io, "{} is a symbolic link: nothing is removed behind it", database.store.directory().string());
  DatabaseFiles all;
  MNEME_ASSIGN(all.names, database.files.list(database.directory));
  auto packs = database.files.list(database.store.directory());
  if (!packs.ok() && packs.status().code() != Code::not_found) return packs.status();
  if (packs.ok()) all.packs = std::move(*packs);
  return all;
}

Status remove_unneeded(Database::Impl& database, const DatabaseFiles& all, const Needed& needed, const IsWhole& is_whole,
                       Deed deed, Cleaned& cleaned) {
  return Removal(database, needed, is_whole, deed, cleaned).run(all);
}

}  // namespace mneme
