// PinnedRing: the host memory that captured pages pass through. Its pieces are pinned when they are first needed, and used again
// and again.
//
// Where the system lets none be pinned the memory is ordinary, and copies are slower. The device must outlive the ring. Pieces
// are taken by one thread, and let go of by any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

class PinnedRing {
 public:
  static constexpr size_t kPieces = 8;

  PinnedRing(Device& device, Bytes piece) : device_(device), piece_(piece) {}
  ~PinnedRing();  // waits until all pieces are free
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  Bytes piece() const { return piece_; }
  // Takes a piece, which is free again when nobody has it any more. Where all kPieces are in use it calls `help`, which works for
  // those who have them, until that finds nothing to do, and waits then. exhausted: there is no memory.
  Result<std::shared_ptr<std::byte[]>> take(const std::function<bool()>& help = [] { return false; });
  // Whether the pieces are pinned. To be asked once there are some.
  bool is_pinned() const { return pinned_; }
  // How long pinning took so far.
  std::chrono::steady_clock::duration pinning() const { return pinning_; }

 private:
  Status allocate();
  bool has_free();

  Device& device_;
  const Bytes piece_;
  bool pinned_ = true;
  std::chrono::steady_clock::duration pinning_{};
  std::vector<std::unique_ptr<PinnedMemory>> pieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::byte*> free_;  // under mutex_
};

}  // namespace mneme
