// Allocations: the device memory that the program has allocated, for conditions on what pointers lead to. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <shared_mutex>

#include "mneme/base/range_map.h"

namespace mneme {

class Allocations {
 public:
  void add(MemoryRange range);
  void remove(DevicePtr address);
  void clear();
  // The allocation that holds the address; nothing where none does that was made through a function which is watched.
  std::optional<MemoryRange> find(DevicePtr address) const;

 private:
  mutable std::shared_mutex mutex_;
  RangeMap<> ranges_;
};

}  // namespace mneme
