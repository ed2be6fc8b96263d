// The state of one block whose threads run as fibers: its barriers, and the meetings of its warps.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "mneme/cpu/run/fiber.h"
#include "mneme/cpu/run/image.h"

namespace mneme::cpu {

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kBarriers = 16;
inline constexpr uint32_t kMaxThreads = 1024;

// One of the sixteen barriers of a block. A phase begins with the first arrival and ends with the release.
struct Barrier {
  uint32_t phase = 0;
  uint32_t expected = 0;  // threads; 0: all of the block
  uint32_t arrived = 0;   // with, for a given number, the missing lanes of warps that arrived (barriers count whole warps)
  uint32_t absent = 0;    // threads that exited without arriving in this phase
  uint32_t warps = 0;     // those that have arrived, a bit each
  uint32_t count = 0;     // of true predicates
  uint32_t predicates = 0;
  FiberQueue waiting;

  bool complete(uint32_t threads) const { return expected == 0 ? arrived + absent >= threads : arrived >= expected; }
};

enum class Meet : uint16_t { sync, shuffle, vote, match_any, match_all, reduce };

// Lanes of a warp on their way to the same collective: the same mask and the same kind of call.
struct Meeting {
  uint32_t mask = 0;
  uint32_t kind = 0;  // Meet << 8 | mode
  uint32_t arrived = 0;
  Meeting* next = nullptr;
  std::array<Fiber*, kWarpSize> fibers;
  std::array<uint64_t, kWarpSize> values;
  std::array<uint32_t, kWarpSize> lanes;   // shuffle: the lane operand
  std::array<uint32_t, kWarpSize> clamps;  // shuffle: the clamp and segment operand
};

struct Warp {
  uint32_t live = 0;  // lanes that exist and have not exited
  Meeting* meetings = nullptr;
};

struct Block {
  mneme_cpu_block abi{};
  uint32_t threads = 0;
  uint32_t started = 0;  // threads that have been given to a fiber
  uint32_t exited = 0;
  uint32_t open_barriers = 0;   // those in the middle of a phase, a bit each
  uint32_t next_index[3] = {};  // of the next thread to start
  std::array<Barrier, kBarriers> barriers;
  std::array<Warp, kMaxThreads / kWarpSize> warps;
  Block* next = nullptr;             // in a list of free blocks
  uint8_t* shared_memory = nullptr;  // owned by the scheduler

  // For the next block of the grid, all threads to be started.
  void begin() {
    started = exited = 0;
    next_index[0] = next_index[1] = next_index[2] = 0;
    for (uint32_t open = open_barriers; open != 0; open &= open - 1) barriers[std::countr_zero(open)] = Barrier{};
    open_barriers = 0;
    for (uint32_t first = 0; first < threads; first += kWarpSize) {
      const uint32_t lanes = threads - first;
      warps[first / kWarpSize] = {lanes >= kWarpSize ? ~uint32_t{0} : (uint32_t{1} << lanes) - 1, nullptr};
    }
  }
};

}  // namespace mneme::cpu
