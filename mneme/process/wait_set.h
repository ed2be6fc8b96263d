// WaitSet: waits until one of many descriptors can be read, at a cost that does not grow with how many there are.
//
// Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"

namespace mneme {

class WaitSet {
 public:
  static Result<WaitSet> create();  // io
  WaitSet() = default;

  // A descriptor that is closed, with all that were duplicated from it, is no longer waited for. io.
  Status add(int descriptor, uint64_t tag);
  void remove(int descriptor);

  // The tags of those that can be read or whose other end is closed, some of them where they are very many; none when the time is
  // over or a signal came. No time: as long as it takes.
  void wait(std::optional<std::chrono::milliseconds> time, std::vector<uint64_t>& tags);

 private:
  explicit WaitSet(Descriptor set) : set_(std::move(set)) {}

  Descriptor set_;
};

}  // namespace mneme
