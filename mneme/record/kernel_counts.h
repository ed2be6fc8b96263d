// KernelCounts: what happened to the launches of one kernel in this process.
//
// There is one for each static hash, since several images may register one kernel. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "mneme/base/digest.h"
#include "mneme/record/distinct_launches.h"
#include "mneme/record/shape_counts.h"

namespace mneme {

struct KernelCounts {
  std::atomic<uint64_t> seen = 0;      // launches of the kernel, of those in the --window
  std::atomic<uint64_t> attempts = 0;  // those of them that were to be recorded
  std::atomic<bool> recorded = false;  // the database has an instance of it
  std::atomic<bool> refused = false;   // its file in the database cannot be read
  ShapeCounts shapes;                  // of all launches
  DistinctLaunches distinct;

  // Remembers an instance of this kernel that the database has, and its shape.
  void remember(const Digest& dynamic_hash, const ProgramShape& shape) {
    std::lock_guard lock(mutex_);
    instances_[dynamic_hash] = shape;
  }
  // By dynamic hash.
  std::map<Digest, ProgramShape> instances() const {
    std::lock_guard lock(mutex_);
    return instances_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Digest, ProgramShape> instances_;
};

}  // namespace mneme
