#include "mneme/substitute/allocations.h"

namespace mneme {

void Allocations::add(MemoryRange range) {
  std::unique_lock lock(mutex_);
  // What was freed in a way that is not watched.
  for (auto entry = ranges_.first_overlap(range); entry != ranges_.end() && entry->range.overlaps(range);)
    entry = ranges_.erase(entry);
  ranges_.set(range);
}

void Allocations::remove(DevicePtr address) {
  std::unique_lock lock(mutex_);
  ranges_.erase_start(address);
}

void Allocations::clear() {
  std::unique_lock lock(mutex_);
  ranges_.clear();
}

std::optional<MemoryRange> Allocations::find(DevicePtr address) const {
  std::shared_lock lock(mutex_);
  const auto* found = ranges_.find(address);
  return found ? std::optional(found->range) : std::nullopt;
}

}  // namespace mneme
