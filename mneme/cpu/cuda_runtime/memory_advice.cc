#include "mneme/cpu/cuda_runtime/memory_advice.h"

#include <iterator>

namespace mneme::emulation {

// Makes a piece begin at the address.
MemoryAdvice::Starts::iterator MemoryAdvice::split(DevicePtr address) {
  auto next = starts_.lower_bound(address);
  if (next != starts_.end() && next->first == address) return next;
  return starts_.emplace_hint(next, address, next == starts_.begin() ? Advice() : std::prev(next)->second);
}

void MemoryAdvice::change(MemoryRange range, const std::function<void(Advice&)>& edit) {
  std::lock_guard lock(mutex_);
  const auto end = split(range.end());
  for (auto piece = split(range.address); piece != end; ++piece) edit(piece->second);
}

void MemoryAdvice::forget(MemoryRange range) {
  std::lock_guard lock(mutex_);
  if (starts_.empty()) return;
  const auto end = split(range.end());
  const auto begin = split(range.address);
  begin->second = {};
  starts_.erase(std::next(begin), end);
}

std::vector<Advice> MemoryAdvice::in(MemoryRange range) const {
  std::lock_guard lock(mutex_);
  std::vector<Advice> pieces;
  auto next = starts_.upper_bound(range.address);
  pieces.push_back(next == starts_.begin() ? Advice() : std::prev(next)->second);
  for (; next != starts_.end() && next->first < range.end(); ++next) pieces.push_back(next->second);
  return pieces;
}

}  // namespace mneme::emulation
