// Publishing is stopped at every operation of the file system: what is listed afterwards is whole.
#include <gmock/gmock.h>

#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

// Lets `allowed` operations happen and none after them, as when the process is killed or the disk is full.
struct Crash {
  std::atomic<int> allowed = 0;
  Code code = Code::exhausted;
  std::unique_ptr<FileSystem> files =
      faulty_file_system(FileSystem::posix(), [this](std::string_view operation, const Path& path, uint64_t) -> Status {
        bool changes = operation != "open" && operation != "read" && operation != "lock";
        if (changes && allowed-- <= 0) return error(code, "{} {}: No space left on device", operation, path.string());
        return {};
      });
};

TEST(Crash, AtEveryOperationWhatIsListedIsWhole) {
  const KernelRecord kernel = sample_kernel();
  bool published = false;
  for (int operations = 0; !published; ++operations) {
    ASSERT_LT(operations, 100);
    TemporaryDirectory directory;
    {
      auto before = Database::create(directory.path());
      ASSERT_TRUE(publish_sample(*before, kernel, sample_memory(1, 2000)).ok());
    }
    Crash crash;
    crash.allowed = 1 << 20;
    auto database = Database::create(directory.path(), *crash.files);
    ASSERT_TRUE(database.ok());
    crash.allowed = operations;
    auto dynamic = publish_sample(*database, kernel, sample_memory(2, 3 * kPageSize.count));
    published = dynamic.ok();
    if (!published) EXPECT_EQ(dynamic.status().code(), Code::exhausted) << dynamic.status().to_string();

    auto reader = Database::open(directory.path());
    auto document = reader->load_document(kernel.static_hash);
    ASSERT_TRUE(document.ok()) << document.status().message();
    EXPECT_GE(document->instances.size(), 1u);
    for (const InstanceRecord& instance : document->instances) {
      Status whole = reader->check_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_TRUE(whole.ok()) << "after " << operations << " operations: " << whole.message();
    }
    // The next recording into it goes on.
    auto again = Database::create(directory.path());
    EXPECT_TRUE(publish_sample(*again, kernel, sample_memory(2, 3 * kPageSize.count)).ok());
    EXPECT_EQ(again->load_document(kernel.static_hash)->instances.size(), 2u);
  }
}

// What is there of a kernel that was not in the database before is there whole: its file comes last.
TEST(Crash, AtEveryOperationOfAKernelsFirstInstanceItIsThereWholeOrNotAtAll) {
  const KernelRecord kernel = sample_kernel();
  bool published = false;
  for (int operations = 0; !published; ++operations) {
    ASSERT_LT(operations, 100);
    TemporaryDirectory directory;
    Crash crash;
    crash.allowed = 1 << 20;
    auto database = Database::create(directory.path(), *crash.files);
    ASSERT_TRUE(database.ok());
    crash.allowed = operations;
    published = publish_sample(*database, kernel, sample_memory(2, 3 * kPageSize.count)).ok();
    auto document = Database::open(directory.path())->load_document(kernel.static_hash);
    if (!document.ok()) {
      EXPECT_EQ(document.status().code(), Code::not_found)
          << "after " << operations << " operations: " << document.status().message();
      continue;
    }
    ASSERT_EQ(document->instances.size(), 1u) << "after " << operations << " operations";
    const Status whole =
        Database::open(directory.path())->check_instance(kernel.static_hash, document->instances[0].dynamic_hash);
    EXPECT_TRUE(whole.ok()) << "after " << operations << " operations: " << whole.message();
  }
}

TEST(Crash, FullDiskIsToldByItsFile) {
  TemporaryDirectory directory;
  Crash crash;
  crash.allowed = 1 << 20;
  auto database = Database::create(directory.path(), *crash.files);
  crash.allowed = 2;
  Status status = publish_sample(*database, sample_kernel(), sample_memory(1)).status();
  EXPECT_EQ(status.code(), Code::exhausted);
  EXPECT_THAT(status.message(), testing::MatchesRegex("append .*/pages/pack.tmp.[0-9a-f]+: No space left on device"));
}

}  // namespace
}  // namespace mneme
