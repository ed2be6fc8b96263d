// Children that do everything a child can do wrong.
#include "mneme/process/guarded.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

namespace mneme {
namespace {

using How = GuardedEnd::How;
constexpr GuardLimits kShort{GuardLimits::Seconds(0.05), GuardLimits::Seconds(0.05), GuardLimits::Seconds(0.05), {}};

GuardedEnd run(const std::function<std::string()>& work, const GuardLimits& limits = {}) {
  auto end = run_guarded(limits, work);
  EXPECT_TRUE(end.ok()) << end.status().to_string();
  return end.ok() ? *end : GuardedEnd();
}

std::string hang() {
  for (;;) ::pause();
}

TEST(Guarded, ReturnsWhatTheWorkReturned) {
  EXPECT_EQ(run([] { return "done"; }).reply, "done");
  EXPECT_EQ(run([] { return std::string(); }).how, How::finished);
  const std::string large(10'000'000, 'x');
  EXPECT_EQ(run([&] { return large; }).reply, large);
}

TEST(Guarded, TheWorkChangesNothingHere) {
  int value = 1;
  run([&] { return value = 2, std::string(); });
  EXPECT_EQ(value, 1);
}

TEST(Guarded, AHangIsEndedAtTheLimitOfItsActivity) {
  for (Activity activity : {Activity::compiling, Activity::running, Activity::loading, Activity::timing, Activity::tracking}) {
    GuardedEnd end = run(
        [&] {
          ActivityScope scope(activity);
          return hang();
        },
        kShort);
    EXPECT_EQ(end.how, How::out_of_time);
    EXPECT_EQ(end.activity, activity);
    EXPECT_EQ(end.limit, GuardLimits::Seconds(0.05));
  }
}

// Each limit is another one, and activities that have none end by themselves.
TEST(Guarded, EachActivityHasItsOwnLimit) {
  using Seconds = GuardLimits::Seconds;
  const std::pair<Activity, GuardLimits> kLimits[] = {
      {Activity::compiling, {.compiling = Seconds(0.05)}}, {Activity::running, {.running = Seconds(0.05)}},
      {Activity::timing, {.running = Seconds(0.05)}},      {Activity::tracking, {.running = Seconds(0.05)}},
      {Activity::loading, {.loading = Seconds(0.05)}},
  };
  for (const auto& [activity, own] : kLimits) {
    const auto at = [&](const GuardLimits& limits) {
      return run(
          [&] {
            ActivityScope scope(activity);
            return hang();
          },
          limits);
    };
    GuardLimits with_others{.compiling = Seconds(60), .running = Seconds(60), .loading = Seconds(60)};
    (own.compiling != Seconds() ? with_others.compiling
     : own.running != Seconds() ? with_others.running
                                : with_others.loading) = Seconds(0.05);
    const GuardedEnd end = at(with_others);
    EXPECT_EQ(end.how, How::out_of_time) << to_string(activity);
    EXPECT_EQ(end.limit, Seconds(0.05)) << to_string(activity);
    EXPECT_EQ(at(own).limit, Seconds(0.05)) << to_string(activity);
  }
}

TEST(Guarded, AnAllowanceExtendsTheLimit) {
  auto work = [](Activity activity) {
    ActivityScope scope(activity, std::chrono::milliseconds(1500));
    {
      ActivityScope running(Activity::running);
    }
    return hang();
  };
  const auto begin = std::chrono::steady_clock::now();
  GuardedEnd end = run([&] { return work(Activity::timing); }, kShort);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << "whole seconds";
  EXPECT_EQ(end.activity, Activity::timing);
  EXPECT_EQ(end.limit, GuardLimits::Seconds(2.05));
}

TEST(Guarded, TheLimitIsThatOfOneTimeAtIt) {
  // More than the limit in all, and each time less.
  auto work = [] {
    for (int i = 0; i < 20; ++i) {
      ActivityScope running(Activity::running);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ActivityScope compiling(Activity::compiling);
    {
      ActivityScope running(Activity::running);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // compiling again, which has no limit
    return "done";
  };
  EXPECT_EQ(run(work, {{}, GuardLimits::Seconds(1), {}, {}}).reply, "done");
}

// Ends with how run_guarded() ended in a process of its own, which is stopped for three seconds when the work has reached
// `stopped_at`, as Ctrl-Z does it, and is then continued: `times` times, and three seconds in all. The work
// is there for one second, and at `then` for as many as it says.
int end_when_stopped_at(Activity stopped_at, Activity then, int seconds, const GuardLimits& limits, int times = 1) {
  int there[2];
  if (::pipe(there) != 0) return -1;
  const pid_t guard = ::fork();
  if (guard == 0) {
    const auto end = run_guarded(limits, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the activity is one that nobody has looked at yet
      {
        ActivityScope first(stopped_at);
        if (::write(there[1], "x", 1) != 1) ::_exit(1);
        // In pieces: the time that passes while it is stopped is not slept.
        for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      ActivityScope second(then);
      std::this_thread::sleep_for(std::chrono::seconds(seconds));
      return "done";
    });
    ::_exit(end.ok() ? static_cast<int>(end->how) : 99);
  }
  char byte = 0;
  int status = 0;
  bool stopped = ::read(there[0], &byte, 1) == 1;
  for (int i = 0; stopped && i < times; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the guard has the work go on
    stopped = ::kill(guard, SIGTSTP) == 0 && ::waitpid(guard, &status, WUNTRACED) == guard && WIFSTOPPED(status);
    if (!stopped) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(3000 / times));
    ::kill(guard, SIGCONT);
  }
  EXPECT_TRUE(stopped);
  if (!stopped) ::kill(guard, SIGKILL);
  ::waitpid(guard, &status, 0);
  for (int end : there) ::close(end);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Guarded, TimeStoppedCountsForNoLimit) {
  const GuardLimits limits{.running = GuardLimits::Seconds(2)};
  EXPECT_EQ(end_when_stopped_at(Activity::running, Activity::working, 0, limits), static_cast<int>(How::finished));
}

TEST(Guarded, TimeStoppedAgainAndAgainCountsForNoLimit) {
  const GuardLimits limits{.running = GuardLimits::Seconds(2)};
  EXPECT_EQ(end_when_stopped_at(Activity::running, Activity::working, 0, limits, 2), static_cast<int>(How::finished));
}

TEST(Guarded, TimeStoppedDoesNotExtendTheNextLimit) {
  const GuardLimits limits{.running = GuardLimits::Seconds(1.5)};
  EXPECT_EQ(end_when_stopped_at(Activity::compiling, Activity::running, 3, limits), static_cast<int>(How::out_of_time));
}

TEST(Guarded, ACrashIsTheSignalAndTheActivity) {
  for (int signal : {SIGSEGV, SIGABRT, SIGKILL}) {
    GuardedEnd end = run([&] {
      ActivityScope compiling(Activity::compiling);
      ::raise(signal);
      return "";
    });
    EXPECT_EQ(end.how, How::signalled);
    EXPECT_EQ(end.number, signal);
    EXPECT_EQ(end.activity, Activity::compiling);
  }
}

TEST(Guarded, AnExitIsNoResult) {
  GuardedEnd end = run([]() -> std::string { ::_exit(7); });
  EXPECT_EQ(end.how, How::exited);
  EXPECT_EQ(end.number, 7);
  EXPECT_EQ(end.activity, Activity::working);
}

TEST(Guarded, LeavesNoCoreFileAndNoProgram) {
  // The child starts a program that would outlive it and tells its process id.
  GuardedEnd end = run([] {
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    pid_t program = ::fork();
    if (program == 0) hang();
    return std::to_string(limit.rlim_cur) + " " + std::to_string(program);
  });
  ASSERT_TRUE(end.reply.starts_with("0 ")) << end.reply;
  pid_t program = std::stoi(end.reply.substr(2));
  // Killed; somebody else may still have to reap it.
  std::string state = "/proc/" + std::to_string(program) + "/stat";
  for (int i = 0; i < 1000; ++i) {
    std::FILE* file = std::fopen(state.c_str(), "re");
    char letter = 'Z';
    if (file == nullptr) return;
    if (std::fscanf(file, "%*d %*s %c", &letter) != 1) letter = 'Z';
    std::fclose(file);
    if (letter == 'Z') return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "process " << program << " still runs";
}

TEST(Guarded, ASignalToThisProcessEndsTheChild) {
  for (int signal : {SIGINT, SIGTERM}) {
    // From the child, as a person would from another terminal.
    GuardedEnd end = run([&] {
      ::kill(::getppid(), signal);
      return hang();
    });
    EXPECT_EQ(end.how, How::interrupted);
    EXPECT_EQ(end.number, signal);
  }
}

TEST(Guarded, AnIgnoredSignalStaysIgnored) {
  auto before = ::signal(SIGINT, SIG_IGN);
  EXPECT_EQ(run([] {
              ::kill(::getppid(), SIGINT);
              return "done";
            }).reply,
            "done");
  ::signal(SIGINT, before);
}

TEST(Guarded, MemoryIsLimitedWhileCompilingOnly) {
  GuardedEnd end = run(
      [] {
        const auto refused = [] {
          void* memory = std::malloc(64 << 20);
          std::free(memory);
          return memory == nullptr ? "refused " : "given ";
        };
        std::string reply = refused();
        {
          ActivityScope compiling(Activity::compiling);
          reply += refused();
        }
        return reply + refused();
      },
      {{}, {}, {}, 32_MiB});
  EXPECT_EQ(end.reply, "given refused given ");
}

// Also of work that compiles while it compiles, runs in between, and compiles again.
TEST(Guarded, MemoryIsLimitedWheneverItCompiles) {
  GuardedEnd end = run(
      [] {
        const auto refused = [] {
          void* memory = std::malloc(64 << 20);
          std::free(memory);
          return memory == nullptr ? "refused " : "given ";
        };
        std::string reply;
        for (int i = 0; i < 2; ++i) {
          {
            ActivityScope compiling(Activity::compiling);
            {
              ActivityScope again(Activity::compiling);
            }
            reply += refused();
            {
              ActivityScope running(Activity::running);
              reply += refused();
            }
            reply += refused();
          }
          reply += refused();
        }
        return reply;
      },
      {{}, {}, {}, 32_MiB});
  EXPECT_EQ(end.reply, "refused given refused given refused given refused given ");
}

// What it starts can be ended by a signal, too.
TEST(Guarded, TheWorkHasTheSignalsItsProgramHad) {
  EXPECT_EQ(run([] {
              sigset_t blocked;
              ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
              std::string held;
              for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCHLD})
                if (sigismember(&blocked, signal) == 1) held += fmt::format("{} ", ::strsignal(signal));
              return held;
            }).reply,
            "");
}

// As a shell's `ulimit -d` sets it.
TEST(Guarded, AStricterLimitOfThePersonsOwnHoldsWhileCompilingToo) {
  GuardedEnd end = run(
      [] {
        rlimit limit{};
        ::getrlimit(RLIMIT_DATA, &limit);
        limit.rlim_cur = (512_MiB).count;
        ::setrlimit(RLIMIT_DATA, &limit);
        void* memory = nullptr;
        {
          ActivityScope compiling(Activity::compiling);
          memory = std::malloc((768_MiB).count);
          std::free(memory);
        }
        ::getrlimit(RLIMIT_DATA, &limit);
        return fmt::format("{}, then {}", memory == nullptr ? "refused" : "given", Bytes(limit.rlim_cur));
      },
      {{}, {}, {}, 4_GiB});
  EXPECT_EQ(end.reply, "refused, then 512 MiB");
}

TEST(Guarded, CompilingAgainAndAgainTakesNoDescriptor) {
  GuardedEnd end = run(
      [] {
        const int before = ::dup(0);
        ::close(before);
        for (int i = 0; i < 10; ++i) ActivityScope compiling(Activity::compiling);
        const int after = ::dup(0);
        return std::to_string(after - before);
      },
      {{}, {}, {}, 1_GiB});
  EXPECT_EQ(end.reply, "0");
}

TEST(Guarded, WhatIsPrintedComesOnce) {
  testing::internal::CaptureStdout();
  std::printf("before, ");
  run([] {
    std::printf("meanwhile, ");
    return "";
  });
  std::printf("after");
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before, meanwhile, after");
}

char letter_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  std::string pid, name, state;
  return status >> pid >> name >> state ? state.at(0) : 'X';
}

void wait_for_letter(pid_t process, const std::string& letters) {
  for (int i = 0; i < 5000 && letters.find(letter_of(process)) == std::string::npos; ++i) ::usleep(1000);
  EXPECT_NE(letters.find(letter_of(process)), std::string::npos) << letter_of(process);
}

// A process of its own that guards: `work` tells a process id by its argument, which is returned.
struct Guarding {
  explicit Guarding(const std::function<std::string(const std::function<void(pid_t)>& tell)>& work) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    guard = ::fork();
    if (guard == 0) {
      const auto tell = [&](pid_t process) {
        if (::write(ends[1], &process, sizeof process) != sizeof process) ::_exit(1);
      };
      const auto end = run_guarded({}, [&] { return work(tell); });
      ::_exit(end.ok() && end->how == How::finished && end->reply == std::string(40'000, 'x') ? 0 : 1);
    }
    EXPECT_EQ(::read(ends[0], &told, sizeof told), sizeof told);
    for (int end : ends) ::close(end);
  }
  int end() const {
    int status = 0;
    ::waitpid(guard, &status, 0);
    return status;
  }
  pid_t guard = -1, told = -1;
};

// It has ended before anybody reads what it has written.
TEST(Guarded, AReplyIsReadWholeWhenTheChildHasEnded) {
  const Guarding guarding([](const auto& tell) {
    ::kill(::getppid(), SIGSTOP);
    tell(::getpid());
    return std::string(40'000, 'x');
  });
  wait_for_letter(guarding.guard, "T");
  wait_for_letter(guarding.told, "Z");
  ::kill(guarding.guard, SIGCONT);
  EXPECT_EQ(guarding.end(), 0);
}

TEST(Guarded, ProgramsThatTheWorkStartedStopAndContinueWithIt) {
  const Guarding guarding([](const auto& tell) {
    const pid_t program = ::fork();
    if (program == 0) hang();
    tell(program);
    return hang();
  });
  ::kill(guarding.guard, SIGTSTP);
  wait_for_letter(guarding.guard, "T");
  wait_for_letter(guarding.told, "T");
  ::kill(guarding.guard, SIGCONT);
  wait_for_letter(guarding.told, "S");
  ::kill(guarding.guard, SIGTERM);
  guarding.end();
  wait_for_letter(guarding.told, "ZX");
}

// A program that it started holds the pipe for its reply.
TEST(Guarded, ACrashIsSeenThoughAProgramOfTheWorkGoesOn) {
  const GuardedEnd end = run([]() -> std::string {
    if (::fork() == 0) hang();
    ::_exit(7);
  });
  EXPECT_EQ(end.how, How::exited);
  EXPECT_EQ(end.number, 7);
}

// A terminal may stop those in its background that write to it (`stty tostop`), and the child is in a group of its own.
TEST(Guarded, TheWorkMayWriteToATerminalThatStopsItsBackground) {
  int terminal = -1;
  const pid_t guard = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(guard, 0);
  if (guard == 0) {
    termios settings{};
    ::tcgetattr(STDOUT_FILENO, &settings);
    settings.c_lflag |= TOSTOP;
    ::tcsetattr(STDOUT_FILENO, TCSANOW, &settings);
    const auto end = run_guarded({.running = GuardLimits::Seconds(5)}, [] {
      ActivityScope running(Activity::running);
      return ::write(STDOUT_FILENO, "x", 1) == 1 ? "done" : "refused";
    });
    ::_exit(end.ok() && end->reply == "done" ? 0 : 1);
  }
  int status = 0;
  ::waitpid(guard, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(terminal);
}

TEST(Guarded, TheLongestAllowanceIsTwelveDays) {
  auto board = ActivityBoard::create();
  ASSERT_TRUE(board.ok());
  board->show_this_process();
  const auto before = std::chrono::steady_clock::now();
  ActivityScope timing(Activity::timing, std::chrono::hours(24 * 365));
  const ActivityBoard::Reading reading = board->read();
  EXPECT_EQ(reading.activity, Activity::timing);
  EXPECT_EQ(reading.allowance, std::chrono::seconds((1 << 20) - 1));
  EXPECT_GE(reading.since, before - std::chrono::milliseconds(1));
  EXPECT_LE(reading.since, std::chrono::steady_clock::now());
}

TEST(Guarded, ABoardThatIsGoneShowsNothingMore) {
  EXPECT_EXIT(
      {
        {
          auto board = ActivityBoard::create();
          board->show_this_process();
        }
        ActivityScope running(Activity::running);
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// What a kernel or a compiler leaves when it crashes is as large as its memory.
TEST(Guarded, LeavesNoCore) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_CORE, &before), 0);
  if (before.rlim_max == 0) GTEST_SKIP() << "there are none here";
  const rlimit as_many_as_there_may_be{before.rlim_max, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_CORE, &as_many_as_there_may_be), 0);
  const auto end = run_guarded({}, [] {
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    return fmt::format("{}", limit.rlim_cur);
  });
  ::setrlimit(RLIMIT_CORE, &before);
  ASSERT_TRUE(end.ok()) << end.status().to_string();
  EXPECT_EQ(end->reply, "0");
}

}  // namespace
}  // namespace mneme
