#include "mneme/cpu/run/worker_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <system_error>

#include "mneme/base/idle_threads.h"

namespace mneme::cpu {
namespace {

constexpr int kSpins = 2000;  // about 50 us: launches often follow one another closely

// Whether `word` is soon no longer `old`.
template <typename Done>
bool is_soon(const std::atomic<uint32_t>& word, Done done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done(word.load(std::memory_order_acquire))) return true;
    _mm_pause();
  }
  return false;
}

// std::atomic's own wait has no end of its patience.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* patience) {
  return ::syscall(SYS_futex, &word, operation, value, patience, nullptr, 0);
}

// The application's signals are for its own threads, and a kernel's faults are those of the thread that runs it.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, signal);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

WorkerPool::WorkerPool(unsigned workers) : there_(workers - 1), absent_(workers - 1) {}

WorkerPool::~WorkerPool() {
  std::unique_lock turn(turn_);
  stop_ = true;
  epoch_.fetch_add(1);
  wake(INT_MAX);
  left_.wait(turn, [&] { return absent_ == there_.size(); });
}

bool WorkerPool::start_all() {
  if (absent_ == 0) return true;
  try {
    for (unsigned worker = 1; worker < workers(); ++worker) {
      if (there_[worker - 1]) continue;
      start_idle_thread([this, worker, seen = epoch_.load()] { serve(worker, seen); });
      there_[worker - 1] = true;
      --absent_;
    }
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

bool WorkerPool::run(const Work& work, uint64_t useful, Join join) {
  std::lock_guard turn(turn_);
  if (join == Join::all) useful = workers();
  if (there_.empty() || useful <= 1) {
    work(0);
    return true;
  }
  if (!start_all() && join == Join::all) return false;
  work_ = &work;
  done_.store(0, std::memory_order_relaxed);
  const uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
  entry_.store(uint64_t{epoch} << 32, std::memory_order_release);
  to_wake_.store(static_cast<int64_t>(std::min<uint64_t>(useful, workers())) - 1, std::memory_order_relaxed);
  epoch_.store(epoch);
  wake_two();
  work(0);
  if (join == Join::all) {
    while ((entry_.load(std::memory_order_acquire) & kJoined) != there_.size()) sched_yield();
  }
  const uint64_t joined = entry_.fetch_or(kClosed, std::memory_order_acq_rel) & kJoined;
  const auto is_done = [joined](uint32_t done) { return done == joined; };
  if (!is_soon(done_, is_done))
    for (uint32_t done = done_.load(std::memory_order_acquire); !is_done(done); done = done_.load(std::memory_order_acquire))
      done_.wait(done);
  work_ = nullptr;
  return true;
}

// A system call each, so whoever is awake wakes two more: a short launch pays for two, a long one has all of them soon.
void WorkerPool::wake_two() {
  for (int i = 0; i < 2; ++i) {
    if (to_wake_.fetch_sub(1, std::memory_order_relaxed) > 0) wake(1);
  }
}

// Whoever is about to sleep has counted itself before it looked at the epoch.
void WorkerPool::wake(int sleepers) {
  if (asleep_.load() != 0) futex(epoch_, FUTEX_WAKE_PRIVATE, static_cast<uint32_t>(sleepers), nullptr);
}

// False: no work has come for as long as an idle thread lives.
bool WorkerPool::wait_for_work(uint32_t seen) {
  if (is_soon(epoch_, [seen](uint32_t epoch) { return epoch != seen; })) return true;
  constexpr auto kNanoseconds = std::chrono::nanoseconds(kIdleThreadsEnd).count();
  constexpr timespec kPatience{kNanoseconds / 1'000'000'000, kNanoseconds % 1'000'000'000};
  bool in_time = true;
  ++asleep_;
  while (epoch_.load() == seen && in_time)
    in_time = futex(epoch_, FUTEX_WAIT_PRIVATE, seen, &kPatience) == 0 || errno != ETIMEDOUT;
  --asleep_;
  return in_time;
}

// Whether an idle worker ends: not while somebody has the turn, whose work may be for all.
bool WorkerPool::leave(unsigned worker, uint32_t seen) {
  std::unique_lock turn(turn_, std::defer_lock);
  if (stop_.load())
    turn.lock();
  else if (!turn.try_lock() || epoch_.load() != seen)
    return false;
  there_[worker - 1] = false;
  ++absent_;
  left_.notify_all();
  return true;
}

void WorkerPool::serve(unsigned worker, uint32_t seen) {
  block_signals();
  pthread_setname_np(pthread_self(), "mneme-cpu");
  for (;;) {
    if ((stop_.load() || !wait_for_work(seen)) && leave(worker, seen)) return;
    seen = epoch_.load(std::memory_order_acquire);
    uint64_t entry = entry_.load(std::memory_order_acquire);
    while (entry >> 32 == seen && (entry & kClosed) == 0) {
      if (!entry_.compare_exchange_weak(entry, entry + 1, std::memory_order_acq_rel)) continue;
      wake_two();
      (*work_)(worker);
      done_.fetch_add(1, std::memory_order_release);
      done_.notify_one();
      break;
    }
  }
}

void WorkerPool::for_each(uint64_t count, const std::function<void(uint64_t)>& body) {
  std::atomic<uint64_t> next{0};
  auto drain = [&](unsigned) {
    for (uint64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count; i = next.fetch_add(1, std::memory_order_relaxed))
      body(i);
  };
  if (count <= 1) return drain(0);
  run(drain, count);
}

}  // namespace mneme::cpu
