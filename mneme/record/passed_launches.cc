#include "mneme/record/passed_launches.h"

namespace mneme {

// Not waited for: a child that another thread has forked may find the lock taken for good.
void PassedLaunches::keep(const PassedLaunch& launch, uint64_t decision) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const auto kept = all_.try_emplace(launch, decision).first;
  kept->second.store(decision, std::memory_order_release);
  slots_[slot_of(launch.handle)].store(&*kept, std::memory_order_release);
}

}  // namespace mneme
