// Recording again heals: what is damaged or missing does not count as recorded, and is stored anew.
#include <gmock/gmock.h>

#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

class Heal : public testing::Test {
 protected:
  Heal() : memory_(sample_memory(1, kPageSize.count + 3000)), kernel_(sample_kernel()) {
    auto database = Database::create(directory_.path());
    dynamic_ = *publish_sample(*database, kernel_, memory_);
    std::filesystem::copy(directory_.path(), whole_.path(), kAll);
  }

  // Everything as it was before it was damaged and healed.
  void undo() const {
    std::filesystem::remove_all(directory_.path());
    std::filesystem::copy(whole_.path(), directory_.path(), kAll);
  }

  // Files of the database but its lock, the packs among them.
  std::vector<Path> files() const {
    std::vector<Path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path()))
      if (entry.is_regular_file() && entry.path().filename() != ".lock" && entry.path().filename() != ".in-use")
        found.push_back(entry.path());
    return found;
  }
  bool is_kernels_own(const Path& path) const { return path.filename() == kernel_file_name(kernel_.static_hash); }

  static void flip(const Path& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
  }

  Status check() const { return Database::open(directory_.path())->check_instance(kernel_.static_hash, dynamic_); }

  // As a recording of the same launch does it, in a process of its own.
  void record_again() {
    auto database = Database::create(directory_.path());
    auto there = database->has_instance(kernel_.static_hash, dynamic_);
    ASSERT_TRUE(there.ok()) << there.status().message();
    EXPECT_FALSE(*there);
    auto again = publish_sample(*database, kernel_, memory_);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, dynamic_);
    EXPECT_TRUE(*database->has_instance(kernel_.static_hash, dynamic_));
    EXPECT_TRUE(check().ok()) << check().message();
    EXPECT_EQ(database->load_document(kernel_.static_hash)->instances.size(), 1u);
  }

  static constexpr auto kAll = std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
  TemporaryDirectory directory_, whole_;
  SampleMemory memory_;
  KernelRecord kernel_;
  Digest dynamic_;
};

TEST_F(Heal, FilesThatAreMissing) {
  for (const Path& path : files()) {
    SCOPED_TRACE(path.string());
    if (is_kernels_own(path)) continue;  // without it there is no such kernel
    std::filesystem::remove(path);
    ASSERT_FALSE(check().ok());
    record_again();
    undo();
  }
}

// As a message about it advises where it is damaged.
TEST_F(Heal, TheLaunchesStayWhereTheKernelsFileWasRemoved) {
  std::filesystem::remove(directory_.path() / kernel_file_name(kernel_.static_hash));
  auto database = Database::create(directory_.path());
  auto other = publish_sample(*database, kernel_, sample_memory(77));
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(database->load_document(kernel_.static_hash)->instances.size(), 2u);
  EXPECT_TRUE(check().ok()) << check().message();
  EXPECT_TRUE(Database::open(directory_.path())->check_instance(kernel_.static_hash, *other).ok());
}

// Launches of two kernels are alike where both have the same shape, arguments and memory.
TEST_F(Heal, AKernelWhoseLaunchIsLikeThatOfAnother) {
  const KernelRecord other = sample_kernel("other");
  auto database = Database::create(directory_.path());
  ASSERT_EQ(*publish_sample(*database, other, memory_), dynamic_);
  ASSERT_TRUE(*database->has_instance(kernel_.static_hash, dynamic_));
  for (Moment moment : {Moment::prologue, Moment::epilogue}) {
    std::filesystem::remove(directory_.path() / state_file_name(moment, other.static_hash, dynamic_));
    EXPECT_FALSE(*database->has_instance(other.static_hash, dynamic_));
    ASSERT_TRUE(publish_sample(*database, other, memory_).ok());
    EXPECT_TRUE(Database::open(directory_.path())->check_instance(other.static_hash, dynamic_).ok());
  }
}

TEST_F(Heal, FilesThatAreDamaged) {
  for (const Path& path : files()) {
    SCOPED_TRACE(path.string());
    // A kernel's own files say what it is: they are not written over.
    if (is_kernels_own(path) || path.filename() == list_file_name(kernel_.static_hash)) continue;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
    for (int64_t at : {int64_t{40}, size / 2, size - 1}) {
      flip(path, at);
      ASSERT_FALSE(check().ok()) << at;
      record_again();
      undo();
    }
  }
}

TEST_F(Heal, APageThatOnlyTheLaunchMade) {
  SampleMemory changed = memory_;
  changed.after = noise(changed.after.size(), 2);
  {
    auto database = Database::create(directory_.path());
    // The launch is another, and what it begins with is in the first one's pack.
    InstanceRecord instance = sample_instance(kernel_);
    instance.grid = {2, 1, 1};
    auto publication = *database->begin_publication({});
    Recording recording{kernel_, noise(500, 7), instance, {{sample_region(changed)}}, {{sample_region(changed)}}, {}};
    ASSERT_TRUE(publication->put(batch_of(changed.before, recording.prologue.regions[0])).ok());
    ASSERT_TRUE(publication->put(batch_of(changed.after, recording.epilogue.regions[0])).ok());
    ASSERT_TRUE(publication->wait().ok());
    recording.instance.dynamic_hash = dynamic_ = dynamic_hash(recording.instance, recording.prologue);
    ASSERT_TRUE(publication->commit(recording).ok());
  }
  const Path pages = directory_.path() / "pages";
  const auto before = FileSystem::posix().list(whole_.path() / "pages"), now = FileSystem::posix().list(pages);
  for (const std::string& pack : *now)
    if (pack != before->front()) flip(pages / pack, 1000);
  ASSERT_FALSE(check().ok());
  EXPECT_FALSE(*Database::create(directory_.path())->has_instance(kernel_.static_hash, dynamic_));
}

TEST_F(Heal, WhatWasKnownOfTheLaunchStays) {
  const RecordedTime time{"test", 5.0, 2, 3.0, 4.0};
  {
    auto database = Database::create(directory_.path());
    ASSERT_TRUE(database->set_recorded_times(kernel_.static_hash, {{dynamic_, time}}).ok());
    ASSERT_TRUE(database->set_annotations(kernel_.static_hash, dynamic_, {{memory_.address, Bytes(8), "tag", Tolerance()}}).ok());
  }
  const Path pages = directory_.path() / "pages", pack = pages / FileSystem::posix().list(pages)->front();
  flip(pack, 1000);
  record_again();
  const InstanceRecord healed = Database::open(directory_.path())->load_document(kernel_.static_hash)->instances.at(0);
  EXPECT_TRUE(healed.annotations.empty()) << "the program says no more of its memory";
  EXPECT_EQ(healed.recorded_time, time);
}

// The kernel's file says of the IR that there is now, which another build may have written otherwise.
TEST_F(Heal, AnotherIrTakesThePlaceOfTheOneThatIsDamaged) {
  const Path ir = directory_.path() / ir_file_name(kernel_.static_hash);
  for (size_t size : {size_t{500}, size_t{700}, size_t{300}}) {
    flip(ir, 40);
    auto database = Database::create(directory_.path());
    auto publication = *database->begin_publication({});
    const ByteVector other = noise(size, static_cast<uint32_t>(size));
    Region before = sample_region(memory_), after = before;
    ASSERT_TRUE(publication->put(batch_of(memory_.before, before)).ok());
    ASSERT_TRUE(publication->put(batch_of(memory_.after, after)).ok());
    ASSERT_TRUE(publication->wait().ok());
    Recording recording{kernel_, other, sample_instance(kernel_), {{before}}, {{after}}, {}};
    recording.instance.state_bytes = recording.prologue.bytes();
    recording.instance.dynamic_hash = dynamic_;
    const Bytes had = *database->disk_size();
    ASSERT_TRUE(publication->commit(recording).ok());
    const Bytes has = *database->disk_size();
    if (has > had) EXPECT_EQ(publication->written(), has - had) << "what is written over does not count";
    EXPECT_EQ(*Database::open(directory_.path())->load_ir(kernel_.static_hash), other);
    EXPECT_TRUE(check().ok()) << check().message();
  }
}

TEST_F(Heal, AListThatIsDamagedIsWrittenAnewWithoutItsKernelsFileOnly) {
  const Path list = directory_.path() / list_file_name(kernel_.static_hash);
  flip(list, static_cast<int64_t>(std::filesystem::file_size(list)) / 2);
  auto database = Database::create(directory_.path());
  EXPECT_EQ(publish_sample(*database, kernel_, memory_).status().code(), Code::corrupt);
  std::filesystem::remove(directory_.path() / kernel_file_name(kernel_.static_hash));
  auto again = publish_sample(*database, kernel_, memory_);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(Database::open(directory_.path())->load_document(kernel_.static_hash)->instances.size(), 1u);
  EXPECT_TRUE(check().ok()) << check().message();
}

// One batch of pages makes the same pack, of the same name, every time.
TEST_F(Heal, APackThatIsWholeAgainIsNotBlamed) {
  TemporaryDirectory directory;
  const auto publish = [&](Database& database) {
    auto publication = *database.begin_publication({});
    Region region = sample_region(memory_);
    EXPECT_TRUE(publication->put(batch_of(memory_.before, region)).ok());
    EXPECT_TRUE(publication->wait().ok());
    Recording recording{kernel_, noise(500, 7), sample_instance(kernel_), {{region}}, {{region}}, {}};
    recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
    return publication->commit(recording);
  };
  {
    auto database = Database::create(directory.path());
    ASSERT_TRUE(publish(*database).ok());
  }
  const Path pages = directory.path() / "pages", pack = pages / FileSystem::posix().list(pages)->front();
  flip(pack, static_cast<int64_t>(std::filesystem::file_size(pack)) - 1);
  auto database = Database::create(directory.path());
  ByteVector bytes(100);
  const PageRequest request{Digest(), bytes};
  EXPECT_THAT(database->read_pages({&request, 1}).message(), testing::HasSubstr(pack.string()));
  ASSERT_TRUE(publish(*database).ok());
  EXPECT_EQ(FileSystem::posix().list(pages)->size(), 1u);
  EXPECT_EQ(database->read_pages({&request, 1}).message(), pages.string() + ": no pack of pages holds page " + Digest().hex());
}

TEST_F(Heal, OnlyWhatIsDamagedIsStoredAgain) {
  const Path pack = directory_.path() / "pages" / FileSystem::posix().list(directory_.path() / "pages")->front();
  flip(pack, 1000);  // in the page of noise, which is the first
  auto database = Database::create(directory_.path());
  // Another launch, which has the damaged page and one more.
  SampleMemory other = memory_;
  other.before[kPageSize.count + 5] ^= std::byte{1};
  auto dynamic = publish_sample(*database, kernel_, other);
  ASSERT_TRUE(dynamic.ok());
  auto reader = Database::open(directory_.path());
  EXPECT_TRUE(reader->check_instance(kernel_.static_hash, *dynamic).ok());
  EXPECT_TRUE(reader->check_instance(kernel_.static_hash, dynamic_).ok()) << "the other launch has the same page";
}

// Pages are checked some hundred at a time. The one that was stored first is the last of the launch's.
TEST_F(Heal, APageIsFoundHoweverManyAreBeforeIt) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  auto publication = *database->begin_publication({.threads = 1});
  constexpr size_t kPages = 1100;
  Region region{Region::Kind::allocation, DevicePtr(0x7a0000000000), Bytes(kPages * kPageSize.count), "", {}};
  region.pages.resize(kPages);
  for (size_t i = kPages; i-- > 0;) {
    PageBatch batch;
    batch.bytes = std::make_unique<std::byte[]>(kPageSize.count);
    const ByteVector some = noise(i + 1 == kPages ? kPageSize.count : 16, static_cast<uint32_t>(i));
    std::memcpy(batch.bytes.get(), some.data(), some.size());
    batch.pages.push_back({kPageSize.count, &region.pages[i]});
    ASSERT_TRUE(publication->put(std::move(batch)).ok());
  }
  ASSERT_TRUE(publication->wait().ok());
  Recording recording{kernel_, noise(500, 7), sample_instance(kernel_), {{region}}, {{region}}, {}};
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
  ASSERT_TRUE(publication->commit(recording).ok());
  const auto check = [&] {
    return Database::open(directory.path())->check_instance(kernel_.static_hash, recording.instance.dynamic_hash);
  };
  EXPECT_TRUE(check().ok()) << check().message();
  const Path pages = directory.path() / "pages";
  flip(pages / FileSystem::posix().list(pages)->front(), 1000);
  EXPECT_EQ(check().code(), Code::corrupt);
}

// Packs that others have stored may go, or be damaged, after a reader has looked at what they hold.
TEST_F(Heal, APageIsReadFromWhicheverPackHasItWhole) {
  const Path pages = directory_.path() / "pages";
  for (uint32_t seed : {5, 6}) {  // of the same pages and one more
    TemporaryDirectory elsewhere;
    SampleMemory other = memory_;
    const ByteVector first = noise(kPageSize.count, seed);
    std::copy(first.begin(), first.end(), other.after.begin());
    auto database = Database::create(elsewhere.path());
    ASSERT_TRUE(publish_sample(*database, kernel_, other).ok());
    const std::string pack = FileSystem::posix().list(elsewhere.path() / "pages")->front();
    std::filesystem::copy_file(elsewhere.path() / "pages" / pack, pages / pack);
  }
  const std::vector<std::string> packs = *FileSystem::posix().list(pages);
  ASSERT_EQ(packs.size(), 3u);
  std::filesystem::copy(pages, whole_.path() / "pages", kAll);
  for (const std::string& whole : packs) {
    for (bool gone : {true, false}) {
      auto reader = Database::open(directory_.path());
      ASSERT_TRUE(reader->check_instance(kernel_.static_hash, dynamic_).ok());
      for (const std::string& pack : packs)
        if (pack != whole) gone ? void(std::filesystem::remove(pages / pack)) : std::filesystem::resize_file(pages / pack, 40);
      const Status status = reader->check_instance(kernel_.static_hash, dynamic_);
      EXPECT_TRUE(status.ok()) << status.to_string();
      undo();
    }
  }
}

// Threads of one recording meet the same damaged page: one stores it.
TEST_F(Heal, SeveralThreadsHealOnce) {
  const Path pages = directory_.path() / "pages", pack = pages / FileSystem::posix().list(pages)->front();
  flip(pack, 1000);
  auto database = Database::create(directory_.path());
  auto publication = *database->begin_publication({.threads = 4, .queue = 64_MiB});
  const ByteVector page(memory_.before.begin(), memory_.before.begin() + static_cast<std::ptrdiff_t>(kPageSize.count));
  constexpr size_t kBatches = 64;
  std::vector<Digest> digests(kBatches);
  for (Digest& digest : digests) {
    PageBatch batch;
    batch.bytes = std::make_unique<std::byte[]>(page.size());
    std::memcpy(batch.bytes.get(), page.data(), page.size());
    batch.pages.push_back({page.size(), &digest});
    ASSERT_TRUE(publication->put(std::move(batch)).ok());
  }
  ASSERT_TRUE(publication->wait().ok());
  EXPECT_LT(publication->written().count, 2 * page.size());
  Region region{Region::Kind::allocation, memory_.address, Bytes(page.size()), "", {digests[0]}};
  Recording recording{kernel_, noise(500, 7), sample_instance(kernel_), {{region}}, {{region}}, {}};
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
  ASSERT_TRUE(publication->commit(recording).ok());
  EXPECT_EQ(*read_region(*Database::open(directory_.path()), region), page);
  EXPECT_TRUE(check().ok());
}

// A list whose first line counts lines that are not there, though each line of it is whole.
TEST_F(Heal, AListThatHasOtherLinesThanItCountsIsDamaged) {
  const Path list = directory_.path() / list_file_name(kernel_.static_hash);
  const uint64_t bytes = std::filesystem::file_size(list);
  for (uint64_t lines : {0, 2}) {
    std::fstream(list, std::ios::in | std::ios::out | std::ios::binary)
        << encode_list_header({kernel_.static_hash, bytes, lines});
    const std::string expected = fmt::format("{}: offset 0: the file has 1 lines, {} expected", list.string(), lines);
    EXPECT_EQ(Database::open(directory_.path())->load_document(kernel_.static_hash).status().message(), expected);
    EXPECT_EQ(check().message(), expected);
  }
}

TEST_F(Heal, APageThatIsDamagedInEachPackIsNotRead) {
  const Path pages = directory_.path() / "pages";
  TemporaryDirectory elsewhere;
  SampleMemory other = memory_;  // with the same first page
  other.after[kPageSize.count + 5] ^= std::byte{1};
  {
    auto database = Database::create(elsewhere.path());
    ASSERT_TRUE(publish_sample(*database, kernel_, other).ok());
  }
  std::filesystem::copy(elsewhere.path() / "pages", pages, kAll);
  const std::vector<std::string> packs = *FileSystem::posix().list(pages);
  ASSERT_EQ(packs.size(), 2u);
  auto reader = Database::open(directory_.path());
  ASSERT_TRUE(reader->check_instance(kernel_.static_hash, dynamic_).ok());
  for (const std::string& pack : packs) flip(pages / pack, 1000);
  EXPECT_EQ(reader->check_instance(kernel_.static_hash, dynamic_).code(), Code::corrupt);
}

}  // namespace
}  // namespace mneme
