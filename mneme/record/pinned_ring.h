// PinnedRing: the host memory that captured pages pass through. Its pieces are pinned when they are needed, and used again and
// again. Pinning takes longer than most waits for a piece: beyond the first few, one more is pinned once waiting has taken as
// long.
//
// Where the system lets none be pinned the memory is ordinary, and copies are slower. What was refused may be for a moment: a
// while later it is asked for again. The device must outlive the ring. Pieces are taken by one thread, and let go of by any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

class PinnedRing {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = Clock::duration;
  static constexpr size_t kPieces = 8;
  // So many are pinned without waiting: one that is copied to, and two that are worked on.
  static constexpr size_t kFirstPieces = 3;

  static constexpr Duration kPause = std::chrono::seconds(1);

  // `pause`: how long nothing is asked for that was refused.
  PinnedRing(Device& device, Bytes piece, Duration pause = kPause) : device_(device), piece_(piece), pause_(pause) {}
  ~PinnedRing();  // waits until all pieces are free
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  Bytes piece() const { return piece_; }
  // Takes a piece, which is free again when nobody has it any more. Where all are in use it calls `help`, which works for those
  // who have them, until that finds nothing to do, and waits then; or pins one more. exhausted: there is no memory.
  Result<std::shared_ptr<std::byte[]>> take(const std::function<bool()>& help = [] { return false; });
  // Whether the pieces are pinned, until one is taken again. To be asked once there are some.
  bool is_pinned() const { return pinned_; }
  // How long pinning took so far.
  Duration pinning() const { return pinning_; }

 private:
  Status allocate();
  bool has_free();
  void pin_again();
  template <typename Allocate>
  Result<std::unique_ptr<PinnedMemory>> measure(Allocate allocate);
  bool is_over(Clock::time_point refused) const { return Clock::now() - refused >= pause_; }
  bool may_grow() const { return pieces_.size() < kPieces && (!growth_refused_ || is_over(*growth_refused_)); }
  Status wait_for_piece(const std::function<bool()>& help);

  Device& device_;
  const Bytes piece_;
  const Duration pause_;
  bool pinned_ = true;
  std::optional<Clock::time_point> growth_refused_;  // when there was no memory for one more piece
  Clock::time_point pinning_refused_;                // when the first was not pinned; while `pinned_` is false
  Duration pinning_{};
  Duration last_pinning_{};  // of one piece
  Duration waited_{};        // for pieces, since one was pinned
  std::vector<std::unique_ptr<PinnedMemory>> pieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::byte*> free_;  // under mutex_
};

}  // namespace mneme
