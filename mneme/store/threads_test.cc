// What one of several threads meets while pages are written or read is what the caller is told.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <new>
#include <thread>

#include "mneme/base/processors.h"
#include "mneme/store/pack.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::HasSubstr;

// So many that several threads read them.
constexpr size_t kPages = 100;

// Each page has a content of its own.
SampleMemory memory_of_many_pages() {
  SampleMemory memory{DevicePtr(0x7a0000000000), ByteVector(kPages * kPageSize.count), {}};
  for (size_t i = 0; i < kPages; ++i)
    std::fill_n(memory.before.begin() + static_cast<ptrdiff_t>(i * kPageSize.count), kPageSize.count, static_cast<std::byte>(i));
  memory.after = memory.before;
  return memory;
}

TEST(StoreThreads, AWriterThreadsFailureIsThePublications) {
  TemporaryDirectory directory;
  const std::thread::id caller = std::this_thread::get_id();
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    const bool fails = operation == "append" && std::this_thread::get_id() != caller;
    return fails ? error(Code::exhausted, "writing {}: No space left on device", path.string()) : Status();
  });
  auto database = Database::create(directory.path(), *disk);
  // With so short a queue the second batch waits until a thread has written the first.
  auto publication = *database->begin_publication({.threads = 2, .queue = Bytes(1)});
  const SampleMemory memory = sample_memory(1), other = sample_memory(2);
  Region first = sample_region(memory), second = sample_region(other);
  Status status = publication->put(batch_of(memory.before, first));
  if (status.ok()) status = publication->put(batch_of(other.before, second));
  if (status.ok()) status = publication->wait();
  EXPECT_EQ(status.code(), Code::exhausted) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
  EXPECT_EQ(publication->wait().code(), Code::exhausted);
  EXPECT_EQ(publication->commit({}).code(), Code::exhausted);
}

TEST(StoreThreads, AnyReaderThreadsFailureIsTheReadings) {
  if (usable_processors() < 2) GTEST_SKIP() << "one thread reads where there is one processor";
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  auto writer = Database::create(directory.path());
  const Digest dynamic = *publish_sample(*writer, kernel, memory_of_many_pages());

  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> reading = false;
  std::promise<void> failed;
  std::shared_future<void> another = failed.get_future().share();
  std::once_flag once;
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    if (!reading || operation != "read") return Status();
    if (std::this_thread::get_id() == caller) {  // it does not read everything alone
      another.wait_for(std::chrono::seconds(60));
      return Status();
    }
    std::call_once(once, [&] { failed.set_value(); });
    return error(Code::io, "reading {}: Input/output error", path.string());
  });
  auto database = Database::open(directory.path(), *disk);
  auto recorded = database->load_instance(kernel.static_hash, dynamic);
  ASSERT_TRUE(recorded.ok());
  const Region& region = recorded->prologue.regions.front();
  ASSERT_TRUE(read_region(*database, region).ok());
  reading = true;
  EXPECT_THAT(read_region(*database, region).status().to_string(), HasSubstr("Input/output error"));
}

// Whichever thread comes upon it.
TEST(StoreThreads, DamageInAnyPageOfALargePackIsFound) {
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  auto database = Database::create(directory.path());
  const Digest dynamic = *publish_sample(*database, kernel, memory_of_many_pages());
  const Path pack = directory.path() / "pages" / FileSystem::posix().list(directory.path() / "pages")->front();
  auto file = *FileSystem::posix().open(pack);
  const std::vector<PackedPage> pages = *read_pack(*file, pack.string());
  ASSERT_EQ(pages.size(), kPages);
  const Region region = database->load_instance(kernel.static_hash, dynamic)->prologue.regions.front();
  for (const PackedPage& page : pages) {
    std::fstream bytes(pack, std::ios::in | std::ios::out | std::ios::binary);
    auto flip = [&] {
      bytes.seekg(static_cast<std::streamoff>(page.offset));
      const char byte = static_cast<char>(bytes.get());
      bytes.seekp(static_cast<std::streamoff>(page.offset));
      bytes.put(static_cast<char>(byte ^ 1)).flush();
    };
    flip();
    EXPECT_EQ(read_region(*database, region).status().to_string(),
              fmt::format("corrupt: {}: offset {}: the stored bytes of page {} are damaged (checksum)", pack.string(),
                          page.offset, page.digest.hex()));
    flip();
  }
  EXPECT_TRUE(read_region(*database, region).ok());
}

// Whichever thread comes upon its own first.
TEST(StoreThreads, OfSeveralFailuresTheFirstIsTold) {
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  auto writer = Database::create(directory.path());
  const Digest dynamic = *publish_sample(*writer, kernel, memory_of_many_pages());
  std::atomic<int> left = 0;
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    if (operation == "read" && --left < 0) throw std::bad_alloc();
    return Status();
  });
  auto database = Database::open(directory.path(), *disk);
  left = 1000;
  const Region region = database->load_instance(kernel.static_hash, dynamic)->prologue.regions.front();
  Region missing = region;
  for (size_t page : {10, 40, 90}) missing.pages[page] = Digest{{static_cast<uint8_t>(page)}};
  for (int i = 0; i < 10; ++i)
    EXPECT_THAT(read_region(*database, missing).status().message(), HasSubstr("holds page " + missing.pages[10].hex()));
  left = 50;
  EXPECT_EQ(read_region(*database, region).status().to_string(),
            fmt::format("exhausted: reading pages of {}: there is no memory left", (directory.path() / "pages").string()));
}

}  // namespace
}  // namespace mneme
