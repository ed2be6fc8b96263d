#include "mneme/process/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
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
  const int kept = ::fcntl(4, F_DUPFD_CLOEXEC, 10);
  ASSERT_EQ(::dup2(open.number(), 4), 4);  // nor is the one behind those that it gets
  const auto before = ::signal(SIGUSR1, SIG_IGN);
  const std::string script = fmt::format(
      "read line || echo no input >&3; [ -e /proc/$$/fd/{} ] && echo a file >&3; "
      "[ -e /proc/$$/fd/4 ] && echo another file >&3; "
      "sh -c 'kill -USR1 $$'; [ $? -gt 128 ] && echo ended by the signal >&3; true",
      open.number());
  EXPECT_EQ(said_by_shell(script, Spawn::Inherits::nothing), "no input\nended by the signal\n");
  ::signal(SIGUSR1, before);
  EXPECT_EQ(said_by_shell(fmt::format("[ -e /proc/self/fd/{} ] && echo a file >&3", open.number()), Spawn::Inherits::everything),
            "a file\n");
  kept >= 0 ? (void)::dup2(kept, 4), (void)::close(kept) : (void)::close(4);
}

TEST(Spawn, HasTheEnvironmentThatItIsGiven) {
  const Descriptor file = memory();
  std::string variable = "WORD=given";
  char* const environment[] = {variable.data(), nullptr};
  auto child = spawn(
      {.program = "/bin/sh", .arguments = {"-c", "echo $WORD$HOME >&3"}, .descriptors = {&file}, .environment = environment});
  ASSERT_TRUE(child.ok()) << child.status().to_string();
  wait_for_end(*child);
  EXPECT_EQ(content(file), "given\n");
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

// It is forked just now, say.
TEST(ForkedChild, IsEndedThoughItHasNoGroupYet) {
  const pid_t child = ::fork();
  while (child == 0) ::pause();
  kill_with_group(child);
  EXPECT_EQ(wait_for_end(child)->describe(), "ended by signal 9 (Killed)");
}

TEST(ForkedChild, EndsWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t self = ::getpid(), child = ::fork();
    if (child == 0) {
      begin_forked_child(self);
      const pid_t here = ::getpid();
      if (::write(ends[1], &here, sizeof here) != sizeof here) ::_exit(1);
      for (;;) ::pause();
    }
    for (;;) ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), sizeof child);
  ::close(ends[1]);
  ::kill(parent, SIGKILL);
  wait_for_end(parent);
  pollfd end{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 10'000), 1) << "it has the pipe open as long as it lives";
  if (end.revents == 0) ::kill(child, SIGKILL);
  ::close(ends[0]);
}

// Its parent may end before it can ask to be told of that.
TEST(ForkedChild, DoesNotBeginWhereItsParentHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) {
    begin_forked_child(::getppid() + 1);
    ::_exit(0);
  }
  EXPECT_EQ(wait_for_end(child)->exit_status(), 1);
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

TEST(WaitForEnd, GoesOnAfterASignal) {
  struct sigaction action{}, before{};
  action.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Again and again, as one may come before it is waited for.
    for (int i = 0; i < 20; ++i) ::kill(::getppid(), SIGUSR1), ::usleep(1000);
    ::_exit(7);
  }
  const std::optional<ProcessEnd> end = wait_for_end(child);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_status(), 7);
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace mneme
