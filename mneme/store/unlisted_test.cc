// A process is killed while launches that are complete wait to be listed: who opens the database next lists them.
#include "mneme/store/unlisted.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>

#include "mneme/store/commit_group.h"
#include "mneme/store/pack.h"
#include "mneme/store/testing/lent.h"
#include "mneme/store/testing/two_packs.h"

namespace mneme {
namespace {

const std::vector<KernelRecord> kFive = {sample_kernel("one"), sample_kernel("two"), sample_kernel("one"), sample_kernel("three"),
                                         sample_kernel("two")};

// How many operations that change files are left before the process is killed.
int* operations_left = nullptr;

std::unique_ptr<FileSystem> killing_file_system() {
  return faulty_file_system(FileSystem::posix(), [](std::string_view operation, const Path&, uint64_t) {
    const bool changes = operation != "open" && operation != "read" && operation != "lock";
    if (changes && operations_left && (*operations_left)-- <= 0) ::raise(SIGKILL);
    return Status();
  });
}

// Runs in a process that is killed before its operation of this number; whether it came to its end.
template <typename Work>
bool run_and_kill(int operations, const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    operations_left = nullptr;
    work([&] { operations_left = &operations; });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status);
}

// Adds them one after another. `told` has how many were added.
void add_all(Database& database, CommitGroup& group, const std::vector<KernelRecord>& kernels, uint32_t seed, volatile int* told,
             std::vector<std::unique_ptr<Lent>>& all) {
  const auto writers = std::make_shared<WriterThreads>(1, Bytes(0));
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    all.push_back(std::make_unique<Lent>(database, writers, sample_memory(seed + i, kPageSize.count)));
    if (!group.add(*all.back()->publication, all.back()->as(kernels[i])).ok()) ::_exit(1);
    *told = *told + 1;
  }
}

int* shared_count() {
  static int* count = static_cast<int*>(::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *count = 0;
  return count;
}

std::vector<Path> unlisted_files(const Path& directory) {
  std::vector<Path> found;
  const auto names = FileSystem::posix().list(directory);
  for (const std::string& name : *names)
    if (is_temporary_of(name, kUnlistedName)) found.push_back(directory / name);
  return found;
}

size_t count_temporary(const Path& directory) {
  size_t count = 0;
  for (const Path& folder : {directory, directory / "pages"}) {
    const auto names = FileSystem::posix().list(folder);
    count += static_cast<size_t>(std::ranges::count_if(*names, [](const std::string& name) { return is_temporary(name); }));
  }
  return count;
}

// How many instances the database lists, each of which must be whole.
size_t count_whole(const Path& directory, const std::string& when) {
  const auto database = Database::open(directory);
  if (!database.ok()) return 0;
  const auto listing = database->list();
  EXPECT_TRUE(listing->damaged.empty()) << when << ": " << listing->damaged.front().message();
  size_t count = 0;
  for (const KernelDocument& document : listing->kernels)
    for (const InstanceRecord& instance : document.instances) {
      const Status whole = database->check_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_TRUE(whole.ok()) << when << ": " << whole.to_string();
      ++count;
    }
  return count;
}

// Leaves a group of five of which nothing is listed.
void leave_five(const Path& directory) {
  int* told = shared_count();
  ASSERT_FALSE(run_and_kill(0, [&](const auto& count_from_here) {
    auto database = Database::create(directory);
    const auto group = database->begin_group();
    std::vector<std::unique_ptr<Lent>> all;
    add_all(*database, *group, kFive, 1, told, all);
    count_from_here();
    ::raise(SIGKILL);
  }));
  ASSERT_EQ(*told, 5);
  ASSERT_EQ(unlisted_files(directory).size(), 1u);
}

// Whenever the process is killed, while it adds or while the group is finished, every launch but the one that was being written
// is listed and whole.
TEST(Unlisted, AKillAtAnyOperationLosesTheLaunchThatWasBeingWrittenAtMost) {
  bool finished = false;
  for (int operations = 0; !finished; ++operations) {
    ASSERT_LT(operations, 300);
    TemporaryDirectory directory;
    int* told = shared_count();
    const auto files = killing_file_system();
    finished = run_and_kill(operations, [&](const auto& count_from_here) {
      auto database = Database::create(directory.path(), *files);
      count_from_here();
      const auto group = database->begin_group();
      std::vector<std::unique_ptr<Lent>> all;
      add_all(*database, *group, kFive, 1, told, all);
      if (group->finish().size() != kFive.size()) ::_exit(1);
    });
    const std::string when = fmt::format("after {} operations", operations);
    EXPECT_GE(count_whole(directory.path(), when), static_cast<size_t>(*told)) << when;
    EXPECT_TRUE(unlisted_files(directory.path()).empty()) << when;
    // The next recording goes on, and nothing half-written is left.
    auto again = Database::create(directory.path());
    ASSERT_TRUE(publish_sample(*again, sample_kernel("two"), sample_memory(9)).ok()) << when;
    EXPECT_GE(count_whole(directory.path(), when), static_cast<size_t>(*told) + 1) << when;
    EXPECT_EQ(count_temporary(directory.path()), 0u) << when;
  }
}

// Nor does one that was opened while the process was alive remove them.
TEST(Unlisted, WhatIsRemovedLaterIsNotWhatAKilledProcessHasLeft) {
  for (const bool repairs : {false, true}) {
    TemporaryDirectory directory;
    auto before = Database::create(directory.path());
    leave_five(directory.path());
    const Status removed = repairs ? before->check_all(Deed::remove).status() : before->clean({}, Deed::remove).status();
    EXPECT_TRUE(removed.ok()) << removed.to_string();
    EXPECT_EQ(count_whole(directory.path(), "later"), kFive.size());
    EXPECT_EQ(count_temporary(directory.path()), 0u);
  }
}

// What cannot be listed keeps everything where it is.
TEST(Unlisted, NothingIsRemovedWhileTheyCannotBeListed) {
  TemporaryDirectory directory;
  bool full = false;
  const auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    return full && operation == "rename" ? error(Code::exhausted, "disk full") : Status();
  });
  auto before = Database::create(directory.path(), *disk);
  leave_five(directory.path());
  full = true;
  const Status removed = before->clean({}, Deed::remove).status();
  EXPECT_EQ(removed.message(),
            fmt::format("removing from {}: launches that a killed recording has left cannot be listed, and would be lost",
                        directory.path().string()));
  full = false;
  EXPECT_EQ(count_whole(directory.path(), "later"), kFive.size());
}

// Not as large as the code, of which each launch of a new kernel may have megabytes.
TEST(Unlisted, AnImageIsToldAsItsFile) {
  const ByteVector code(1 << 20);
  KernelRecord kernel = sample_kernel("one");
  kernel.images.push_back({CodeImageRecord::Kind::cubin, digest_of(code), Bytes(code.size())});
  for (const bool killed : {false, true}) {
    TemporaryDirectory directory;
    run_and_kill(0, [&](const auto&) {
      auto database = Database::create(directory.path());
      const auto group = database->begin_group();
      Lent lent(*database, std::make_shared<WriterThreads>(1, Bytes(0)), sample_memory(1));
      lent.as(kernel);
      lent.recording.images = {code};
      if (!group->add(*lent.publication, lent.recording).ok()) ::_exit(1);
      if (killed) ::raise(SIGKILL);
      (void)group->finish();
    });
    ASSERT_EQ(unlisted_files(directory.path()).size(), killed ? 1u : 0u);
    if (killed) EXPECT_LT(std::filesystem::file_size(unlisted_files(directory.path())[0]), 10'000u);
    EXPECT_EQ(count_whole(directory.path(), killed ? "killed" : "finished"), 1u);
    const auto loaded = Database::open(directory.path())->load_image(kernel.images[0]);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(*loaded, code);
  }
}

// The listing itself is killed, and done by who comes next.
TEST(Unlisted, AKillWhileTheyAreBeingListedLosesNone) {
  bool finished = false;
  for (int operations = 0; !finished; ++operations) {
    ASSERT_LT(operations, 100);
    TemporaryDirectory directory;
    leave_five(directory.path());
    const auto files = killing_file_system();
    finished = run_and_kill(operations, [&](const auto& count_from_here) {
      count_from_here();
      (void)Database::open(directory.path(), *files).ok();
    });
    EXPECT_EQ(count_whole(directory.path(), fmt::format("after {} operations", operations)), 5u);
  }
}

// As a disk that is full for a moment keeps what tells of a launch from being written whole.
TEST(Unlisted, WhatCouldNotBeNotedHidesNoLaterLaunch) {
  TemporaryDirectory directory;
  int* told = shared_count();
  ASSERT_FALSE(run_and_kill(0, [&](const auto&) {
    auto database = Database::create(directory.path());
    const auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
    const auto group = database->begin_group();
    std::vector<std::unique_ptr<Lent>> all;
    for (uint32_t i = 0; i < 3; ++i) {
      all.push_back(std::make_unique<Lent>(*database, writers, sample_memory(1 + i, kPageSize.count)));
      all.back()->as(kFive[i == 2 ? 3 : i]);
      rlimit before{};
      ::getrlimit(RLIMIT_FSIZE, &before);
      const rlimit small{1 << 20, before.rlim_max};
      if (i == 1) {
        all.back()->recording.ir = noise(4 << 20, 7);  // which is noted, and written to no other file yet
        ::setrlimit(RLIMIT_FSIZE, &small);
      }
      *told += group->add(*all.back()->publication, all.back()->recording).ok();
      ::setrlimit(RLIMIT_FSIZE, &before);
    }
    ::raise(SIGKILL);
  }));
  ASSERT_EQ(*told, 3);
  EXPECT_EQ(count_whole(directory.path(), "after the kill"), 2u);
}

// Every operation of the listing fails in turn, also one that reads, alone or with all after it: who comes next lists them all.
TEST(Unlisted, AFailureWhileTheyAreBeingListedLosesNone) {
  TemporaryDirectory left_by_kill;
  leave_five(left_by_kill.path());
  std::ofstream(left_by_kill.path() / "pages" / pack_file_name(Digest()))
      << "damaged";  // the first of all packs, which nobody needs
  for (const bool all_after : {true, false}) {
    bool all = false;
    for (int operations = 0; !all; ++operations) {
      ASSERT_LT(operations, 300);
      TemporaryDirectory directory;
      std::filesystem::copy(left_by_kill.path(), directory.path(), std::filesystem::copy_options::recursive);
      int left = operations;
      const auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
        const int before = left--;
        if (before > 0 || (!all_after && before < 0)) return Status();
        return error(Code::io, "{} {}: Input/output error", operation, path.string());
      });
      (void)Database::open(directory.path(), *disk).ok();
      all = left >= 0;
      const std::string when = fmt::format("after {} operations{}", operations, all_after ? "" : ", of which one failed");
      EXPECT_EQ(count_whole(directory.path(), when), 5u) << when;
    }
  }
}

TEST(Unlisted, IsListedInItsOrder) {
  TemporaryDirectory directory;
  leave_five(directory.path());
  const auto database = Database::open(directory.path());
  const auto document = database->load_document(sample_kernel("one").static_hash);
  ASSERT_EQ(document->instances.size(), 2u);
  const auto hash_of = [&](uint32_t seed) {
    TemporaryDirectory other;
    auto made = Database::create(other.path());
    return *publish_sample(*made, sample_kernel("one"), sample_memory(seed, kPageSize.count));
  };
  EXPECT_EQ(document->instances[0].dynamic_hash, hash_of(1));
  EXPECT_EQ(document->instances[1].dynamic_hash, hash_of(3));
}

// Launches of the next group count on pages of a group that has not been finished.
TEST(Unlisted, TheNextGroupCountsOnPagesOfTheOneBefore) {
  TemporaryDirectory directory;
  int* told = shared_count();
  ASSERT_FALSE(run_and_kill(0, [&](const auto& count_from_here) {
    auto database = Database::create(directory.path());
    const auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
    Lent first(*database, writers, sample_memory(1)), second(*database, writers, sample_memory(1));
    const auto before = database->begin_group();
    if (!before->add(*first.publication, first.as(sample_kernel("one"))).ok()) ::_exit(1);
    const auto after = database->begin_group(before.get());
    if (!after->add(*second.publication, second.as(sample_kernel("two"))).ok()) ::_exit(1);
    *told = 2;
    count_from_here();
    ::raise(SIGKILL);
  }));
  ASSERT_EQ(*told, 2);
  EXPECT_EQ(unlisted_files(directory.path()).size(), 2u);
  EXPECT_EQ(count_whole(directory.path(), "after the kill"), 2u);
}

TEST(Unlisted, AGroupFailsWithThePagesOfTheOneBefore) {
  TemporaryDirectory directory;
  bool fails = false;
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    const bool of_a_pack = operation == "sync" && path.parent_path().filename() == "pages";
    return of_a_pack && std::exchange(fails, false) ? error(Code::io, "the disk is broken") : Status();
  });
  auto database = Database::create(directory.path(), *disk);
  const auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
  Lent first(*database, writers, sample_memory(1)), second(*database, writers, sample_memory(1)),
      third(*database, writers, sample_memory(3));
  const auto before = database->begin_group();
  ASSERT_TRUE(before->add(*first.publication, first.as(sample_kernel("one"))).ok());
  const auto after = database->begin_group(before.get());
  ASSERT_TRUE(after->add(*second.publication, second.as(sample_kernel("two"))).ok());
  ASSERT_TRUE(after->add(*third.publication, third.as(sample_kernel("three"))).ok());
  fails = true;
  EXPECT_EQ(before->finish()[0].code(), Code::io);
  const std::vector<Status> statuses = after->finish();
  EXPECT_EQ(statuses[0].code(), Code::unavailable);
  EXPECT_TRUE(statuses[1].ok());
  EXPECT_EQ(count_whole(directory.path(), "at the end"), 1u);
}

// A process that is alive lists its launches itself.
TEST(Unlisted, OfALivingProcessNothingIsTouched) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const auto group = database->begin_group();
  int told = 0;
  std::vector<std::unique_ptr<Lent>> all;
  add_all(*database, *group, kFive, 1, &told, all);
  EXPECT_EQ(count_whole(directory.path(), "before the end"), 0u);
  ASSERT_TRUE(Database::create(directory.path()).ok());
  EXPECT_EQ(unlisted_files(directory.path()).size(), 1u);
  EXPECT_EQ(group->finish().size(), 5u);
  EXPECT_EQ(count_whole(directory.path(), "after it"), 5u);
  EXPECT_TRUE(unlisted_files(directory.path()).empty());
}

void cut_file(const Path& path, uint64_t size) { std::filesystem::resize_file(path, size); }

// The power has gone with the process: any of the files may have lost any end.
TEST(Unlisted, WhatLostItsEndIsNotListedAndTheRestIsWhole) {
  TemporaryDirectory whole;
  leave_five(whole.path());
  std::vector<Path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(whole.path()))
    if (entry.is_regular_file() && entry.file_size() != 0) files.push_back(std::filesystem::relative(entry.path(), whole.path()));
  ASSERT_GE(files.size(), 16u);
  for (const Path& file : files) {
    const uint64_t size = std::filesystem::file_size(whole.path() / file);
    for (const uint64_t left : {uint64_t{0}, size / 3, size - 1}) {
      TemporaryDirectory directory;
      std::filesystem::copy(whole.path(), directory.path(), std::filesystem::copy_options::recursive);
      cut_file(directory.path() / file, left);
      const std::string when = fmt::format("{} cut to {} of {} bytes", file.string(), left, size);
      const size_t listed = count_whole(directory.path(), when);
      if (!is_temporary_of(file.filename().string(), kUnlistedName)) {
        EXPECT_EQ(listed, 4u) << when;
      } else {
        EXPECT_LE(listed, 4u) << when;
        if (left == size - 1) EXPECT_EQ(listed, 4u) << when;
      }
      auto again = Database::create(directory.path());
      EXPECT_EQ(count_temporary(directory.path()), 0u) << when;
      EXPECT_EQ(again->check_all(Deed::tell)->damage.size(), 0u) << when;
    }
  }
}

// Each byte of what tells of them is another one in turn.
TEST(Unlisted, DamageInWhatTellsOfThemListsNothingWrong) {
  TemporaryDirectory whole;
  leave_five(whole.path());
  const Path file = unlisted_files(whole.path())[0];
  ByteVector bytes = *FileSystem::posix().read(file);
  const auto before = decode_unlisted(bytes, "it");
  ASSERT_EQ(before->launches.size(), 5u);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x10};
    if (const auto after = decode_unlisted(bytes, "it"); after.ok() && i >= 20) EXPECT_LT(after->launches.size(), 5u) << i;
    bytes[i] ^= std::byte{0x10};
  }
}

// Likewise where the launch has several packs.
TEST(Unlisted, AKillAtAnyOperationLosesNoneOfSeveralPacks) {
  const SampleMemory memory = memory_of_two_packs();
  bool finished = false;
  for (int operations = 0; !finished; ++operations) {
    ASSERT_LT(operations, 200);
    TemporaryDirectory directory;
    int* told = shared_count();
    const auto killing = killing_file_system();
    TwoPacks two;
    const auto files = faulty_file_system(*killing, [&](std::string_view operation, const Path& path, uint64_t size) {
      if (!two.before(operation, path, size)) ::_exit(2);
      return Status();
    });
    finished = run_and_kill(operations, [&](const auto& count_from_here) {
      auto database = Database::create(directory.path(), *files);
      count_from_here();
      const auto group = database->begin_group();
      Lent lent(*database, std::make_shared<WriterThreads>(2, 64_MiB), memory);
      if (!group->add(*lent.publication, lent.as(kFive[0])).ok()) ::_exit(1);
      *told = 1;
      if (group->finish().size() != 1) ::_exit(1);
    });
    const std::string when = fmt::format("after {} operations", operations);
    EXPECT_EQ(count_whole(directory.path(), when), static_cast<size_t>(*told)) << when;
    if (finished) EXPECT_EQ(*told, 1);
    if (*told == 1) EXPECT_GE(FileSystem::posix().list(directory.path() / "pages")->size(), 2u) << when;
    auto again = Database::create(directory.path());
    ASSERT_TRUE(publish_sample(*again, sample_kernel("two"), sample_memory(9)).ok()) << when;
    EXPECT_EQ(count_whole(directory.path(), when), static_cast<size_t>(*told) + 1) << when;
    EXPECT_EQ(count_temporary(directory.path()), 0u) << when;
  }
}

// A recorder of before was killed: its launches have one pack, or states under temporary names of their own.
TEST(Unlisted, IsReadInTheVersionsBefore) {
  TemporaryDirectory directory;
  leave_five(directory.path());
  const auto left = decode_unlisted(*FileSystem::posix().read(unlisted_files(directory.path())[0]), "it");
  const auto encoded = [&](int version, bool own_names) {
    ByteVector bytes = encode_unlisted_begin(1);
    constexpr size_t kVersionAt = 8;
    EXPECT_EQ(bytes[kVersionAt], std::byte{4});
    bytes[kVersionAt] = static_cast<std::byte>(version);
    for (UnlistedLaunch launch : left->launches) {
      const InstanceRecord& instance = launch.instance;
      if (own_names)
        for (const Moment moment : {Moment::prologue, Moment::epilogue})
          launch.states[moment == Moment::prologue ? 0 : 1] =
              state_file_name(moment, instance.static_hash, instance.dynamic_hash) + ".tmp.1";
      const ByteVector one = encode_unlisted(launch, encode_unlisted_records(encode_kernel(launch.kernel), instance));
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return bytes;
  };
  for (const int version : {2, 3}) EXPECT_EQ(decode_unlisted(encoded(version, true), "it")->launches.size(), 5u) << version;
  EXPECT_EQ(decode_unlisted(encoded(4, false), "it")->launches.size(), 5u);
  EXPECT_FALSE(decode_unlisted(encoded(3, false), "it").ok());
  EXPECT_FALSE(decode_unlisted(encoded(4, true), "it").ok());
  for (const int version : {1, 5}) EXPECT_FALSE(decode_unlisted(encoded(version, false), "it").ok()) << version;
}

TEST(Unlisted, NamesNoFileElsewhere) {
  TemporaryDirectory directory;
  leave_five(directory.path());
  auto found = decode_unlisted(*FileSystem::posix().read(unlisted_files(directory.path())[0]), "it");
  const auto refusal = [](const UnlistedLaunch& launch) {
    ByteVector bytes = encode_unlisted_begin(1);
    const ByteVector one = encode_unlisted(launch, encode_unlisted_records(encode_kernel(launch.kernel), launch.instance));
    bytes.insert(bytes.end(), one.begin(), one.end());
    return decode_unlisted(bytes, "it").status().message();
  };
  UnlistedLaunch launch = found->launches[0];
  EXPECT_EQ(refusal(launch), "");
  launch.packs[0].temporary = "../pack.tmp.1";
  EXPECT_THAT(refusal(launch), testing::MatchesRegex("it: offset [0-9]+: a file has a name that it cannot have"));
  launch = found->launches[0];
  launch.states[1] = launch.states[0];
  EXPECT_THAT(refusal(launch), testing::MatchesRegex("it: offset [0-9]+: a file has a name that it cannot have"));
  launch = found->launches[0];
  launch.images[7] = ByteVector(3);
  EXPECT_THAT(refusal(launch), testing::MatchesRegex("it: offset [0-9]+: the kernel has no such image"));
}

TEST(Unlisted, WhatCannotBeListedNowStaysForLater) {
  TemporaryDirectory directory;
  leave_five(directory.path());
  const auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    return operation == "append" ? error(Code::exhausted, "append {}: No space left on device", path.string()) : Status();
  });
  {
    testing::internal::CaptureStderr();
    const auto database = Database::open(directory.path(), *disk);
    ASSERT_TRUE(database.ok());
    EXPECT_THAT(
        testing::internal::GetCapturedStderr(),
        testing::HasSubstr(directory.path().string() + " has launches that a killed recording has left complete, and they "
                                                       "cannot be listed: append "));
    EXPECT_TRUE(database->list()->kernels.empty());
  }
  ASSERT_TRUE(Database::create(directory.path(), *disk).ok());  // removes nothing
  EXPECT_EQ(count_whole(directory.path(), "with room"), 5u);
}

}  // namespace
}  // namespace mneme
