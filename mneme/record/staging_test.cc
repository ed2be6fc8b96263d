// Programs that go on while their launches are stored.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <new>
#include <thread>

#include "mneme/record/pinned_ring.h"
#include "mneme/record/staging_memory.h"
#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

using ::testing::HasSubstr;

// A disk on which nothing is written before open().
class ClosedDisk {
 public:
  FileSystem* files() { return files_.get(); }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::thread open_soon() {
    return std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      open();
    });
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::unique_ptr<FileSystem> files_ =
      faulty_file_system(FileSystem::posix(), [this](std::string_view operation, const Path& path, uint64_t) {
        if (operation == "append" && path.parent_path().filename() == "pages") wait();
        return Status();
      });
};

constexpr uint64_t kAll = ~uint64_t{0};
constexpr uint64_t kEachInFlight[] = {0, kDefaultInFlight, kAll};

RecordingOptions every_launch(uint64_t in_flight = kAll) {
  RecordingOptions options;
  options.max = 1000;
  options.in_flight = in_flight;
  return options;
}

TEST(Staging, AProgramGoesOnWhileItsLaunchesAreStored) {
  ClosedDisk disk;
  FakeProgram program(every_launch(), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
  program.goes_on = true;
  constexpr int kElements = 300'000, kLaunches = 5;
  int* data = program.allocate<int>(kElements);
  for (int i = 0; i < kLaunches; ++i) program.launch(program.increment, data, kElements);
  EXPECT_EQ(data[0], kLaunches);
  EXPECT_EQ(program.report_now().storing, static_cast<uint64_t>(kLaunches));
  EXPECT_EQ(program.report_now().instances, 0u);
  disk.open();
  EXPECT_EQ(program.instances().size(), static_cast<size_t>(kLaunches));
  EXPECT_EQ(program.report().storing, 0u);
  EXPECT_EQ(program.report().instances, static_cast<uint64_t>(kLaunches));
}

// How many launches have returned when no more does, on a disk that takes nothing. Of each thread that launches one waits, which
// may be one that was within the bound when it was captured, where another thread's came before it had looked.
TEST(Staging, TheProgramGoesOnFromNoMoreLaunchesThanMayBeInFlight) {
  constexpr uint64_t kLaunches = 4;
  for (const uint64_t count : {1, 3})
    for (const uint64_t in_flight : {0, 1, 2}) {
      ClosedDisk disk;
      FakeProgram program(every_launch(in_flight), [&](Recorder::Environment& environment) {
        environment.files = disk.files();
        environment.patience = std::chrono::seconds(20);
      });
      program.goes_on = true;
      std::atomic<uint64_t> returned = 0;
      std::vector<std::thread> threads;
      for (uint64_t thread = 0; thread < count; ++thread)
        threads.emplace_back([&, data = program.allocate<int>(1000)] {
          for (uint64_t i = 0; i < kLaunches; ++i) program.launch(program.increment, data, 1000), ++returned;
        });
      const uint64_t captured = count == 1 ? in_flight + 1 : count;
      for (int waited = 0; program.report_now().storing < captured && waited < 2000; ++waited)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // in which more could return
      EXPECT_GE(program.report_now().storing, captured);
      EXPECT_LE(returned, in_flight);
      if (count == 1) EXPECT_EQ(returned, in_flight) << "and it does not wait before there is need to";
      disk.open();
      for (std::thread& thread : threads) thread.join();
      program.wait_until_written();
      EXPECT_EQ(program.instances().size() + program.report().duplicates, count * kLaunches);
      EXPECT_EQ(program.report().storing, 0u);
    }
}

// The digests of all but the first launch are made when the program has long changed the memory.
TEST(Staging, WhatTheProgramWritesAfterALaunchIsNotSeen) {
  ClosedDisk disk;
  FakeProgram program(every_launch(), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
  program.goes_on = true;
  constexpr int kElements = 300'000, kLaunches = 6;
  int* data = program.allocate<int>(kElements);
  for (int i = 0; i < kLaunches; ++i) {
    for (int at = 0; at < kElements; ++at) data[at] = at * (i + 1);
    program.launch(program.increment, data, kElements);
    std::fill_n(data, kElements, -1);
  }
  disk.open();
  const auto instances = program.instances();
  ASSERT_EQ(instances.size(), static_cast<size_t>(kLaunches));
  auto database = Database::open(program.database());
  for (int i = 0; i < kLaunches; ++i) {
    const InstanceRecord& instance = instances[static_cast<size_t>(i)];
    const auto memory = database->load_instance(instance.static_hash, instance.dynamic_hash);
    ASSERT_TRUE(memory.ok());
    std::vector<int> expected(kPageSize.count / sizeof(int));
    const auto expect_first_page = [&](const MemoryState& state, int more) {
      for (size_t at = 0; at < expected.size(); ++at) expected[at] = static_cast<int>(at) * (i + 1) + more;
      EXPECT_EQ(state.regions.at(0).pages.at(0), digest_of(std::as_bytes(std::span(expected)))) << i;
    };
    expect_first_page(memory->prologue, 0);
    expect_first_page(memory->epilogue, 1);
  }
}

// A launch that the database turns out to have may have left other memory than the recorded one, on which the next one counts.
TEST(Staging, WhatALaunchOfKnownDataHasLeftIsStoredForTheNextOne) {
  FakeProgram program(every_launch());
  program.goes_on = true;
  constexpr int kElements = 100'000;
  int* data = program.allocate<int>(kElements);
  int left = 1;
  runtime->kernels[program.increment] = [&](void** arguments) {
    std::fill_n(*static_cast<int**>(arguments[0]), kElements, left);
    return cudaSuccess;
  };
  for (; left <= 3; ++left) {
    std::fill_n(data, kElements, 0);
    program.launch(program.increment, data, kElements);
  }
  program.launch(program.increment, data, kElements);  // from what the third has left
  EXPECT_EQ(program.instances().size(), 2u);
  EXPECT_EQ(program.report().duplicates, 2u);
}

TEST(Staging, WithoutMemoryALaunchIsStoredWhenItReturns) {
  RecordingOptions options = every_launch();
  options.staging = Bytes(0);
  FakeProgram program(options);
  program.goes_on = true;
  int* data = program.allocate<int>(300'000);
  for (uint64_t i = 1; i < 4; ++i) {
    program.launch(program.increment, data, 300'000);
    EXPECT_EQ(program.report_now().instances, i);
    EXPECT_EQ(program.report_now().storing, 0u);
  }
  EXPECT_EQ(program.instances().size(), 3u);
}

TEST(Staging, WithLittleMemoryAllIsStored) {
  RecordingOptions options = every_launch();
  options.staging = kLeastStaging;
  FakeProgram program(options);
  program.goes_on = true;
  constexpr int kElements = 6 << 20;
  int* data = program.allocate<int>(kElements);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kElements; ++i) data[i] = i * 2654435761u + round;
    program.launch(program.increment, data, kElements);
  }
  EXPECT_EQ(program.instances().size(), 4u);
}

TEST(Staging, TheEndWaitsForWhatIsInFlight) {
  ClosedDisk disk;
  FakeProgram program(every_launch(), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
  program.goes_on = true;
  int* data = program.allocate<int>(1000);
  program.launch(program.increment, data, 1000);
  std::thread opens = disk.open_soon();
  recorder()->finish();
  EXPECT_EQ(program.report_now().instances, 1u);
  opens.join();
  // What is launched later is stored when it returns.
  program.launch(program.increment, data, 1000);
  EXPECT_EQ(program.report_now().instances, 2u);
}

TEST(Staging, ALaunchThatIsInFlightIsNotRecordedTwice) {
  ClosedDisk disk;
  FakeProgram program(every_launch(), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
  program.goes_on = true;
  int* data = program.allocate<int>(1000);
  program.launch(program.increment, data, 0);
  std::thread opens = disk.open_soon();
  program.launch(program.increment, data, 0);
  opens.join();
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.report().duplicates, 1u);
}

// Every operation on a file fails in turn, and all after it.
TEST(Staging, AtEveryOperationWhatIsListedIsWholeAndTheProgramIsRight) {
  for (const uint64_t in_flight : kEachInFlight) {
    constexpr int kElements = 100'000, kLaunches = 4;
    bool all = false;
    for (int operations = 0; !all; ++operations) {
      ASSERT_LT(operations, 500);
      std::atomic<int> allowed = 1 << 20;
      auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) -> Status {
        const bool changes = operation != "open" && operation != "read" && operation != "lock";
        if (changes && allowed-- <= 0) return error(Code::exhausted, "{} {}: No space left on device", operation, path.string());
        return {};
      });
      FakeProgram program(every_launch(in_flight), [&](Recorder::Environment& environment) { environment.files = disk.get(); });
      program.goes_on = true;
      int* data = program.allocate<int>(kElements);
      allowed = operations;
      for (int i = 0; i < kLaunches; ++i) program.launch(program.increment, data, kElements);
      EXPECT_EQ(data[kElements - 1], kLaunches);
      const size_t listed = program.instances().size();
      EXPECT_GE(listed, program.report().instances);
      EXPECT_EQ(program.report().instances + program.count(NotRecorded::ended), static_cast<uint64_t>(kLaunches));
      EXPECT_EQ(program.report().storing, 0u);
      all = program.report().instances == kLaunches;
    }
  }
}

// One operation of all fails, also one that reads, and the disk is well again: what was said to be recorded is listed and whole.
TEST(Staging, AFailureOfOneOperationLosesNothingThatIsReported) {
  for (const uint64_t in_flight : kEachInFlight) {
    constexpr int kElements = 100'000, kLaunches = 4;
    bool all = false;
    for (int operations = 0; !all; ++operations) {
      ASSERT_LT(operations, 500);
      std::atomic<int> left = 1 << 20;
      auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
        return left-- == 0 ? error(Code::io, "{} {}: Input/output error", operation, path.string()) : Status();
      });
      FakeProgram program(every_launch(in_flight), [&](Recorder::Environment& environment) { environment.files = disk.get(); });
      program.goes_on = true;
      int* data = program.allocate<int>(kElements);
      left = operations;
      for (int i = 0; i < kLaunches; ++i) program.launch(program.increment, data, kElements);
      EXPECT_EQ(data[kElements - 1], kLaunches);
      const size_t listed = program.instances().size();
      all = left >= 0;
      EXPECT_GE(listed, program.report().instances) << operations;
      EXPECT_EQ(program.report().storing, 0u) << operations;
      if (all) EXPECT_EQ(listed, static_cast<size_t>(kLaunches));
    }
  }
}

// A kernel whose own file stands in the way is left out. What comes after it counts on pages of it.
TEST(Staging, WhatCountsOnPagesOfALaunchThatCannotBeListedIsWhole) {
  ClosedDisk disk;
  FakeProgram program(every_launch(), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
  program.goes_on = true;
  int* data = program.allocate<int>(100'000);
  for (int i = 0; i < 100'000; ++i) data[i] = i;
  program.launch(program.increment, data, 100'000);
  const Digest increments = *Digest::from_hex("01000000000000000000000000000000");
  ASSERT_TRUE(std::filesystem::create_directory(program.database() / ir_file_name(increments)));
  program.launch(program.add_table, data);
  disk.open();
  const auto instances = program.instances();
  ASSERT_EQ(instances.size(), 1u);
  EXPECT_NE(instances[0].static_hash, increments);
  EXPECT_EQ(program.count(NotRecorded::damaged_file), 1u);
}

TEST(Staging, ADeviceThatIsGoneEndsRecordingAndWhatIsInFlightIsStored) {
  for (const char* failing : {"gather", "hash_ranges", "copy_to_host"}) {
    ClosedDisk disk;
    std::atomic<bool> gone = false;
    FakeProgram program(every_launch(), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
    program.failures = [&, failing](std::string_view call) {
      return gone && call == failing ? error(Code::device_fault, "the device is lost") : Status();
    };
    program.goes_on = true;
    int* data = program.allocate<int>(100'000);
    for (int i = 0; i < 3; ++i) program.launch(program.increment, data, 100'000);
    gone = true;
    EXPECT_EQ(program.launch(program.increment, data, 100'000), cudaSuccess);
    EXPECT_EQ(program.launch(program.increment, data, 100'000), cudaSuccess);
    EXPECT_EQ(data[0], 5);
    disk.open();
    EXPECT_EQ(program.instances().size(), 3u) << failing;
    EXPECT_EQ(program.count(NotRecorded::ended), 2u) << failing;
    EXPECT_THAT(program.report().failure.get(), HasSubstr("recording increment: the device is lost"));
  }
}

// Whatever the recorder asks of the device next fails, and all that it asks after that, while launches are being stored.
TEST(Staging, ADeviceThatIsGoneAtAnyCallEndsRecordingAndTheProgramIsRight) {
  for (const uint64_t in_flight : kEachInFlight) {
    constexpr int kElements = 300'000, kLaunches = 4;
    bool all = false;
    for (int calls = 0; !all; ++calls) {
      ASSERT_LT(calls, 200);
      ClosedDisk disk;
      FakeProgram program(every_launch(in_flight), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
      int left = 1 << 20;
      program.failures = [&](std::string_view) {
        return left-- > 0 ? Status() : error(Code::device_fault, "the device is lost");
      };
      program.goes_on = true;
      int* data = program.allocate<int>(kElements);
      left = calls;
      std::thread opens = disk.open_soon();  // a launch that is given up waits for what a thread has begun to write of it
      for (int i = 0; i < kLaunches; ++i) {
        data[i] = i;
        EXPECT_EQ(program.launch(program.increment, data, kElements), cudaSuccess);
      }
      all = left >= 0;
      EXPECT_EQ(data[kElements - 1], kLaunches) << calls;
      EXPECT_EQ(recorder()->is_recording(), all) << calls;
      EXPECT_EQ(program.report_now().failure.get(), all ? "" : "recording increment: the device is lost") << calls;
      opens.join();
      const size_t listed = program.instances().size();
      EXPECT_EQ(listed, program.report().instances) << calls;
      EXPECT_EQ(listed + program.count(NotRecorded::ended), static_cast<size_t>(kLaunches)) << calls;
      EXPECT_EQ(program.report().storing, 0u);
      left = 1 << 20;
    }
  }
}

// Likewise where memory runs out: the program sees no exception.
TEST(Staging, MemoryThatRunsOutInACaptureEndsRecordingAndTheProgramIsRight) {
  for (const uint64_t in_flight : kEachInFlight) {
    constexpr int kElements = 300'000, kLaunches = 3;
    bool all = false;
    for (int calls = 0; !all; ++calls) {
      ASSERT_LT(calls, 200);
      FakeProgram program(every_launch(in_flight));
      int left = 1 << 20;
      program.failures = [&](std::string_view) {
        if (left-- == 0) throw std::bad_alloc();
        return Status();
      };
      program.goes_on = true;
      int* data = program.allocate<int>(kElements);
      left = calls;
      for (int i = 0; i < kLaunches; ++i) EXPECT_EQ(program.launch(program.increment, data, kElements), cudaSuccess);
      all = left >= 0;
      EXPECT_EQ(data[kElements - 1], kLaunches) << calls;
      EXPECT_EQ(program.report_now().failure.get(), all ? "" : "recording increment: there is no memory to capture a launch with")
          << calls;
      const size_t listed = program.instances().size();
      EXPECT_EQ(listed, program.report().instances) << calls;
      EXPECT_EQ(listed + program.count(NotRecorded::ended), static_cast<size_t>(kLaunches)) << calls;
      EXPECT_EQ(program.report().storing, 0u);
    }
  }
}

// Of the threads that store, too, at every operation on a file.
TEST(Staging, MemoryThatRunsOutWhileALaunchIsStoredEndsRecordingAndWhatIsListedIsWhole) {
  for (const uint64_t in_flight : kEachInFlight) {
    constexpr int kElements = 100'000, kLaunches = 4;
    bool all = false;
    for (int operations = 0; !all; ++operations) {
      ASSERT_LT(operations, 500);
      std::atomic<int> left = 1 << 20;
      auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
        const bool ends = operation == "remove" || operation == "close";  // in destructors
        if (!ends && left-- == 0) throw std::bad_alloc();
        return Status();
      });
      FakeProgram program(every_launch(in_flight), [&](Recorder::Environment& environment) { environment.files = disk.get(); });
      program.goes_on = true;
      int* data = program.allocate<int>(kElements);
      left = operations;
      for (int i = 0; i < kLaunches; ++i) program.launch(program.increment, data, kElements);
      EXPECT_EQ(data[kElements - 1], kLaunches);
      const size_t listed = program.instances().size();
      EXPECT_GE(listed, program.report().instances);
      EXPECT_EQ(program.report().instances + program.count(NotRecorded::ended), static_cast<uint64_t>(kLaunches));
      EXPECT_EQ(program.report().storing, 0u);
      all = program.report().instances == kLaunches;
    }
  }
}

TEST(Staging, AnyAmountOfPinnedMemoryDoes) {
  for (int pinned = 0; pinned < 9; ++pinned) {
    FakeProgram program(every_launch());
    int left = pinned;
    program.failures = [&](std::string_view call) {
      return call == "allocate_pinned" && left-- <= 0 ? error(Code::exhausted, "no pinned memory") : Status();
    };
    program.goes_on = true;
    constexpr int kElements = 6 << 20;  // more than a piece
    int* data = program.allocate<int>(kElements);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < kElements; ++i) data[i] = i * 2654435761u + round;
      program.launch(program.increment, data, kElements);
    }
    EXPECT_EQ(program.instances().size(), 2u) << pinned;
    EXPECT_EQ(program.report().failure.get(), "");
  }
}

// On a disk that takes nothing: what has been copied for launches is what is held of them, since all of it is new.
TEST(Staging, WhatWaitsFitsTheMemoryThatIsAllowed) {
  constexpr int kElements = 1 << 18, kLaunches = 60;
  RecordingOptions options = every_launch();
  options.staging = 32_MiB;
  ClosedDisk disk;
  FakeProgram program(options, [&](Recorder::Environment& environment) { environment.files = disk.files(); });
  program.goes_on = true;
  int* data = program.allocate<int>(kElements);
  std::atomic<int> launched = 0;
  std::thread runs([&] {
    for (; launched < kLaunches; ++launched) {
      for (int i = 0; i < kElements; ++i) data[i] = i * 2654435761u + launched;
      program.launch(program.increment, data, kElements);
    }
  });
  // Until it goes no further.
  for (int before = -1; before != launched || launched == 0;) {
    before = launched;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_LT(launched, kLaunches) << "the program waits";
  EXPECT_LE(Bytes(program.report_now().copied_bytes), 32_MiB);
  EXPECT_GE(Bytes(program.report_now().copied_bytes), 8_MiB) << "and not before there is need to";
  disk.open();
  runs.join();
  EXPECT_EQ(program.instances().size(), static_cast<size_t>(kLaunches));
}

TEST(Staging, TheMemoryIsDividedAndNotExceeded) {
  for (Bytes all : {kLeastStaging, 17_MiB, 100_MiB, 1_GiB, 4_GiB, 100_GiB}) {
    const StagingMemory parts = StagingMemory::of(all);
    const Bytes ring(PinnedRing::kPieces * parts.ring_piece.count);
    EXPECT_LE(ring + parts.pages + parts.queue, all) << all.count;
    EXPECT_GE(parts.ring_piece, 1_MiB);
    EXPECT_GT(parts.queue, Bytes(0));
  }
  EXPECT_LE(StagingMemory::of(std::nullopt).pages, 4_GiB);
  EXPECT_EQ(StagingMemory::of(Bytes(0)).queue, Bytes(0));
}

TEST(Staging, WhereNothingCanBePinnedAllIsRecorded) {
  FakeProgram program(every_launch());
  program.failures = [](std::string_view call) {
    return call == "allocate_pinned" || call == "gather" ? error(Code::exhausted, "no pinned memory") : Status();
  };
  int* data = program.allocate<int>(100'000);
  for (int i = 0; i < 3; ++i) program.launch(program.increment, data, 100'000);
  EXPECT_EQ(program.instances().size(), 3u);
}

// The limit counts what is in flight.
TEST(Staging, MaxBytesIsKept) {
  RecordingOptions options = every_launch();
  options.max_bytes = 200_KiB;
  FakeProgram program(options);
  program.goes_on = true;
  constexpr int kElements = 10'000;
  int* data = program.allocate<int>(kElements);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < kElements; ++i) data[i] = i * 2654435761u + round;
    program.launch(program.increment, data, kElements);
  }
  const size_t stored = program.instances().size();
  EXPECT_GT(stored, 0u);
  EXPECT_LT(stored, 20u);
  EXPECT_LE(*Database::open(program.database())->disk_size(), 200_KiB);
  EXPECT_EQ(stored + program.count(NotRecorded::beyond_bytes), 20u);
}

TEST(Staging, WhatWasRemovedMeanwhileIsStoredAgain) {
  FakeProgram program(every_launch());
  int* data = program.allocate<int>(100'000);
  for (int i = 0; i < 100'000; ++i) data[i] = i;
  program.launch(program.increment, data, 10);
  {
    auto database = Database::open(program.database());
    ASSERT_TRUE(database->clean(database->list()->kernels, Deed::remove).ok());
  }
  EXPECT_EQ(program.instances().size(), 0u);
  program.launch(program.increment, data, 10);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Staging, NothingIsBeingStoredWhenTheProgramForks) {
  ClosedDisk disk;
  FakeProgram program(every_launch(), [&](Recorder::Environment& environment) { environment.files = disk.files(); });
  program.goes_on = true;
  int* data = program.allocate<int>(1000);
  program.launch(program.increment, data, 1000);
  std::thread opens = disk.open_soon();
  recorder()->before_fork();
  EXPECT_EQ(program.report_now().instances, 1u);
  recorder()->after_fork_in_parent();
  opens.join();
  program.launch(program.increment, data, 1000);
  EXPECT_EQ(program.instances().size(), 2u);
}

}  // namespace
}  // namespace mneme::testing
