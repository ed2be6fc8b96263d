// Recorders that do not see each other's process ids, as in two containers on one volume, record into one database.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>

#include <cstring>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

constexpr int kRecorders = 2, kLaunches = 12;

// The recorder of a namespace: its process id is 1 there. Ends with 0 when all was recorded.
[[noreturn]] void record(const Path& database, int number) {
  RecordingOptions options;
  options.database = database.string();
  options.max = ~uint64_t{0};
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  for (int i = 0; i < kLaunches; ++i) {
    data[0] = number;
    data[1] = i;
    program.launch(program.increment, data, 16);
  }
  ::_exit(::getpid() == 1 && program.report().instances == kLaunches && program.report().lost() == 0 ? 0 : 1);
}

// Runs `function` as the first process of a namespace of process ids. Ends with its status, or with 77 where that cannot be had.
template <typename Function>
[[noreturn]] void in_own_namespace(Function function) {
  if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) ::_exit(77);
  const pid_t first = ::fork();
  if (first == 0) function();
  int status = 0;
  if (first < 0 || ::waitpid(first, &status, 0) != first) ::_exit(77);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

TEST(Namespaces, RecordersWithTheSameProcessIdLoseNothing) {
  const TemporaryDirectory temporary;
  const Path& directory = temporary.path();
  std::vector<pid_t> recorders;
  for (int i = 0; i < kRecorders; ++i) {
    recorders.push_back(::fork());
    if (recorders.back() == 0) in_own_namespace([&] { record(directory, i); });
  }
  bool possible = true;
  for (pid_t recorder : recorders) {
    int status = 0;
    ::waitpid(recorder, &status, 0);
    possible = possible && !(WIFEXITED(status) && WEXITSTATUS(status) == 77);
    if (possible) EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a recorder lost launches: " << status;
  }
  size_t whole = 0;
  if (possible) {
    auto database = Database::open(directory);
    ASSERT_TRUE(database.ok()) << database.status().message();
    auto listing = database->list();
    ASSERT_TRUE(listing->damaged.empty()) << listing->damaged.front().message();
    for (const InstanceRecord& instance : listing->kernels.at(0).instances) {
      Status status = database->check_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_TRUE(status.ok()) << status.message();
      whole += status.ok() ? 1 : 0;
    }
  }
  if (!possible) GTEST_SKIP() << "a namespace of process ids cannot be made here (unshare: no permission)";
  EXPECT_EQ(whole, size_t{kRecorders * kLaunches});
}

}  // namespace
}  // namespace mneme::testing
