// Recordings that are killed at random moments: every instance that the database lists afterwards is whole.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <random>
#include <thread>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

[[noreturn]] void record_for_ever(const Path& database) {
  RecordingOptions options;
  options.database = database.string();
  options.max = ~uint64_t{0};
  FakeProgram program(options);
  program.goes_on = true;
  std::mt19937 random(static_cast<uint32_t>(::getpid()));
  constexpr int kCount = 100'000;
  int* data = program.allocate<int>(kCount);
  for (;;) {
    for (int i = 0; i < 1000; ++i) data[random() % kCount] = static_cast<int>(random());
    program.launch(program.increment, data, kCount);
  }
}

size_t count_whole_instances(const Path& path) {
  auto database = Database::open(path);
  if (!database.ok()) return 0;
  auto listing = database->list();
  EXPECT_TRUE(listing->damaged.empty()) << listing->damaged.front().message();
  size_t count = 0;
  for (const KernelDocument& document : listing->kernels) {
    for (const InstanceRecord& instance : document.instances) {
      Status whole = database->check_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_TRUE(whole.ok()) << whole.message();
      ++count;
    }
  }
  return count;
}

// Told by a process that is killed.
struct Told {
  std::atomic<uint64_t> launched = 0;  // launches that have returned
  std::atomic<bool> written = false;
};

Told& told_by_child() {
  void* shared = ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (shared) Told();
}

// Launches so often, each time on other data, and counts the launches that have returned.
void launch(FakeProgram& program, uint64_t launches, Told& told) {
  program.goes_on = true;
  constexpr int kCount = 20'000;
  int* data = program.allocate<int>(kCount);
  while (told.launched < launches) {
    data[told.launched] = -1;
    program.launch(program.increment, data, kCount);
    ++told.launched;
  }
}

// Launches so often, and says when all of that is written. Its disk never comes to an end of syncing a file.
[[noreturn]] void record_on_a_hung_disk(const Path& database, uint64_t launches, Told& told) {
  RecordingOptions options;
  options.database = database.string();
  options.max = ~uint64_t{0};
  auto hung = faulty_file_system(FileSystem::posix(), [](std::string_view operation, const Path&, uint64_t) {
    while (operation == "sync") ::pause();
    return Status();
  });
  FakeProgram program(options, [&](Recorder::Environment& environment) { environment.files = hung.get(); });
  launch(program, launches, told);
  program.wait_until_written();
  told.written = true;
  for (;;) ::pause();
}

// Records so many launches, and is killed before its operation of this number that changes a file.
[[noreturn]] void record_until(int operations, const Path& database, uint64_t in_flight, uint64_t launches, Told& told) {
  RecordingOptions options;
  options.database = database.string();
  options.max = ~uint64_t{0};
  options.in_flight = in_flight;
  std::atomic<int> left = operations;
  const auto killing = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    const bool changes = operation != "open" && operation != "read" && operation != "lock";
    if (changes && left-- <= 0) ::raise(SIGKILL);
    return Status();
  });
  FakeProgram program(options, [&](Recorder::Environment& environment) { environment.files = killing.get(); });
  launch(program, launches, told);
  recorder()->finish();
  ::_exit(0);
}

// Records as record_until() in a process of its own, and looks whether more launches are lost than may be in flight, of those
// that the program has gone on from. Whether it came to its end, and then has lost none.
bool loses_no_more(int operations, const Path& directory, uint64_t in_flight, uint64_t launches) {
  Told& told = told_by_child();
  const pid_t recorder = ::fork();
  if (recorder == 0) record_until(operations, directory, in_flight, launches, told);
  int status = 0;
  ::waitpid(recorder, &status, 0);
  const size_t whole = count_whole_instances(directory);
  EXPECT_LE(told.launched, whole + in_flight) << "after " << operations << " operations";
  if (WIFEXITED(status)) EXPECT_EQ(whole, launches);
  return WIFEXITED(status);
}

TEST(Kill, BeforeEachOperationLosesNoMoreLaunchesThanMayBeInFlight) {
  constexpr uint64_t kLaunches = 4;
  for (const uint64_t in_flight : {uint64_t{0}, kDefaultInFlight}) {
    bool ended = false;
    for (int operations = 0; !ended; ++operations) {
      ASSERT_LT(operations, 300);
      const TemporaryDirectory temporary;
      ended = loses_no_more(operations, temporary.path(), in_flight, kLaunches);
    }
  }
}

// Of so many launches that files are made ahead. Who records next removes those that nobody has taken.
TEST(Kill, BeforeAnOperationOfManyLaunchesLosesNoMoreAndLeavesNoFile) {
  constexpr uint64_t kLaunches = 24;
  bool ended = false;
  for (int operations = 30; !ended; operations += 9) {
    ASSERT_LT(operations, 1000);
    const TemporaryDirectory temporary;
    const Path& directory = temporary.path();
    ended = loses_no_more(operations, directory, kDefaultInFlight, kLaunches);
    ASSERT_TRUE(Database::create(directory).ok());
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
      EXPECT_FALSE(is_temporary(file.path().filename().string())) << file.path() << " after " << operations << " operations";
  }
}

// However long the disk takes, a launch that is written is not lost: here no file is ever on the disk.
TEST(Kill, LosesNoLaunchThatIsWritten) {
  for (const uint64_t launches : {1, 2, 20}) {
    const TemporaryDirectory temporary;
    const Path& directory = temporary.path();
    Told& told = told_by_child();
    const pid_t recorder = ::fork();
    if (recorder == 0) record_on_a_hung_disk(directory, launches, told);
    for (int waited = 0; !told.written && waited < 6000; ++waited) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(told.written);
    ::kill(recorder, SIGKILL);
    int status = 0;
    ::waitpid(recorder, &status, 0);
    EXPECT_EQ(count_whole_instances(directory), launches);
  }
}

TEST(Kill, LeavesWholeInstancesOnly) {
  const TemporaryDirectory temporary;
  const Path& directory = temporary.path();
  std::mt19937 random(1);
  size_t before = 0;
  for (int round = 0; round < 12; ++round) {
    // Two at once, killed at different moments.
    pid_t recorders[2];
    for (pid_t& recorder : recorders) {
      recorder = ::fork();
      if (recorder == 0) record_for_ever(directory);
    }
    for (pid_t recorder : recorders) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 100));
      ::kill(recorder, SIGKILL);
      int status = 0;
      ::waitpid(recorder, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status));
    }
    size_t now = count_whole_instances(directory);
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_GT(before, 0u);
  // What was left half-written goes with the next recording.
  ASSERT_TRUE(Database::create(directory).ok());
  auto names = FileSystem::posix().list(directory);
  auto packs = FileSystem::posix().list(directory / "pages");
  names->insert(names->end(), packs->begin(), packs->end());
  for (const std::string& name : *names) EXPECT_EQ(name.find(".tmp."), std::string::npos) << name;
}

}  // namespace
}  // namespace mneme::testing
