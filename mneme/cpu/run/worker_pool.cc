#include "mneme/cpu/run/worker_pool.h"

#include <immintrin.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>

namespace mneme::cpu {
namespace {

constexpr uint64_t kClosed = uint64_t{1} << 31;
constexpr uint64_t kJoined = kClosed - 1;
constexpr int kSpins = 2000;  // about 50 us: launches often follow one another closely

// Waits until `word` is no longer `old`.
template <typename Done>
void wait_until(std::atomic<uint32_t>& word, Done done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done(word.load(std::memory_order_acquire))) return;
    _mm_pause();
  }
  for (uint32_t value = word.load(std::memory_order_acquire); !done(value); value = word.load(std::memory_order_acquire))
    word.wait(value);
}

// The application's signals are for its own threads.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, signal);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

WorkerPool::WorkerPool(unsigned workers) {
  for (unsigned worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
}

WorkerPool::~WorkerPool() {
  stop_ = true;
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void WorkerPool::run(const Work& work, uint64_t useful, Join join) {
  std::lock_guard turn(turn_);
  if (join == Join::all) useful = workers();
  if (threads_.empty() || useful <= 1) return work(0);
  work_ = &work;
  done_.store(0, std::memory_order_relaxed);
  const uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
  entry_.store(uint64_t{epoch} << 32, std::memory_order_release);
  to_wake_.store(static_cast<int64_t>(std::min<uint64_t>(useful, workers())) - 1, std::memory_order_relaxed);
  epoch_.store(epoch, std::memory_order_release);
  wake_two();
  work(0);
  if (join == Join::all) {
    while ((entry_.load(std::memory_order_acquire) & kJoined) != threads_.size()) sched_yield();
  }
  const uint64_t joined = entry_.fetch_or(kClosed, std::memory_order_acq_rel) & kJoined;
  wait_until(done_, [joined](uint32_t done) { return done == joined; });
  work_ = nullptr;
}

// A system call each, so whoever is awake wakes two more: a short launch pays for two, a long one has all of them soon.
void WorkerPool::wake_two() {
  for (int i = 0; i < 2; ++i) {
    if (to_wake_.fetch_sub(1, std::memory_order_relaxed) > 0) epoch_.notify_one();
  }
}

void WorkerPool::serve(unsigned worker) {
  block_signals();
  pthread_setname_np(pthread_self(), "mneme-cpu");
  uint32_t seen = 0;
  for (;;) {
    wait_until(epoch_, [seen](uint32_t epoch) { return epoch != seen; });
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_) return;
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
