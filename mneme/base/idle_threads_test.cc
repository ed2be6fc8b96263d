#include "mneme/base/idle_threads.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <string>
#include <thread>

namespace mneme {
namespace {

// Others started the thread before the program blocked the signal, which it is to take when it has the time.
TEST(IdleThreads, OneThatEndsTakesNoSignalThatMainKeepsForLater) {
  const auto run = [] {
    std::promise<pid_t> begun;
    std::promise<void> may_end;
    start_idle_thread([&] {
      begun.set_value(::gettid());
      may_end.get_future().wait();
    });
    const std::string folder = "/proc/self/task/" + std::to_string(begun.get_future().get());
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &term, nullptr);
    ::kill(::getpid(), SIGTERM);
    may_end.set_value();
    while (std::filesystem::exists(folder)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    int taken = 0;
    ::sigwait(&term, &taken);
    ::_exit(taken == SIGTERM ? 0 : 20);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mneme
