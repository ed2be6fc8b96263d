#include "mneme/base/disk_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace mneme {
namespace {

using testing::HasSubstr;

Digest key_of(uint64_t number) { return Hasher().add(number).finish(); }

// What is stored under a key: its size varies, and a byte of another key's content would be seen.
ByteVector content_of(uint64_t number) { return ByteVector(500 + number % 700, static_cast<std::byte>(number)); }

class DiskCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("mneme-disk-cache-{}-{}", testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  DiskCache cache(Bytes limit = 1_MiB) { return DiskCache({folder_, limit}); }
  // What the file `usage` says.
  uint64_t count() const {
    uint64_t value = 0;
    auto bytes = FileSystem::posix().read(folder_ / "usage");
    EXPECT_TRUE(bytes.ok() && bytes->size() == sizeof value);
    if (bytes.ok() && bytes->size() == sizeof value) std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  }
  void set_count(uint64_t value) const {
    auto file = FileSystem::posix().create(folder_ / "usage");
    ASSERT_TRUE(file.ok() && (*file)->append(std::as_bytes(std::span(&value, 1))).ok());
  }
  Path path_of(uint64_t number) const {
    const std::string name = key_of(number).hex();
    return folder_ / name.substr(0, 2) / name;
  }

  Path folder_;
};

TEST_F(DiskCacheTest, GivesBackWhatWasPut) {
  DiskCache cache = this->cache();
  EXPECT_EQ(cache.read(key_of(1)), std::nullopt);
  cache.put(key_of(1), content_of(1));
  cache.put(key_of(2), {});
  EXPECT_EQ(cache.read(key_of(1)), content_of(1));
  EXPECT_EQ(cache.read(key_of(2)), ByteVector());
  cache.put(key_of(1), content_of(9));
  EXPECT_EQ(this->cache().read(key_of(1)), content_of(9));
  cache.drop(key_of(1));
  EXPECT_EQ(cache.read(key_of(1)), std::nullopt);
}

TEST_F(DiskCacheTest, ADamagedEntryIsNotThereAndIsRemoved) {
  DiskCache cache = this->cache();
  const size_t size = content_of(1).size() + 56;
  for (size_t at = 0; at < size; at += 3) {
    cache.put(key_of(1), content_of(1));
    {
      std::FILE* file = std::fopen(path_of(1).c_str(), "r+b");
      std::fseek(file, static_cast<long>(at), SEEK_SET);
      const int byte = std::fgetc(file);
      std::fseek(file, static_cast<long>(at), SEEK_SET);
      std::fputc(byte ^ 0x10, file);
      std::fclose(file);
    }
    EXPECT_EQ(cache.read(key_of(1)), std::nullopt) << at;
    EXPECT_FALSE(std::filesystem::exists(path_of(1))) << at;
  }
  for (size_t left : {size_t{0}, size_t{20}, size_t{56}, size - 1}) {
    cache.put(key_of(1), content_of(1));
    std::filesystem::resize_file(path_of(1), left);
    EXPECT_EQ(cache.read(key_of(1)), std::nullopt) << left;
  }
}

TEST_F(DiskCacheTest, AnEntryUnderAnotherKeysNameIsNotThere) {
  DiskCache cache = this->cache();
  cache.put(key_of(1), content_of(1));
  std::filesystem::create_directories(path_of(2).parent_path());
  std::filesystem::copy_file(path_of(1), path_of(2));
  EXPECT_EQ(cache.read(key_of(2)), std::nullopt);
}

TEST_F(DiskCacheTest, StaysBelowItsLimitAndKeepsWhatWasUsedLast) {
  DiskCache cache = this->cache(64_KiB);
  cache.put(key_of(0), content_of(0));
  for (uint64_t i = 1; i < 300; ++i) {
    cache.put(key_of(i), content_of(i));
    ASSERT_TRUE(cache.read(key_of(0)).has_value()) << i;  // used again and again
  }
  const DiskCache::Usage usage = cache.usage();
  EXPECT_LE(usage.size, 64_KiB);
  EXPECT_GE(usage.size, 40_KiB);
  EXPECT_TRUE(cache.read(key_of(299)).has_value());
  EXPECT_FALSE(cache.read(key_of(1)).has_value());
}

TEST_F(DiskCacheTest, WhatIsTooLargeIsNotStored) {
  DiskCache cache = this->cache(4_KiB);
  cache.put(key_of(1), ByteVector(1025));
  EXPECT_EQ(cache.read(key_of(1)), std::nullopt);
  cache.put(key_of(1), ByteVector(1024));
  EXPECT_EQ(cache.read(key_of(1)), ByteVector(1024)) << "a quarter of the limit";
}

TEST_F(DiskCacheTest, TheCountIsTheSizeOfItsFiles) {
  DiskCache cache = this->cache();
  cache.put(key_of(1), content_of(1));  // of a new folder: scanned
  uint64_t expected = 0;
  for (uint64_t i = 2; i < 8; ++i) {
    const uint64_t before = count();
    cache.put(key_of(i), content_of(i));
    EXPECT_EQ(count() - before, content_of(i).size() + 56) << "with its header";
    expected += content_of(i).size() + 56;
  }
  expected += content_of(1).size() + 56;
  EXPECT_EQ(cache.usage().size, Bytes(expected));
  auto removed = cache.clear();
  ASSERT_TRUE(removed.ok()) << removed.status().to_string();
  EXPECT_EQ(removed->size, Bytes(expected));
}

TEST_F(DiskCacheTest, ACountThatIsWrongIsPutRight) {
  {
    DiskCache cache = this->cache();
    cache.put(key_of(1), content_of(1));
  }
  for (const char* text : {"", "xx", "\xff\xff\xff\xff\xff\xff\xff\x7f"}) {
    std::FILE* file = std::fopen((folder_ / "usage").c_str(), "wb");
    std::fputs(text, file);
    std::fclose(file);
    DiskCache cache = this->cache();
    cache.put(key_of(2), content_of(2));
    EXPECT_LE(count(), 4000u) << text;
    EXPECT_TRUE(cache.read(key_of(1)).has_value());
  }
}

TEST_F(DiskCacheTest, ProcessesThatDieWhileWritingLeaveNothingForEver) {
  DiskCache cache = this->cache(8_KiB);
  cache.put(key_of(0), content_of(0));
  const Path torn = folder_ / "tmp" / "torn", fresh = folder_ / "tmp" / "fresh";
  for (const Path& path : {torn, fresh}) std::fclose(std::fopen(path.c_str(), "wb"));
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(torn, now - std::chrono::hours(2));
  std::filesystem::last_write_time(fresh, now - std::chrono::minutes(30));
  for (uint64_t i = 1; i < 30; ++i) cache.put(key_of(i), content_of(i));
  EXPECT_FALSE(std::filesystem::exists(torn));
  EXPECT_TRUE(std::filesystem::exists(fresh)) << "another process may be writing it";
}

TEST_F(DiskCacheTest, WhatProcessesThatDiedLeftIsRemovedHoweverLittleThereIs) {
  DiskCache cache = this->cache();
  cache.put(key_of(1), content_of(1));
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(path_of(1), now - std::chrono::hours(3));
  const Path torn = folder_ / "tmp" / "torn";
  std::fclose(std::fopen(torn.c_str(), "wb"));
  std::filesystem::last_write_time(torn, now - std::chrono::hours(2));
  EXPECT_EQ(cache.usage().entries, 1u) << "it is no entry";
  set_count(~uint64_t{0} / 2);  // which has the folder scanned
  cache.put(key_of(2), content_of(2));
  EXPECT_FALSE(std::filesystem::exists(torn));
  EXPECT_TRUE(cache.read(key_of(1)).has_value());
}

// Another process may do the same at any moment.
TEST_F(DiskCacheTest, WhatAnotherHasRemovedMeanwhileIsGoneAndNoFailure) {
  cache().put(key_of(0), content_of(0));
  auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    if (operation != "remove") return Status();
    std::filesystem::remove(path);
    return error(Code::not_found, "removing {}: No such file or directory", path.string());
  });
  DiskCache cache({folder_, 16_KiB}, *files);
  for (uint64_t i = 1; i < 60; ++i) {
    cache.put(key_of(i), content_of(i));
    EXPECT_LE(cache.usage().size, 16_KiB) << i;
    if (i > 30) EXPECT_GE(cache.usage().size, 8_KiB) << i << ": no more is removed than has to be";
  }
  auto removed = cache.clear();
  ASSERT_TRUE(removed.ok()) << removed.status().to_string();
  EXPECT_EQ(cache.usage().entries, 0u);
  EXPECT_EQ(count(), 0u);
}

TEST_F(DiskCacheTest, WhatAnotherAddsWhileOneRemovesIsCounted) {
  std::optional<DiskCache> other;
  uint64_t added = 0;
  auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    if (operation == "remove" && added++ == 0) other->put(key_of(1000), content_of(1000));
    return Status();
  });
  other.emplace(CachePlace{folder_, 16_KiB});
  DiskCache cache({folder_, 16_KiB}, *files);
  for (uint64_t i = 0; i < 40 && added == 0; ++i) cache.put(key_of(i), content_of(i));
  ASSERT_GT(added, 0u);
  EXPECT_TRUE(other->read(key_of(1000)).has_value());
  EXPECT_EQ(Bytes(count()), cache.usage().size);
}

// Else each that is added would have all of it looked at again.
TEST_F(DiskCacheTest, WhatCannotBeRemovedIsNotTriedForEachThatIsAdded) {
  int tries = 0;
  auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    return operation == "remove" ? ++tries, error(Code::io, "removing {}: Operation not permitted", path.string()) : Status();
  });
  DiskCache cache({folder_, 16_KiB}, *files);
  uint64_t next = 0;
  while (tries == 0) cache.put(key_of(next++), content_of(0));
  const int once = tries;
  cache.put(key_of(next++), content_of(0));
  EXPECT_EQ(tries, once);
}

TEST_F(DiskCacheTest, WhileAnotherRemovesNobodyWaitsAndAllIsKept) {
  cache().put(key_of(0), content_of(0));
  auto other = FileSystem::posix().lock(folder_ / "evicting");
  ASSERT_TRUE(other.ok());
  DiskCache cache = this->cache(16_KiB);
  testing::internal::CaptureStderr();
  for (uint64_t i = 1; i < 40; ++i) {
    cache.put(key_of(i), content_of(i));
    EXPECT_TRUE(cache.read(key_of(i)).has_value()) << i;
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(DiskCacheTest, ClearingRemovesEverything) {
  DiskCache cache = this->cache();
  for (uint64_t i = 0; i < 20; ++i) cache.put(key_of(i), content_of(i));
  EXPECT_EQ(cache.usage().entries, 20u);
  const Path others = folder_ / "zz" / "file";  // somebody else's, in the folder that a person has named
  std::filesystem::create_directory(others.parent_path());
  std::fclose(std::fopen(others.c_str(), "wb"));
  auto removed = cache.clear();
  ASSERT_TRUE(removed.ok()) << removed.status().to_string();
  EXPECT_EQ(removed->entries, 20u);
  EXPECT_TRUE(std::filesystem::exists(others));
  EXPECT_EQ(cache.usage().entries, 0u);
  EXPECT_EQ(cache.usage().size, Bytes(0));
  cache.put(key_of(1), content_of(1));
  EXPECT_TRUE(cache.read(key_of(1)).has_value());
}

TEST_F(DiskCacheTest, ClearingWhatIsNotThereIsNoFailure) {
  auto removed = cache().clear();
  ASSERT_TRUE(removed.ok()) << removed.status().to_string();
  EXPECT_EQ(removed->entries, 0u);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(DiskCacheTest, WhatCannotBeWrittenIsSaidOnceAndReadingGoesOn) {
  cache().put(key_of(1), content_of(1));
  for (std::string_view broken : {"create", "append", "close", "rename", "lock"}) {
    auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
      return operation == broken ? error(Code::exhausted, "{} {}: No space left on device", operation, path.string()) : Status();
    });
    DiskCache cache({folder_, 1_MiB}, *files);
    testing::internal::CaptureStderr();
    for (uint64_t i = 10; i < 14; ++i) cache.put(key_of(i), content_of(i));
    const std::string words = testing::internal::GetCapturedStderr();
    EXPECT_THAT(words, HasSubstr("nothing more is kept in the cache of compiled code: ")) << broken;
    EXPECT_THAT(words, HasSubstr("No space left on device; MNEME_CACHE_DIR names another folder"));
    EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 1) << words;
    EXPECT_EQ(cache.read(key_of(1)), content_of(1)) << broken;
    for (const auto& left : std::filesystem::directory_iterator(folder_ / "tmp")) ADD_FAILURE() << left.path() << " is left";
  }
}

// Several processes read and write one small cache, each evicting what the others use.
TEST_F(DiskCacheTest, ManyProcessesShareOne) {
  constexpr int kProcesses = 6;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache cache({folder_, 48_KiB});
      int wrong = 0;
      for (uint64_t i = 0; i < 400; ++i) {
        const uint64_t number = (i * 7 + static_cast<uint64_t>(process) * 13) % 120;
        auto found = cache.read(key_of(number));
        if (found && *found != content_of(number)) ++wrong;
        if (!found) cache.put(key_of(number), content_of(number));
      }
      ::_exit(wrong == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  // What the others added while the last one evicted comes on top.
  EXPECT_LE(cache().usage().size, 64_KiB);
  EXPECT_GT(cache().usage().entries, 10u);
}

// What is just as large as it may be stays.
TEST_F(DiskCacheTest, NothingIsGivenUpBeforeTheLimitIsPassed) {
  constexpr uint64_t kHeader = 56, kEach = 800;
  for (const auto& [limit, entries] : {std::pair(5 * kEach, 5u), std::pair(5 * kEach - 1, 3u)}) {
    std::filesystem::remove_all(folder_);
    DiskCache cache = this->cache(Bytes(limit));
    for (uint64_t i = 0; i < 5; ++i) cache.put(key_of(i), ByteVector(kEach - kHeader));
    EXPECT_EQ(cache.usage().entries, entries) << limit;
  }
}

TEST_F(DiskCacheTest, WhatWasNotWrittenWholeIsNoEntryThatIsCleared) {
  DiskCache cache = this->cache();
  cache.put(key_of(1), content_of(1));
  const Path torn = folder_ / "tmp" / "torn";
  std::fclose(std::fopen(torn.c_str(), "wb"));
  std::filesystem::last_write_time(torn, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  const auto removed = cache.clear();
  ASSERT_TRUE(removed.ok()) << removed.status().to_string();
  EXPECT_EQ(removed->entries, 1u);
  EXPECT_FALSE(std::filesystem::exists(torn));
}

class CachePlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"MNEME_CACHE_DIR", "MNEME_CACHE_SIZE", "XDG_CACHE_HOME"}) ::unsetenv(name);
    home_ = std::getenv("HOME") ? std::getenv("HOME") : "";
    ::setenv("HOME", "/home/someone", 1);
  }
  void TearDown() override {
    for (const char* name : {"MNEME_CACHE_DIR", "MNEME_CACHE_SIZE", "XDG_CACHE_HOME"}) ::unsetenv(name);
    ::setenv("HOME", home_.c_str(), 1);
  }
  std::string home_;
};

TEST_F(CachePlaceTest, TheEnvironmentSaysWhere) {
  EXPECT_EQ(CachePlace::from_environment()->folder, "/home/someone/.cache/mneme/objects");
  EXPECT_EQ(CachePlace::from_environment()->limit, 4_GiB);
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(CachePlace::from_environment()->folder, "/caches/mneme/objects");
  ::setenv("MNEME_CACHE_DIR", "/own", 1);
  EXPECT_EQ(CachePlace::from_environment()->folder, "/own");
  for (auto [text, size] :
       {std::pair("1000", Bytes(1000)), std::pair("3K", 3_KiB), std::pair("500M", 500_MiB), std::pair("2G", 2_GiB),
        std::pair("2T", Bytes(uint64_t{2} << 40)), std::pair("0", Bytes(0)), std::pair("", 4_GiB)}) {
    ::setenv("MNEME_CACHE_SIZE", text, 1);
    EXPECT_EQ(CachePlace::from_environment()->limit, size) << text;
  }
}

TEST_F(CachePlaceTest, OnlyItsOwnVariableMayBeOfTheWorkingFolder) {
  ::setenv("MNEME_CACHE_DIR", "own", 1);
  EXPECT_EQ(CachePlace::from_environment()->folder, std::filesystem::current_path() / "own");
  ::setenv("MNEME_CACHE_DIR", "", 1);
  ::setenv("XDG_CACHE_HOME", "caches", 1);
  EXPECT_EQ(CachePlace::from_environment()->folder, "/home/someone/.cache/mneme/objects");
  ::setenv("HOME", "someone", 1);
  EXPECT_EQ(CachePlace::from_environment().status().code(), Code::not_found);
}

TEST_F(CachePlaceTest, RefusesWithTheReason) {
  for (const char* text : {"much", "4X", "-1", "99999999999999999999", "99999999T", "4 G"}) {
    ::setenv("MNEME_CACHE_SIZE", text, 1);
    EXPECT_EQ(CachePlace::from_environment().status().to_string(),
              fmt::format("invalid_argument: MNEME_CACHE_SIZE is '{}', not a number of bytes, as in 500M or 4G", text));
  }
  ::unsetenv("MNEME_CACHE_SIZE");
  ::unsetenv("HOME");
  EXPECT_EQ(CachePlace::from_environment().status().to_string(),
            "not_found: none of MNEME_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder");
}

}  // namespace
}  // namespace mneme
