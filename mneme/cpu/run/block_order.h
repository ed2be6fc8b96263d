// BlockOrder: an order in which a launch's blocks run, chosen by a seed.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace mneme::cpu {

// A permutation of the numbers below `count`. It is the same for the same seed on every machine. Each place is computed by
// itself, by a Feistel network over the next even number of bits, which is applied until the result is below `count`.
class BlockOrder {
 public:
  BlockOrder(uint64_t seed, uint64_t count) : count_(count) {
    const auto bits = static_cast<unsigned>(std::bit_width(count > 1 ? count - 1 : 1));
    half_ = (bits + 1) / 2;
    for (uint64_t& key : keys_) key = mix(seed += 0x9e3779b97f4a7c15);
  }

  // The number of the block that runs at `place`. `place` is below `count`.
  uint64_t at(uint64_t place) const {
    uint64_t value = place;
    do value = encrypt(value);
    while (value >= count_);
    return value;
  }

 private:
  // The finaliser of SplitMix64.
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t encrypt(uint64_t value) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    uint64_t left = value >> half_, right = value & mask;
    for (uint64_t key : keys_) {
      const uint64_t next = (left ^ mix(right ^ key)) & mask;
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  uint64_t count_;
  unsigned half_ = 1;
  std::array<uint64_t, 4> keys_{};
};

}  // namespace mneme::cpu
