#include "mneme/record/passed_launches.h"

#include <utility>

namespace mneme {

// Not waited for: a child that another thread has forked may find the lock taken for good.
void PassedLaunches::keep(const PassedLaunch& launch, uint64_t decision) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  std::unique_ptr<Kept>& kept = kept_[launch.handle];
  if (kept && kept->launch != launch) replaced_.push_back(std::move(kept));
  if (!kept) kept.reset(new Kept{launch, decision});
  kept->decision.store(decision, std::memory_order_release);
  slots_[slot_of(launch.handle)].store(kept.get(), std::memory_order_release);
}

}  // namespace mneme
