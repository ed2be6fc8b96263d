#include "mneme/record/pinned_ring.h"

#include "mneme/base/log.h"
#include "mneme/device/host_memory.h"

namespace mneme {

PinnedRing::~PinnedRing() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return free_.size() == pieces_.size(); });
}

Status PinnedRing::allocate() {
  const auto begin = std::chrono::steady_clock::now();
  auto memory = pinned_ ? device_.allocate_pinned(piece_) : allocate_pinned_host_memory(piece_);
  if (!memory.ok() && pinned_ && pieces_.empty()) {
    log::debug("recorded memory is copied to memory that is not pinned, which takes longer: {}", memory.status().message());
    pinned_ = false;
    memory = allocate_pinned_host_memory(piece_);
  }
  pinning_ += std::chrono::steady_clock::now() - begin;
  if (!memory.ok()) return pieces_.empty() ? memory.status() : Status();  // those that there are do
  std::lock_guard lock(mutex_);
  free_.push_back((*memory)->bytes().data());
  pieces_.push_back(std::move(*memory));
  return {};
}

bool PinnedRing::has_free() {
  std::lock_guard lock(mutex_);
  return !free_.empty();
}

Result<std::shared_ptr<std::byte[]>> PinnedRing::take(const std::function<bool()>& help) {
  if (!has_free() && pieces_.size() < kPieces) MNEME_TRY(allocate());
  while (!has_free() && help()) {
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !free_.empty(); });
  std::byte* piece = free_.back();
  free_.pop_back();
  return std::shared_ptr<std::byte[]>(piece, [this](std::byte* used) {
    std::lock_guard back(mutex_);
    free_.push_back(used);
    changed_.notify_all();
  });
}

}  // namespace mneme
