#include "mneme/record/pinned_ring.h"

#include "mneme/base/log.h"
#include "mneme/device/host_memory.h"

namespace mneme {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

PinnedRing::~PinnedRing() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return free_.size() == pieces_.size(); });
}

Status PinnedRing::allocate() {
  const Clock::time_point begin = Clock::now();
  auto memory = pinned_ ? device_.allocate_pinned(piece_) : allocate_pinned_host_memory(piece_);
  if (!memory.ok() && pinned_ && pieces_.empty()) {
    log::debug("recorded memory is copied to memory that is not pinned, which takes longer: {}", memory.status().message());
    pinned_ = false;
    memory = allocate_pinned_host_memory(piece_);
  }
  last_pinning_ = Clock::now() - begin;
  pinning_ += last_pinning_;
  waited_ = {};
  refused_ = !memory.ok() && !pieces_.empty();
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

Status PinnedRing::wait_for_piece(const std::function<bool()>& help) {
  while (!has_free()) {
    if (may_grow() && (pieces_.size() < kFirstPieces || waited_ >= last_pinning_)) {
      MNEME_TRY(allocate());
      continue;
    }
    const Clock::time_point begin = Clock::now();
    if (!help()) {
      std::unique_lock lock(mutex_);
      const auto is_free = [&] { return !free_.empty(); };
      if (may_grow())
        changed_.wait_for(lock, last_pinning_ - waited_, is_free);
      else
        changed_.wait(lock, is_free);
    }
    waited_ += Clock::now() - begin;
  }
  return {};
}

Result<std::shared_ptr<std::byte[]>> PinnedRing::take(const std::function<bool()>& help) {
  MNEME_TRY(wait_for_piece(help));
  std::lock_guard lock(mutex_);
  std::byte* piece = free_.back();
  free_.pop_back();
  return std::shared_ptr<std::byte[]>(piece, [this](std::byte* used) {
    std::lock_guard back(mutex_);
    free_.push_back(used);
    changed_.notify_all();
  });
}

}  // namespace mneme
