// WorkerPool: the threads that run kernels and memory operations. Work starts them. Then they wait for more, and end when they
// are idle (idle_threads.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
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

  unsigned workers() const { return static_cast<unsigned>(there_.size()) + 1; }
  // Calls work(w) at most once for each worker w, and work(0) on the calling thread; returns when all these calls have
  // returned. `useful` is how many workers there is work for: with Join::in_time no more than these are woken. `work` must not
  // call run(). False: all are to take part, and the system starts no threads; then nothing was called.
  bool run(const Work& work, uint64_t useful, Join join = Join::in_time);
  // Calls body(i) for each i below `count`, spread over the workers; returns when all calls have returned.
  void for_each(uint64_t count, const std::function<void(uint64_t)>& body);

 private:
  bool start_all();  // with the turn
  void serve(unsigned worker, uint32_t seen);
  bool wait_for_work(uint32_t seen);
  bool leave(unsigned worker, uint32_t seen);
  void wake(int sleepers);
  void wake_two();

  std::mutex turn_;
  std::vector<bool> there_;  // of the workers after worker 0, whether there is a thread; with the turn
  size_t absent_;            // how many of them have none; likewise
  std::condition_variable left_;
  const Work* work_ = nullptr;
  std::atomic<bool> stop_ = false;
  // Counts the works; idle workers wait on it.
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> asleep_{0};  // how many wait for another epoch in the kernel
  // epoch << 32 | kClosed | how many threads have joined this work. Epoch 0 has none.
  static constexpr uint64_t kClosed = uint64_t{1} << 31, kJoined = kClosed - 1;
  std::atomic<uint64_t> entry_{kClosed};
  std::atomic<uint32_t> done_{0};
  std::atomic<int64_t> to_wake_{0};
};

}  // namespace mneme::cpu
