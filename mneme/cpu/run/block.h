// Block: the state of one block while it runs. If its threads run as fibers it holds their barriers and the meetings of their
// warps.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "mneme/cpu/run/fiber.h"
#include "mneme/cpu/run/image.h"

namespace mneme::cpu {

inline constexpr uint32_t kSmallestWarp = 32;
inline constexpr uint32_t kLargestWarp = 64;
inline constexpr uint32_t kBarriers = 16;
inline constexpr uint32_t kMaxThreads = 1024;

// One of the sixteen barriers of a block. A phase begins with the first thread that arrives and ends when the barrier releases
// all threads that wait.
struct Barrier {
  uint32_t phase = 0;
  uint32_t expected = 0;  // how many threads it waits for; 0: all of the block
  // How many threads have arrived. If `expected` is a number, barriers count whole warps: the lanes that a warp lacks, or that
  // have exited, count as arrived with the first lane of the warp that arrives.
  uint32_t arrived = 0;
  uint32_t absent = 0;      // threads that exited without arriving in this phase
  uint32_t warps = 0;       // warps of which a lane has arrived, a bit each
  uint32_t count = 0;       // true predicates
  uint32_t predicates = 0;  // all predicates
  FiberQueue waiting;

  bool complete(uint32_t threads) const { return expected == 0 ? arrived + absent >= threads : arrived >= expected; }
};

// Those from wave_sync on are the collectives of waves.
enum class Meet : uint16_t { sync, shuffle, vote, match_any, match_all, reduce, wave_sync, wave_ballot, wave_read, wave_push };

// The lanes of a warp that have called one collective, with the same mask and the same kind of call, and wait for the other
// lanes of the mask. A collective of a wave has no mask: it waits for all lanes that may still come to the same site.
struct Meeting {
  uint64_t mask = 0;
  uint32_t kind = 0;  // Meet << 8 | mode
  uint32_t site = 0;  // of a wave's: where in the code
  uint64_t arrived = 0;
  Meeting* next = nullptr;
  std::array<Fiber*, kLargestWarp> fibers;
  std::array<uint64_t, kLargestWarp> values;
  std::array<uint32_t, kLargestWarp> lanes;   // shuffle, wave_read, wave_push: the lane operand
  std::array<uint32_t, kLargestWarp> clamps;  // shuffle: the clamp and segment operand
};

struct Warp {
  uint64_t live = 0;  // lanes that exist and have not exited
  Meeting* meetings = nullptr;
  const void* first_site = nullptr;  // while steps are resolved: where in the code the least advanced of its lanes waits
};

struct Block {
  mneme_cpu_block abi{};
  uint32_t threads = 0;
  uint32_t warp_size = kSmallestWarp;
  uint32_t started = 0;  // threads that a fiber has begun to run
  uint32_t exited = 0;
  uint32_t open_barriers = 0;   // barriers in the middle of a phase, a bit each
  uint32_t next_index[3] = {};  // of the next thread to start
  std::array<Barrier, kBarriers> barriers;
  std::array<Warp, kMaxThreads / kSmallestWarp> warps;
  Block* next = nullptr;             // in a list of free blocks
  uint8_t* shared_memory = nullptr;  // owned by the scheduler

  // Makes it ready for the next block of the grid, of which no thread has started.
  void begin() {
    started = exited = 0;
    next_index[0] = next_index[1] = next_index[2] = 0;
    for (uint32_t open = open_barriers; open != 0; open &= open - 1) barriers[std::countr_zero(open)] = Barrier{};
    open_barriers = 0;
    for (uint32_t first = 0; first < threads; first += warp_size) {
      const uint32_t lanes = std::min(threads - first, warp_size);
      warps[first / warp_size] = {~uint64_t{0} >> (kLargestWarp - lanes), nullptr};
    }
  }
};

}  // namespace mneme::cpu
