#include "mneme/memory/page_upload.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "mneme/base/activity.h"
#include "mneme/memory/device_buffer.h"
#include "mneme/memory/testing/on_fake_device.h"
#include "mneme/store/pack.h"

namespace mneme {
namespace {

using testing::HasSubstr;

// So many that several threads read them, each more than once: 100 MiB.
constexpr uint64_t kMany = 1600;
constexpr uint64_t kAPiece = PageReader::kPiece.count / kPageSize.count;

// Each page has a content of its own, of which some can be compressed.
ByteVector many_pages() {
  ByteVector bytes(kMany * kPageSize.count);
  uint64_t state = 1;
  for (uint64_t page = 0; page < kMany; ++page) {
    std::byte* at = bytes.data() + page * kPageSize.count;
    std::memcpy(at, &page, sizeof page);
    for (uint64_t i = sizeof page; page % 3 == 0 && i < kPageSize.count; ++i)
      at[i] = static_cast<std::byte>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  }
  return bytes;
}

class PageUploadTest : public testing::Test {
 protected:
  // Made once, by the first test.
  static void record() {
    recordings_ = new testing_store::MadeDatabase;
    contents_ = new ByteVector(many_pages());
    testing_store::MadeRecording made;
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = "none";
    made.regions = {{Region::Kind::allocation, testing_store::kMadeSpaceBase, "", *contents_, *contents_}};
    auto published = recordings_->publish(made);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    auto database = Database::open(recordings_->directory());
    region_ = new Region(database->load_instance(published->static_hash, published->dynamic_hash)->prologue.regions.front());
  }
  static void TearDownTestSuite() {
    delete recordings_;
    delete contents_;
    delete region_;
  }

  void SetUp() override {
    if (recordings_ == nullptr) record();
    stream_ = std::move(device_.create_stream()).value();
    place_ = std::move(DeviceBuffer::allocate(device_, Bytes(kMany * kPageSize.count))).value();
    for (uint64_t i = 0; i < kMany; ++i)
      pages_.push_back({region_->pages[i], place_.address() + Bytes(i * kPageSize.count), kPageSize});
  }
  void open(FileSystem& files = FileSystem::posix()) {
    database_ = std::make_unique<Database>(std::move(Database::open(recordings_->directory(), files)).value());
  }
  Status upload() { return upload_pages(*database_, device_, *stream_, pages_); }
  const std::byte* uploaded() const { return reinterpret_cast<const std::byte*>(place_.address().address); }

  // Turns one byte of the stored pages over, while it lives.
  class Damage {
   public:
    explicit Damage(const std::vector<uint64_t>& pages) : pages_(pages) { turn(); }
    ~Damage() { turn(); }

   private:
    void turn() {
      for (uint64_t page : pages_) {
        const auto [pack, offset] = place_of(region_->pages[page]);
        std::fstream file(pack, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(offset));
        const char byte = static_cast<char>(file.get());
        file.seekp(static_cast<std::streamoff>(offset));
        file.put(static_cast<char>(byte ^ 1));
      }
    }
    std::vector<uint64_t> pages_;
  };
  static std::pair<Path, uint64_t> place_of(const Digest& digest) {
    const Path folder = recordings_->directory() / "pages";
    const std::vector<std::string> packs = *FileSystem::posix().list(folder);
    for (const std::string& name : packs) {
      const auto file = *FileSystem::posix().open(folder / name);
      const std::vector<PackedPage> pages = *read_pack(*file, name);
      for (const PackedPage& page : pages)
        if (page.digest == digest) return {folder / name, page.offset};
    }
    return {};
  }
  static std::string damaged(uint64_t page) {
    const auto [pack, offset] = place_of(region_->pages[page]);
    return fmt::format("corrupt: {}: offset {}: the stored bytes of page {} are damaged (checksum)", pack.string(), offset,
                       region_->pages[page].hex());
  }

  static testing_store::MadeDatabase* recordings_;
  static ByteVector* contents_;
  static Region* region_;

  fake::FakeDevice device_;
  std::unique_ptr<Stream> stream_;
  DeviceBuffer place_;
  std::vector<PageUpload> pages_;
  std::unique_ptr<Database> database_;
};
testing_store::MadeDatabase* PageUploadTest::recordings_;
ByteVector* PageUploadTest::contents_;
Region* PageUploadTest::region_;

TEST_F(PageUploadTest, EveryPageIsUploadedHoweverManyThereAre) {
  open();
  std::vector<double> done;
  PageUploader uploader(*database_, device_, *stream_, [&](std::string_view what, double part) {
    EXPECT_EQ(what, "reading");
    done.push_back(part);
  });
  const Status status = uploader.upload(pages_, "reading");
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(std::memcmp(uploaded(), contents_->data(), contents_->size()), 0);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.size(), 2u) << "of 100 MiB, each 64";
  EXPECT_EQ(done.back(), 1.0);
}

TEST_F(PageUploadTest, WhatSeveralPagesHoldIsReadOnce) {
  std::mutex mutex;
  std::multiset<uint64_t> read;
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    std::lock_guard lock(mutex);
    if (operation == "read" && path.parent_path().filename() == "pages") read.insert(0);
    return Status();
  });
  open(*disk);
  const std::vector<Digest> three(region_->pages.begin(), region_->pages.begin() + 3);
  for (uint64_t i = 0; i < kMany; ++i) pages_[i].digest = three[i % 3];
  const std::vector<PageUpload> early(pages_.begin(), pages_.begin() + 100), late(pages_.begin() + 100, pages_.end());
  PageUploader uploader(*database_, device_, *stream_);
  ASSERT_TRUE(uploader.upload(early, "").ok());
  const size_t after = read.size();
  ASSERT_TRUE(uploader.upload(late, "").ok());
  EXPECT_EQ(read.size(), after) << "all was there";
  for (uint64_t i = 0; i < kMany; ++i) {
    const uint64_t at = i * kPageSize.count, of = i % 3 * kPageSize.count;
    ASSERT_EQ(std::memcmp(uploaded() + at, contents_->data() + of, kPageSize.count), 0) << i;
  }
}

TEST_F(PageUploadTest, DamageInAnyPieceIsFoundWhoeverReadsIt) {
  open();
  for (uint64_t piece = 0; piece < kMany / kAPiece; piece += 7) {
    const uint64_t page = piece * kAPiece + piece % kAPiece;
    const Damage damage({page});
    EXPECT_EQ(upload().to_string(), damaged(page));
  }
  EXPECT_TRUE(upload().ok());
}

TEST_F(PageUploadTest, OfSeveralFailuresTheFirstIsTold) {
  open();
  const Damage damage({kMany - 1, 5 * kAPiece + 3, 5 * kAPiece + 4, 6 * kAPiece, 40 * kAPiece});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(upload().to_string(), damaged(5 * kAPiece + 3));
}

TEST_F(PageUploadTest, ADigestWithTwoSizesIsDamage) {
  open();
  pages_[700].digest = region_->pages[3];
  pages_[700].size = Bytes(100);
  EXPECT_THAT(upload().to_string(), HasSubstr(fmt::format("page {} has 65536 bytes, 100 expected", region_->pages[3].hex())));
}

TEST_F(PageUploadTest, MemoryThatRunsOutWhileReadingIsAFailure) {
  std::atomic<bool> reading = false;
  std::atomic<int> left = 300;
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    if (reading && operation == "read" && --left < 0) throw std::bad_alloc();
    return Status();
  });
  open(*disk);
  ASSERT_TRUE(upload().ok());
  reading = true;
  EXPECT_EQ(upload().to_string(),
            fmt::format("exhausted: reading pages of {}: there is no memory left", recordings_->directory().string()));
}

TEST_F(PageUploadTest, WithoutRoomToReadIntoNothingIsRead) {
  open();
  device_.set_failures(
      [](std::string_view call) { return call == "allocate_pinned" ? error(Code::exhausted, "scripted") : Status(); });
  EXPECT_EQ(upload().to_string(), "exhausted: scripted");
}

// However much has been read ahead.
TEST_F(PageUploadTest, ADeviceThatFailsMeanwhileEndsTheReading) {
  open();
  for (const char* call : {"copy_to_device", "synchronize"}) {
    int left = 3;
    device_.set_failures([&](std::string_view name) { return name == call && --left < 0 ? error(Code::io, "lost") : Status(); });
    EXPECT_EQ(upload().to_string(), "io: lost") << call;
  }
  device_.set_failures({});
  for (uint64_t i = 0; i < kMany; ++i) pages_[i].digest = region_->pages[i % 3];
  for (const char* call : {"allocate", "copy_listed"}) {
    device_.set_failures([&](std::string_view name) { return name == call ? error(Code::io, "lost") : Status(); });
    EXPECT_EQ(upload().to_string(), "io: lost") << call;
  }
}

// Each call in turn, alone or with all after it. What could not be uploaded is, by the same object, when the device is back.
TEST_F(PageUploadTest, ADeviceThatFailsAtAnyCallEndsTheReading) {
  open();
  pages_.resize(6 * kAPiece);
  for (uint64_t i = 0; i < pages_.size(); i += 5) pages_[i].digest = region_->pages[7];
  const auto expected = [&](uint64_t i) { return contents_->data() + (i % 5 == 0 ? 7 : i) * kPageSize.count; };
  for (const bool all_after : {true, false}) {
    bool all = false;
    for (int calls = 0; !all; ++calls) {
      ASSERT_LT(calls, 200);
      int left = calls;
      PageUploader uploader(*database_, device_, *stream_);
      device_.set_failures([&](std::string_view call) {
        const int before = call == "free" ? 1 : left--;  // memory that was given back is nobody's any more
        return before > 0 || (!all_after && before < 0) ? Status() : error(Code::device_fault, "lost");
      });
      const Status status = uploader.upload(pages_, "");
      device_.set_failures({});
      all = left >= 0;
      EXPECT_EQ(status.to_string(), all ? "ok" : "device_fault: lost") << calls;
      ASSERT_TRUE(uploader.upload(pages_, "").ok()) << calls;
      for (uint64_t i = 0; i < pages_.size(); ++i)
        ASSERT_EQ(std::memcmp(uploaded() + i * kPageSize.count, expected(i), kPageSize.count), 0) << calls << ' ' << i;
    }
  }
}

// Likewise of the disk, and of memory. What one thread could not read of a pack's index another one may have read just after it:
// then all is there.
TEST_F(PageUploadTest, AFailureAtAnyOperationOnAFileIsTold) {
  pages_.resize(4 * kAPiece);
  for (const bool of_memory : {false, true}) {
    bool all = false;
    for (int operations = 0; !all; ++operations) {
      ASSERT_LT(operations, 300);
      std::atomic<int> left = 1 << 20;
      std::mutex mutex;
      std::optional<std::pair<std::string, Path>> failed;
      bool done_again = false;
      const auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
        const std::lock_guard lock(mutex);
        done_again = done_again || (failed && failed->first == operation && failed->second == path);
        if (left-- != 0) return Status();
        failed.emplace(operation, path);
        if (of_memory) throw std::bad_alloc();
        return error(Code::io, "the disk is broken");
      });
      open(*disk);
      left = operations;
      std::memset(const_cast<std::byte*>(uploaded()), 0, pages_.size() * kPageSize.count);
      const Status status = upload();
      all = left >= 0;
      left = 1 << 20;
      const bool made_good = failed && status.ok() && done_again;
      EXPECT_EQ(status.code(), all || made_good ? Code::ok
                               : of_memory      ? Code::exhausted
                                                : Code::io)
          << operations << status.to_string();
      if (status.ok()) EXPECT_EQ(std::memcmp(uploaded(), contents_->data(), pages_.size() * kPageSize.count), 0) << operations;
      EXPECT_TRUE(upload().ok()) << operations;
    }
  }
}

// After a failure it is not known what is there.
TEST_F(PageUploadTest, WhatWasNotUploadedIsUploadedAgain) {
  open();
  PageUploader uploader(*database_, device_, *stream_);
  int left = 3;
  device_.set_failures(
      [&](std::string_view call) { return call == "synchronize" && --left < 0 ? error(Code::io, "lost") : Status(); });
  EXPECT_FALSE(uploader.upload(pages_, "").ok());
  device_.set_failures({});
  ASSERT_TRUE(uploader.upload(pages_, "").ok());
  EXPECT_EQ(std::memcmp(uploaded(), contents_->data(), contents_->size()), 0);
}

// A signal is for the threads of whoever uses this, which may have handlers.
TEST_F(PageUploadTest, ThreadsThatReadTakeNoSignals) {
  std::atomic<bool> open_to_signals = false;
  const std::thread::id caller = std::this_thread::get_id();
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view, const Path&, uint64_t) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (std::this_thread::get_id() != caller && sigismember(&blocked, SIGUSR1) == 0) open_to_signals = true;
    return Status();
  });
  open(*disk);
  ASSERT_TRUE(upload().ok());
  EXPECT_FALSE(open_to_signals);
}

// Whoever watches limits each step on the device, and not the reading of the disk.
TEST_F(PageUploadTest, OnlyWhatTheDeviceDoesIsLoading) {
  open();
  auto board = ActivityBoard::create();
  ASSERT_TRUE(board.ok());
  board->show_this_process();
  std::set<Activity> on_device, told;
  device_.set_failures([&](std::string_view) {
    on_device.insert(board->read().activity);
    return Status();
  });
  PageUploader uploader(*database_, device_, *stream_, [&](std::string_view, double) { told.insert(board->read().activity); });
  pages_.back().digest = pages_.front().digest;
  ASSERT_TRUE(uploader.upload(pages_, "").ok());
  device_.set_failures({});
  EXPECT_THAT(on_device, testing::ElementsAre(Activity::loading));
  EXPECT_THAT(told, testing::ElementsAre(Activity::working));
}

}  // namespace
}  // namespace mneme
