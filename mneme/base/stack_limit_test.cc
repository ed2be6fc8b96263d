#include "mneme/base/stack_limit.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include "mneme/process/guarded.h"

namespace mneme {
namespace {

// Of a process with these limits on its stack, in KiB: what it is told, and its soft limit then.
std::string told(rlim_t soft, rlim_t hard) {
  auto end = run_guarded({}, [=] {
    rlimit limit{soft << 10, hard << 10};
    ::setrlimit(RLIMIT_STACK, &limit);
    const Status status = provide_stack();
    ::getrlimit(RLIMIT_STACK, &limit);
    return fmt::format("{}, {} KiB", status.to_string(), limit.rlim_cur >> 10);
  });
  return end.ok() ? end->reply : end.status().to_string();
}

TEST(StackLimit, IsRaisedAsFarAsItMayBe) {
  EXPECT_EQ(told(64, 65536), "ok, 8192 KiB");
  EXPECT_EQ(told(64, 2048), "ok, 2048 KiB");
  EXPECT_EQ(told(16384, 65536), "ok, 16384 KiB");
}

TEST(StackLimit, OneThatIsTooLowIsRefused) {
  EXPECT_EQ(told(64, 64),
            "exhausted: LLVM needs a stack of 1.00 MiB, and this thread's has 64.0 KiB: run `ulimit -s 8192` first, in a shell "
            "whose own hard limit (`ulimit -Hs`) is not lower, 64 KiB");
}

TEST(StackLimit, AThreadHasItsOwn) {
  const auto on_thread = [](size_t size) {
    Status status;
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, size);
    pthread_t thread{};
    const auto run = [](void* to) -> void* { return *static_cast<Status*>(to) = provide_stack(), nullptr; };
    EXPECT_EQ(::pthread_create(&thread, &attributes, run, &status), 0);
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&attributes);
    return status.code();
  };
  EXPECT_EQ(on_thread(256 << 10), Code::exhausted);
  EXPECT_EQ(on_thread(4 << 20), Code::ok);
}

}  // namespace
}  // namespace mneme
