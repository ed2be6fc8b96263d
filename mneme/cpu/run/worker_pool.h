// WorkerPool: the threads that run kernels and memory operations. They are started once and wait for work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mneme::cpu {

enum class Join {
  in_time,  // a worker takes part if it comes before the work is done
  all,      // every worker takes part, sooner or later
};

// Thread-safe: several callers take turns.
class WorkerPool {
 public:
  using Work = std::function<void(unsigned worker)>;

  // `workers` is how many workers there are, with the thread that calls run(), which is worker 0.
  explicit WorkerPool(unsigned workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }
  // Calls work(w) at most once for each worker w, and work(0) on the calling thread; returns when all these calls have
  // returned. `useful` is how many workers there is work for: with Join::in_time no more than these are woken. `work` must not
  // call run().
  void run(const Work& work, uint64_t useful, Join join = Join::in_time);
  // Calls body(i) for each i below `count`, spread over the workers; returns when all calls have returned.
  void for_each(uint64_t count, const std::function<void(uint64_t)>& body);

 private:
  void serve(unsigned worker);
  void wake_two();

  std::mutex turn_;
  std::vector<std::thread> threads_;
  const Work* work_ = nullptr;
  bool stop_ = false;
  // Counts the works; its low 32 bits are what idle workers wait on.
  std::atomic<uint32_t> epoch_{0};
  // epoch << 32 | kClosed | how many of threads_ have joined this work.
  std::atomic<uint64_t> entry_{0};
  std::atomic<uint32_t> done_{0};
  std::atomic<int64_t> to_wake_{0};
};

}  // namespace mneme::cpu
