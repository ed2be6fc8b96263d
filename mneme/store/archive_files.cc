#include "mneme/store/archive_files.h"

#include <set>

namespace mneme {
namespace {

class PartOfFile final : public ReadableFile {
 public:
  PartOfFile(ReadableFile& whole, TarPlace place) : whole_(whole), place_(std::move(place)) {}
  Bytes size() const override { return place_.size; }
  Status read(uint64_t offset, MutableByteSpan into) override {
    if (offset > place_.size.count || into.size() > place_.size.count - offset)
      return error(Code::corrupt, "{}: offset {}: the file ends before", place_.name, place_.size.count);
    return whole_.read(place_.offset + offset, into);
  }

 private:
  ReadableFile& whole_;
  const TarPlace place_;
};

Status not_to_be_changed(const Path& path) {
  return error(Code::unsupported, "changing {}: it is a part of an archive", path.string());
}

}  // namespace

Result<std::unique_ptr<ArchiveFiles>> ArchiveFiles::open(std::unique_ptr<ReadableFile> file, uint64_t offset, Bytes size,
                                                         Path folder) {
  MNEME_ASSIGN(std::vector<TarPlace> places, find_entries(*file, offset, size, folder.string()));
  std::unique_ptr<ArchiveFiles> files(new ArchiveFiles(std::move(file)));
  for (TarPlace& place : places) {
    std::string path = (folder / place.name).string();
    files->places_.emplace(std::move(path), std::move(place));
  }
  return files;
}

Result<TarPlace> ArchiveFiles::find(const Path& path) const {
  const auto found = places_.find(path.string());
  if (found == places_.end()) return error(Code::not_found, "the archive has no file {}", path.string());
  return found->second;
}

Result<std::unique_ptr<ReadableFile>> ArchiveFiles::open(const Path& path) {
  MNEME_ASSIGN(TarPlace place, find(path));
  place.name = path.string();
  return std::unique_ptr<ReadableFile>(new PartOfFile(*file_, std::move(place)));
}

Result<std::vector<std::string>> ArchiveFiles::list(const Path& directory) {
  const std::string inside = directory.string() + "/";
  std::set<std::string> names;
  for (auto at = places_.lower_bound(inside); at != places_.end() && at->first.starts_with(inside); ++at) {
    const std::string rest = at->first.substr(inside.size());
    names.insert(rest.substr(0, rest.find('/')));
  }
  if (names.empty()) return error(Code::not_found, "the archive has no folder {}", directory.string());
  return std::vector<std::string>(names.begin(), names.end());
}

bool ArchiveFiles::exists(const Path& path) { return find(path).ok() || list(path).ok(); }

Result<Bytes> ArchiveFiles::size(const Path& path) {
  MNEME_ASSIGN(const TarPlace place, find(path));
  return place.size;
}

Result<std::unique_ptr<WritableFile>> ArchiveFiles::create(const Path& path) { return not_to_be_changed(path); }
Result<std::unique_ptr<WritableFile>> ArchiveFiles::create_new(const Path& path) { return not_to_be_changed(path); }
Result<std::unique_ptr<ChangeableFile>> ArchiveFiles::open_to_change(const Path& path) { return not_to_be_changed(path); }
Status ArchiveFiles::rename(const Path& from, const Path&) { return not_to_be_changed(from); }
Status ArchiveFiles::remove(const Path& path) { return not_to_be_changed(path); }
Status ArchiveFiles::remove_unused(const Path& path) { return not_to_be_changed(path); }
Status ArchiveFiles::create_directories(const Path& path) { return not_to_be_changed(path); }
Status ArchiveFiles::sync_directory(const Path& path) { return not_to_be_changed(path); }
Result<std::unique_ptr<FileLock>> ArchiveFiles::lock(const Path& path, const LockPatience&, LockKind) {
  return not_to_be_changed(path);
}

}  // namespace mneme
