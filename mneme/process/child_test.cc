#include "mneme/process/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace mneme {
namespace {

// Its number is none of those that a child has descriptors at.
Descriptor memory() {
  const Descriptor file(::memfd_create("what a child writes", MFD_CLOEXEC));
  return Descriptor(::fcntl(file.number(), F_DUPFD_CLOEXEC, 20));
}

std::string content(const Descriptor& file) {
  std::array<char, 4096> text{};
  const ssize_t count = ::pread(file.number(), text.data(), text.size(), 0);
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
}

// What a shell writes to its third descriptor, which is the first that it was given.
std::string said_by_shell(const std::string& script, Spawn::Inherits inherits) {
  const Descriptor file = memory();
  auto child = spawn({.program = "/bin/sh", .arguments = {"-c", script}, .descriptors = {&file}, .inherits = inherits});
  EXPECT_TRUE(child.ok()) << child.status().to_string();
  EXPECT_EQ(wait_for_end(*child)->describe(), "ended with exit status 0");
  return content(file);
}

TEST(Spawn, GivesDescriptorsFromTheThirdOnAndClosesTheirOriginals) {
  const Descriptor first = memory(), second = memory();
  auto child =
      spawn({.program = "/bin/sh", .arguments = {"-c", "echo one >&3; echo two >&4; exit 7"}, .descriptors = {&first, &second}});
  ASSERT_TRUE(child.ok()) << child.status().to_string();
  EXPECT_EQ(wait_for_end(*child)->exit_status(), 7);
  EXPECT_EQ(content(first), "one\n");
  EXPECT_EQ(content(second), "two\n");
}

// As where a program has closed its standard files: each of these is then one of the child's numbers.
TEST(Spawn, DescriptorsMayHaveTheChildsNumbersInAnyOrder) {
  Descriptor first = memory(), second = memory();
  const int kept = ::fcntl(3, F_DUPFD_CLOEXEC, 10), kept_too = ::fcntl(4, F_DUPFD_CLOEXEC, 10);
  Descriptor three(::dup3(second.number(), 3, O_CLOEXEC)), four(::dup3(first.number(), 4, O_CLOEXEC));
  auto child = spawn({.program = "/bin/sh", .arguments = {"-c", "echo one >&3; echo two >&4"}, .descriptors = {&four, &three}});
  ASSERT_TRUE(child.ok()) << child.status().to_string();
  wait_for_end(*child);
  EXPECT_EQ(content(first), "one\n");
  EXPECT_EQ(content(second), "two\n");
  three.close();
  four.close();
  if (kept >= 0) ::dup2(kept, 3), ::close(kept);
  if (kept_too >= 0) ::dup2(kept_too, 4), ::close(kept_too);
}

TEST(Spawn, OneThatInheritsNothingHasNoInputNoOtherFileAndSignalsAsAtLogin) {
  const Descriptor open(::fcntl(STDERR_FILENO, F_DUPFD, 20));  // not closed on exec
  const auto before = ::signal(SIGUSR1, SIG_IGN);
  const std::string script = fmt::format(
      "read line || echo no input >&3; [ -e /proc/self/fd/{} ] && echo a file >&3; "
      "sh -c 'kill -USR1 $$'; [ $? -gt 128 ] && echo ended by the signal >&3; true",
      open.number());
  EXPECT_EQ(said_by_shell(script, Spawn::Inherits::nothing), "no input\nended by the signal\n");
  ::signal(SIGUSR1, before);
  EXPECT_EQ(said_by_shell(fmt::format("[ -e /proc/self/fd/{} ] && echo a file >&3", open.number()), Spawn::Inherits::everything),
            "a file\n");
}

TEST(Spawn, SaysWhatCannotBeStarted) {
  auto child = spawn({.program = "/nowhere/mneme", .arguments = {}, .descriptors = {}});
  EXPECT_EQ(child.status().to_string(), "unavailable: No such file or directory");
}

TEST(ForkedChild, IsEndedWithWhatItStarted) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) {
    begin_forked_child(parent);
    const pid_t grandchild = ::fork();
    if (grandchild != 0 && ::write(ends[1], &grandchild, sizeof grandchild) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(ends[0], &grandchild, sizeof grandchild), sizeof grandchild);
  ::close(ends[1]);
  kill_with_group(child);
  EXPECT_EQ(wait_for_end(child)->describe(), "ended by signal 9 (Killed)");
  char nothing = 0;
  EXPECT_EQ(::read(ends[0], &nothing, 1), 0) << "the grandchild has the pipe open as long as it lives";
  ::close(ends[0]);
}

TEST(ProcessEnd, TellsASignalFromAnExit) {
  const ProcessEnd crashed(SIGSEGV), killed(SIGKILL), exited(3 << 8);
  EXPECT_TRUE(crashed.crashed());
  EXPECT_FALSE(crashed.was_killed());
  EXPECT_EQ(crashed.describe(), "ended by signal 11 (Segmentation fault)");
  EXPECT_TRUE(killed.was_killed());
  EXPECT_FALSE(killed.crashed());
  EXPECT_FALSE(exited.crashed() || exited.was_killed());
  EXPECT_EQ(exited.signal(), 0);
  EXPECT_EQ(exited.exit_status(), 3);
  EXPECT_EQ(exited.describe(), "ended with exit status 3");
  EXPECT_EQ(ProcessEnd().describe(), "ended with exit status 0");
}

TEST(WaitForEnd, OfNoChildIsNothing) { EXPECT_FALSE(wait_for_end(::getpid())); }

}  // namespace
}  // namespace mneme
