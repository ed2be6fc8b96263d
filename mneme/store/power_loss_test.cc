// The machine loses its power: what was published is there, and what is listed is whole.
#include <gmock/gmock.h>

#include "mneme/base/testing/forgetful_file_system.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

void expect_whole(const Path& directory, const KernelRecord& kernel, size_t instances, const std::string& when) {
  auto database = Database::open(directory);
  ASSERT_TRUE(database.ok()) << when << ": " << database.status().to_string();
  auto document = database->load_document(kernel.static_hash);
  ASSERT_TRUE(document.ok()) << when << ": " << document.status().to_string();
  EXPECT_GE(document->instances.size(), instances) << when;
  for (const InstanceRecord& instance : document->instances) {
    const Status whole = database->check_instance(instance.static_hash, instance.dynamic_hash);
    EXPECT_TRUE(whole.ok()) << when << ": " << whole.to_string();
  }
}

TEST(PowerLoss, WhatWasPublishedStays) {
  TemporaryDirectory directory;
  testing_base::ForgetfulFileSystem disk;
  const KernelRecord kernel = sample_kernel();
  auto database = Database::create(directory.path(), disk);
  for (uint32_t instance = 1; instance <= 3; ++instance) {
    ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(instance)).ok());
    disk.forget();
    expect_whole(directory.path(), kernel, instance, fmt::format("after instance {}", instance));
  }
}

// A disk may keep the later of two writes and lose the earlier: a list's first line, which says how many lines there are, is
// written once the lines themselves are kept.
TEST(PowerLoss, AListCountsOnlyLinesThatAreKept) {
  TemporaryDirectory directory;
  const KernelRecord kernel = sample_kernel();
  std::vector<std::string> done;
  auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    if (path.filename() == list_file_name(kernel.static_hash)) done.emplace_back(operation);
    return Status();
  });
  auto database = Database::create(directory.path(), *files);
  ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(1)).ok());
  done.clear();
  ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(2)).ok());
  std::erase_if(done, [](const std::string& operation) { return operation != "write" && operation != "sync"; });
  EXPECT_THAT(done, testing::ElementsAre("write", "sync", "write", "sync"));
}

// The process ends at any operation, and the power goes with it.
TEST(PowerLoss, WhatIsListedIsWholeWheneverItHappens) {
  const KernelRecord kernel = sample_kernel();
  bool published = false;
  for (int operations = 0; !published; ++operations) {
    ASSERT_LT(operations, 100);
    TemporaryDirectory directory;
    {
      auto before = Database::create(directory.path());
      ASSERT_TRUE(publish_sample(*before, kernel, sample_memory(1, 2000)).ok());
    }
    testing_base::ForgetfulFileSystem disk;
    int left = 1 << 20;
    auto ending = faulty_file_system(disk, [&](std::string_view operation, const Path&, uint64_t) {
      const bool changes = operation != "open" && operation != "read" && operation != "lock";
      return changes && left-- <= 0 ? error(Code::io, "the process is gone") : Status();
    });
    auto database = Database::create(directory.path(), *ending);
    ASSERT_TRUE(database.ok());
    left = operations;
    published = publish_sample(*database, kernel, sample_memory(2)).ok();
    disk.forget();
    expect_whole(directory.path(), kernel, published ? 2 : 1, fmt::format("after {} operations", operations));
  }
}

}  // namespace
}  // namespace mneme
