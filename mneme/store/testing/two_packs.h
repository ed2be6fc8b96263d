// For tests: makes one publication write two packs at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string_view>

#include "mneme/store/testing/store_testing.h"

namespace mneme {

// Has each write of pages wait until another thread has come to write some to another file. It is for one publication, of
// memory_of_two_packs(), by two threads. Thread-safe.
class TwoPacks {
 public:
  // To be called before each operation on a file. False: no other thread has come in 20 s.
  bool before(std::string_view operation, const Path& path, uint64_t size) {
    if (operation != "append" || size < kPageSize.count / 2) return true;
    std::unique_lock lock(mutex_);
    packs_.insert(path);
    changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return failed_ || packs_.size() >= 2; });
  }
  // Has all of them go on. To be called where an operation fails, after which no other thread may come.
  void fail() {
    std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Path> packs_;
  bool failed_ = false;
};

// Memory of which so much is left by compression that a second pack is begun.
inline constexpr Bytes kTwoPacks = 3_MiB;
inline SampleMemory memory_of_two_packs() {
  SampleMemory memory = sample_memory(1, kTwoPacks.count);
  memory.before = memory.after = noise(kTwoPacks.count, 1);
  memory.after.back() ^= std::byte{0xff};
  return memory;
}

}  // namespace mneme
