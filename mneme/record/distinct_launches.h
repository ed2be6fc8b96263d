// DistinctLaunches: which launches of a kernel are recorded, by a digest of what tells them apart (`mneme record --distinct`).
//
// A launch that is to be recorded claims its digest. The claim lasts when the launch was recorded; else it ends, so that a later
// launch that is the same can be recorded in its place. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "mneme/base/digest.h"

namespace mneme {

class DistinctLaunches {
 public:
  // Move-only. The DistinctLaunches that gave it must outlive it. The empty claim is of nothing.
  class Claim {
   public:
    Claim() = default;
    Claim(Claim&& other) noexcept : of_(std::exchange(other.of_, nullptr)), key_(other.key_) {}
    Claim& operator=(Claim&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(key_, other.key_);
      return *this;
    }
    ~Claim() {
      if (of_) of_->release(key_);
    }
    // The launch was recorded: its digest stays claimed.
    void keep() { of_ = nullptr; }

   private:
    friend class DistinctLaunches;
    Claim(DistinctLaunches& of, const Digest& key) : of_(&of), key_(key) {}
    DistinctLaunches* of_ = nullptr;
    Digest key_;
  };

  // Nothing when another launch has claimed the digest.
  std::optional<Claim> claim(const Digest& key) {
    std::lock_guard lock(mutex_);
    return claimed_.insert(key).second ? std::optional(Claim(*this, key)) : std::nullopt;
  }

 private:
  void release(const Digest& key) {
    std::lock_guard lock(mutex_);
    claimed_.erase(key);
  }

  std::mutex mutex_;
  std::set<Digest> claimed_;
};

}  // namespace mneme
