// A file system whose machine can lose its power: forget() leaves what had been synced, and nothing else.
//
// The content of a file is kept by syncing the file, and its name, a new one as well as one that is gone, by syncing its folder.
// This is stricter than most file systems are. Files that were there before it are kept as they are. For one thread.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "mneme/base/file_system.h"

namespace mneme::testing_base {

class ForgetfulFileSystem final : public FileSystem {
 public:
  explicit ForgetfulFileSystem(FileSystem& inner = FileSystem::posix()) : inner_(inner) {}

  // The power is gone and has come back.
  void forget() {
    for (const auto& [path, content] : names_)
      if (content) [[maybe_unused]]
        Status removed = inner_.remove(path);
    for (const auto& [path, content] : kept_)
      if (content)
        std::ofstream(path, std::ios::binary | std::ios::trunc)
            .write(reinterpret_cast<const char*>(content->synced.data()), static_cast<std::streamsize>(content->synced.size()));
    names_ = kept_;
  }

  Result<std::unique_ptr<ReadableFile>> open(const Path& path) override { return inner_.open(path); }
  Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    know(path);
    MNEME_ASSIGN(auto file, inner_.create(path));
    std::shared_ptr<Content>& content = names_[path];
    if (!content) content = std::make_shared<Content>();
    return std::unique_ptr<WritableFile>(new File(std::move(file), content));
  }
  Result<std::unique_ptr<WritableFile>> create_new(const Path& path) override {
    know(path);
    MNEME_ASSIGN(auto file, inner_.create_new(path));
    if (!file) return file;
    const auto content = names_[path] = std::make_shared<Content>();
    return std::unique_ptr<WritableFile>(new File(std::move(file), content));
  }
  Result<std::unique_ptr<ChangeableFile>> open_to_change(const Path& path) override {
    know(path);
    MNEME_ASSIGN(ByteVector before, inner_.read(path));
    MNEME_ASSIGN(auto file, inner_.open_to_change(path));
    return std::unique_ptr<ChangeableFile>(new Changeable(std::move(file), names_[path], std::move(before)));
  }
  Status rename(const Path& from, const Path& to) override {
    know(from), know(to);
    MNEME_TRY(inner_.rename(from, to));
    names_[to] = std::exchange(names_[from], nullptr);
    return {};
  }
  Status remove(const Path& path) override {
    know(path);
    MNEME_TRY(inner_.remove(path));
    names_[path] = nullptr;
    return {};
  }
  Status remove_unused(const Path& path) override {
    know(path);
    MNEME_TRY(inner_.remove_unused(path));
    if (!inner_.exists(path)) names_[path] = nullptr;
    return {};
  }
  Status create_directories(const Path& path) override { return inner_.create_directories(path); }
  Status sync_directory(const Path& directory) override {
    MNEME_TRY(inner_.sync_directory(directory));
    for (const auto& [path, content] : names_)
      if (path.parent_path() == directory) kept_[path] = content;
    return {};
  }
  Result<std::vector<std::string>> list(const Path& directory) override { return inner_.list(directory); }
  bool exists(const Path& path) override { return inner_.exists(path); }
  Result<Bytes> size(const Path& path) override { return inner_.size(path); }
  using FileSystem::lock;
  Result<std::unique_ptr<FileLock>> lock(const Path& path, const LockPatience& patience, LockKind kind) override {
    return inner_.lock(path, patience, kind);
  }

 private:
  struct Content {
    ByteVector synced;
  };
  // Names of files; one that is gone has no content.
  using Names = std::map<Path, std::shared_ptr<Content>>;

  class File final : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> inner, std::shared_ptr<Content> content)
        : inner_(std::move(inner)), content_(std::move(content)) {}
    Status append(ByteSpan bytes) override {
      written_.insert(written_.end(), bytes.begin(), bytes.end());
      return inner_->append(bytes);
    }
    Status sync() override {
      content_->synced = written_;
      return inner_->sync();
    }
    Status close() override { return inner_->close(); }

   private:
    std::unique_ptr<WritableFile> inner_;
    std::shared_ptr<Content> content_;
    ByteVector written_;
  };

  class Changeable final : public ChangeableFile {
   public:
    Changeable(std::unique_ptr<ChangeableFile> inner, std::shared_ptr<Content> content, ByteVector written)
        : inner_(std::move(inner)), content_(std::move(content)), written_(std::move(written)) {}
    Status write(uint64_t offset, ByteSpan bytes) override {
      written_.resize(std::max<size_t>(written_.size(), offset + bytes.size()));
      std::copy(bytes.begin(), bytes.end(), written_.begin() + static_cast<std::ptrdiff_t>(offset));
      return inner_->write(offset, bytes);
    }
    Status sync() override {
      content_->synced = written_;
      return inner_->sync();
    }

   private:
    std::unique_ptr<ChangeableFile> inner_;
    std::shared_ptr<Content> content_;
    ByteVector written_;
  };

  // A file that was there before the first operation on it is on the disk.
  void know(const Path& path) {
    if (names_.contains(path)) return;
    std::shared_ptr<Content> content;
    if (auto bytes = inner_.read(path); bytes.ok()) content = std::make_shared<Content>(Content{std::move(*bytes)});
    names_[path] = kept_[path] = content;
  }

  FileSystem& inner_;
  Names names_, kept_;
};

}  // namespace mneme::testing_base
