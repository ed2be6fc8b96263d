#include "mneme/record/pinned_ring.h"

#include "mneme/base/log.h"
#include "mneme/device/host_memory.h"

namespace mneme {

PinnedRing::~PinnedRing() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return free_.size() == pieces_.size(); });
}

template <typename Allocate>
Result<std::unique_ptr<PinnedMemory>> PinnedRing::measure(Allocate allocate) {
  const Clock::time_point begin = Clock::now();
  Result<std::unique_ptr<PinnedMemory>> memory = allocate();
  last_pinning_ = Clock::now() - begin;
  pinning_ += last_pinning_;
  return memory;
}

Status PinnedRing::allocate() {
  const auto ordinary = [&] { return allocate_pinned_host_memory(piece_); };
  auto memory = pinned_ ? measure([&] { return device_.allocate_pinned(piece_); }) : measure(ordinary);
  if (!memory.ok() && pinned_ && pieces_.empty()) {
    log::debug("recorded memory is copied to memory that is not pinned, which takes longer: {}", memory.status().message());
    pinned_ = false;
    pinning_refused_ = Clock::now();
    memory = measure(ordinary);
  }
  waited_ = {};
  growth_refused_.reset();
  if (!memory.ok() && pieces_.empty()) return memory.status();
  if (!memory.ok()) return growth_refused_ = Clock::now(), Status();  // those that there are do
  std::lock_guard lock(mutex_);
  free_.push_back((*memory)->bytes().data());
  pieces_.push_back(std::move(*memory));
  return {};
}

// Nobody is copying to an ordinary piece then, whom the first pinned one would tell that all are.
void PinnedRing::pin_again() {
  {
    std::lock_guard lock(mutex_);
    if (pieces_.empty() || free_.size() != pieces_.size()) return;
  }
  pinning_refused_ = Clock::now();
  auto memory = measure([&] { return device_.allocate_pinned(piece_); });
  if (!memory.ok()) return;
  std::lock_guard lock(mutex_);
  free_.assign(1, (*memory)->bytes().data());
  pieces_.clear();
  pieces_.push_back(std::move(*memory));
  pinned_ = true;
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
  if (!pinned_ && is_over(pinning_refused_)) pin_again();
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
