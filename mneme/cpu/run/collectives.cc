#include "mneme/cpu/run/collectives.h"

#include <bit>

namespace mneme::cpu {
namespace {

Scheduler& scheduler_of(const mneme_cpu_thread* thread) { return *static_cast<Scheduler*>(thread->block->executor); }

// The fiber that calls; null for a block of one thread that runs as a loop, where nobody is to be waited for.
Fiber* fiber_of(mneme_cpu_thread* thread, const char* call) {
  if (thread->fiber != nullptr) return static_cast<Fiber*>(thread->fiber);
  const mneme_cpu_block& block = *thread->block;
  if (uint64_t{block.block[0]} * block.block[1] * block.block[2] != 1) {
    scheduler_of(thread).fail(*thread, FaultKind::misuse,
                              fmt::format("{} in a kernel whose image runs its threads as a loop", call));
  }
  return nullptr;
}

void release(Scheduler& scheduler, Block& block, uint32_t id) {
  Barrier& bar = block.barriers[id];
  block.open_barriers &= ~(uint32_t{1} << id);
  if (bar.predicates != 0) {
    for (Fiber* fiber = bar.waiting.head(); fiber != nullptr; fiber = fiber->next) {
      fiber->result = bar.count;
      fiber->predicate = bar.count == bar.predicates ? 1 : 0;
    }
  }
  scheduler.make_ready(bar.waiting);
}

// Counts the fiber in; the caller waits or releases.
Barrier& arrive(Scheduler& scheduler, Fiber& fiber, uint32_t id, uint32_t threads) {
  Block& block = *fiber.block;
  if (id >= kBarriers) {
    scheduler.fail(fiber.thread, FaultKind::misuse,
                   fmt::format("barrier {}: a block has the barriers 0 to {}", id, kBarriers - 1));
  }
  const uint32_t expected = threads >= block.threads ? 0 : threads;
  Barrier& bar = block.barriers[id];
  const uint32_t bit = uint32_t{1} << id;
  if ((block.open_barriers & bit) == 0) {
    block.open_barriers |= bit;
    ++bar.phase;
    bar.expected = expected;
    bar.arrived = bar.warps = bar.count = bar.predicates = 0;
    bar.absent = block.exited;
  } else if (bar.expected != expected) {
    auto count = [&](uint32_t n) { return n == 0 ? block.threads : n; };
    scheduler.fail(
        fiber.thread, FaultKind::misuse,
        fmt::format("barrier {} is used for {} threads and at the same time for {}", id, count(bar.expected), count(expected)));
  }
  ++bar.arrived;
  const uint32_t warp = uint32_t{1} << fiber.thread.warp;
  if (expected != 0 && (bar.warps & warp) == 0) {
    bar.warps |= warp;
    bar.arrived += block.warp_size - static_cast<uint32_t>(std::popcount(block.warps[fiber.thread.warp].live));
  }
  return bar;
}

void wait_or_release(Scheduler& scheduler, Fiber& fiber, Barrier& bar, uint32_t id) {
  if (bar.complete(fiber.block->threads)) {
    fiber.result = bar.count;
    fiber.predicate = bar.count == bar.predicates ? 1 : 0;
    return release(scheduler, *fiber.block, id);
  }
  fiber.wait = Wait::barrier;
  fiber.barrier = static_cast<uint8_t>(id);
  bar.waiting.push(&fiber);
  scheduler.wait();
}

constexpr uint32_t kind_of(Meet meet, uint32_t mode = 0) { return static_cast<uint32_t>(meet) << 8 | mode; }
bool is_of_wave(const Meeting& meeting) { return meeting.kind >= kind_of(Meet::wave_sync); }

// Calls body(lane) for each bit.
template <typename Body>
void for_lanes(uint64_t bits, Body body) {
  for (; bits != 0; bits &= bits - 1) body(static_cast<uint32_t>(std::countr_zero(bits)));
}

void complete_shuffle(Meeting& meeting, uint32_t mode) {
  for_lanes(meeting.arrived, [&](uint32_t lane) {
    const ShuffleSource source = shuffle_source(mode, lane, meeting.lanes[lane], meeting.clamps[lane]);
    // A source outside of the mask, or one that has exited, gives an undefined value: the lane's own.
    const bool there = (meeting.arrived >> source.lane & 1) != 0;
    meeting.fibers[lane]->result = static_cast<uint32_t>(meeting.values[there ? source.lane : lane]);
    meeting.fibers[lane]->predicate = source.in_range ? 1 : 0;
  });
}

uint64_t ballot_of(const Meeting& meeting) {
  uint64_t ballot = 0;
  for_lanes(meeting.arrived, [&](uint32_t lane) { ballot |= (meeting.values[lane] != 0 ? uint64_t{1} : 0) << lane; });
  return ballot;
}

uint64_t vote_of(const Meeting& meeting, uint32_t mode) {
  const uint64_t ballot = ballot_of(meeting);
  switch (mode) {
    case MNEME_CPU_VOTE_ALL: return ballot == meeting.arrived ? 1 : 0;
    case MNEME_CPU_VOTE_ANY: return ballot != 0 ? 1 : 0;
    case MNEME_CPU_VOTE_UNI: return ballot == 0 || ballot == meeting.arrived ? 1 : 0;
    default: return ballot;
  }
}

uint32_t combine(uint32_t mode, uint32_t a, uint32_t b) {
  switch (mode) {
    case MNEME_CPU_REDUCE_ADD: return a + b;
    case MNEME_CPU_REDUCE_UMIN: return std::min(a, b);
    case MNEME_CPU_REDUCE_UMAX: return std::max(a, b);
    case MNEME_CPU_REDUCE_MIN: return static_cast<uint32_t>(std::min(static_cast<int32_t>(a), static_cast<int32_t>(b)));
    case MNEME_CPU_REDUCE_MAX: return static_cast<uint32_t>(std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)));
    case MNEME_CPU_REDUCE_AND: return a & b;
    case MNEME_CPU_REDUCE_OR: return a | b;
    default: return a ^ b;
  }
}

uint32_t reduction_of(const Meeting& meeting, uint32_t mode) {
  const auto first = static_cast<uint32_t>(std::countr_zero(meeting.arrived));
  auto result = static_cast<uint32_t>(meeting.values[first]);
  for_lanes(meeting.arrived & (meeting.arrived - 1),
            [&](uint32_t lane) { result = combine(mode, result, static_cast<uint32_t>(meeting.values[lane])); });
  return result;
}

// The lanes whose value is that of `lane`.
uint64_t matches(const Meeting& meeting, uint32_t lane) {
  uint64_t equal = 0;
  for_lanes(meeting.arrived,
            [&](uint32_t other) { equal |= (meeting.values[other] == meeting.values[lane] ? uint64_t{1} : 0) << other; });
  return equal;
}

void give_all(Meeting& meeting, uint64_t lanes, uint64_t result, uint32_t predicate = 0) {
  for_lanes(lanes, [&](uint32_t lane) {
    meeting.fibers[lane]->result = result;
    meeting.fibers[lane]->predicate = predicate;
  });
}

void complete_wave_read(Meeting& meeting) {
  const auto first = static_cast<uint32_t>(std::countr_zero(meeting.arrived));
  for_lanes(meeting.arrived, [&](uint32_t lane) {
    const uint32_t source = meeting.lanes[lane] == MNEME_CPU_FIRST_LANE ? first : meeting.lanes[lane];
    const bool there = source < kLargestWarp && (meeting.arrived >> source & 1) != 0;
    meeting.fibers[lane]->result = there ? meeting.values[source] : 0;
    meeting.fibers[lane]->predicate = there ? 1 : 0;
  });
}

void complete_wave_push(Meeting& meeting) {
  give_all(meeting, meeting.arrived, 0);
  for_lanes(meeting.arrived, [&](uint32_t lane) {
    const uint32_t target = meeting.lanes[lane];
    if (target < kLargestWarp && (meeting.arrived >> target & 1) != 0) meeting.fibers[target]->result = meeting.values[lane];
  });
}

// Everybody is here: gives each its result and lets all but `caller`, which is running, go on.
void complete(Scheduler& scheduler, Warp& warp, Meeting& meeting, Fiber* caller) {
  const uint32_t mode = meeting.kind & 0xff;
  switch (static_cast<Meet>(meeting.kind >> 8)) {
    case Meet::sync:
    case Meet::wave_sync: break;
    case Meet::wave_ballot: give_all(meeting, meeting.arrived, ballot_of(meeting)); break;
    case Meet::wave_read: complete_wave_read(meeting); break;
    case Meet::wave_push: complete_wave_push(meeting); break;
    case Meet::shuffle: complete_shuffle(meeting, mode); break;
    case Meet::vote: give_all(meeting, meeting.arrived, vote_of(meeting, mode)); break;
    case Meet::reduce: give_all(meeting, meeting.arrived, reduction_of(meeting, mode)); break;
    case Meet::match_any:
      for (uint64_t left = meeting.arrived; left != 0;) {
        const uint64_t equal = matches(meeting, static_cast<uint32_t>(std::countr_zero(left)));
        give_all(meeting, equal, equal);
        left &= ~equal;
      }
      break;
    case Meet::match_all: {
      const bool all = matches(meeting, static_cast<uint32_t>(std::countr_zero(meeting.arrived))) == meeting.arrived;
      give_all(meeting, meeting.arrived, all ? meeting.arrived : 0, all ? 1 : 0);
      break;
    }
  }
  if (is_of_wave(meeting)) --scheduler.open_waves();
  Meeting** link = &warp.meetings;
  while (*link != &meeting) link = &(*link)->next;
  *link = meeting.next;
  for_lanes(meeting.arrived, [&](uint32_t lane) {
    if (meeting.fibers[lane] != caller) scheduler.make_ready(meeting.fibers[lane]);
  });
  scheduler.give_meeting(&meeting);
}

struct Contribution {
  uint64_t value = 0;
  uint32_t lane = 0;
  uint32_t clamp = 0;
};

// What belongs together in a collective: the same mask, kind and, of a wave's, site.
struct Party {
  uint64_t mask;
  uint32_t kind;
  uint32_t site = 0;
};

// The thread takes part in a collective and waits for its result, which is then in the fiber.
void meet(Fiber& fiber, Party party, const Contribution& contribution) {
  Scheduler& scheduler = *fiber.scheduler;
  const uint32_t lane = fiber.thread.lane;
  const uint64_t bit = uint64_t{1} << lane;
  // A lane that its own mask leaves out: undefined by the ISA, alone by itself here.
  if ((party.mask & bit) == 0) party.mask = bit;
  Warp& warp = fiber.block->warps[fiber.thread.warp];
  Meeting* meeting = warp.meetings;
  while (meeting != nullptr && (meeting->mask != party.mask || meeting->kind != party.kind || meeting->site != party.site))
    meeting = meeting->next;
  if (meeting == nullptr) {
    meeting = scheduler.take_meeting();
    meeting->mask = party.mask;
    meeting->kind = party.kind;
    meeting->site = party.site;
    meeting->arrived = 0;
    meeting->next = warp.meetings;
    warp.meetings = meeting;
    if (is_of_wave(*meeting)) ++scheduler.open_waves();
  }
  meeting->arrived |= bit;
  meeting->fibers[lane] = &fiber;
  meeting->values[lane] = contribution.value;
  meeting->lanes[lane] = contribution.lane;
  meeting->clamps[lane] = contribution.clamp;
  if (meeting->arrived == (party.mask & warp.live)) return complete(scheduler, warp, *meeting, &fiber);
  fiber.wait = Wait::meeting;
  fiber.mask = party.mask;
  scheduler.wait();
}

void meet_wave(Fiber& fiber, Meet meet_as, uint32_t site, const Contribution& contribution) {
  meet(fiber, {~uint64_t{0}, kind_of(meet_as), site}, contribution);
}

// The one that is least far in the code; null where no lane waits for others of its wave.
Meeting* first_wave_meeting(const Warp& warp) {
  Meeting* first = nullptr;
  for (Meeting* meeting = warp.meetings; meeting != nullptr; meeting = meeting->next) {
    if (!is_of_wave(*meeting)) continue;
    if (first == nullptr || meeting->site < first->site) first = meeting;
  }
  return first;
}

}  // namespace

bool resolve_waves(Scheduler& scheduler, const std::vector<std::unique_ptr<Block>>& blocks) {
  bool resolved = false;
  if (scheduler.open_waves() == 0) return false;
  for (const auto& block : blocks) {
    for (uint32_t warp = 0; warp * block->warp_size < block->threads; ++warp) {
      Meeting* meeting = first_wave_meeting(block->warps[warp]);
      if (meeting == nullptr) continue;
      complete(scheduler, block->warps[warp], *meeting, nullptr);
      resolved = true;
    }
  }
  return resolved;
}

void leave_collectives(Scheduler& scheduler, Fiber& fiber) {
  Block& block = *fiber.block;
  Warp& warp = block.warps[fiber.thread.warp];
  const uint64_t bit = uint64_t{1} << fiber.thread.lane;
  warp.live &= ~bit;
  for_lanes(block.open_barriers, [&](uint32_t id) {
    Barrier& bar = block.barriers[id];
    if ((fiber.arrived_barriers >> id & 1) != 0 && fiber.arrived_phase[id] == bar.phase) return;
    if (bar.expected == 0)
      ++bar.absent;
    else if ((bar.warps >> fiber.thread.warp & 1) != 0)
      ++bar.arrived;
    if (bar.complete(block.threads)) release(scheduler, block, id);
  });
  for (Meeting* meeting = warp.meetings; meeting != nullptr;) {
    Meeting* next = meeting->next;
    if ((meeting->mask & bit) != 0 && meeting->arrived == (meeting->mask & warp.live))
      complete(scheduler, warp, *meeting, nullptr);
    meeting = next;
  }
}

ShuffleSource shuffle_source(uint32_t mode, uint32_t lane, uint32_t value, uint32_t clamp) {
  const uint32_t b = value & 31, c = clamp & 31, segment = clamp >> 8 & 31;
  const auto highest = static_cast<int32_t>((lane & segment) | (c & ~segment));
  const auto lowest = static_cast<int32_t>(lane & segment);
  const auto self = static_cast<int32_t>(lane), operand = static_cast<int32_t>(b);
  int32_t source = 0;
  bool in_range = false;
  switch (mode) {
    case MNEME_CPU_SHUFFLE_UP: source = self - operand, in_range = source >= highest; break;
    case MNEME_CPU_SHUFFLE_DOWN: source = self + operand, in_range = source <= highest; break;
    case MNEME_CPU_SHUFFLE_BFLY: source = self ^ operand, in_range = source <= highest; break;
    default: source = lowest | (operand & static_cast<int32_t>(~segment)), in_range = source <= highest; break;
  }
  return {in_range ? static_cast<uint32_t>(source) : lane, in_range};
}

void barrier(mneme_cpu_thread* thread, uint32_t id, uint32_t threads) {
  Fiber* fiber = fiber_of(thread, "a barrier");
  if (fiber == nullptr) return;
  wait_or_release(*fiber->scheduler, *fiber, arrive(*fiber->scheduler, *fiber, id, threads == 0 ? ~uint32_t{0} : threads), id);
}

void barrier_arrive(mneme_cpu_thread* thread, uint32_t id, uint32_t threads) {
  Fiber* fiber = fiber_of(thread, "an arrival at a barrier");
  if (fiber == nullptr) return;
  Barrier& bar = arrive(*fiber->scheduler, *fiber, id, threads == 0 ? ~uint32_t{0} : threads);
  if (bar.complete(fiber->block->threads)) return release(*fiber->scheduler, *fiber->block, id);
  fiber->arrived_barriers |= static_cast<uint16_t>(1u << id);
  fiber->arrived_phase[id] = bar.phase;
}

uint32_t barrier_reduce(mneme_cpu_thread* thread, uint32_t id, uint32_t threads, uint32_t reduce, uint32_t predicate) {
  const uint32_t mine = predicate != 0 ? 1 : 0;
  Fiber* fiber = fiber_of(thread, "a reduction at a barrier");
  if (fiber == nullptr) return mine;
  Barrier& bar = arrive(*fiber->scheduler, *fiber, id, threads == 0 ? ~uint32_t{0} : threads);
  bar.count += mine;
  ++bar.predicates;
  wait_or_release(*fiber->scheduler, *fiber, bar, id);
  switch (reduce) {
    case MNEME_CPU_REDUCE_AND: return fiber->predicate;
    case MNEME_CPU_REDUCE_OR: return fiber->result != 0 ? 1 : 0;
    default: return static_cast<uint32_t>(fiber->result);
  }
}

void warp_sync(mneme_cpu_thread* thread, uint32_t mask) {
  if (Fiber* fiber = fiber_of(thread, "a warp barrier")) meet(*fiber, {mask, kind_of(Meet::sync)}, {});
}

uint32_t shuffle(mneme_cpu_thread* thread, uint32_t mask, uint32_t mode, uint32_t value, uint32_t lane, uint32_t c,
                 uint32_t* in_range) {
  Fiber* fiber = fiber_of(thread, "a shuffle");
  if (fiber == nullptr) {
    if (in_range != nullptr) *in_range = shuffle_source(mode, 0, lane, c).in_range ? 1 : 0;
    return value;
  }
  meet(*fiber, {mask, kind_of(Meet::shuffle, mode)}, {value, lane, c});
  if (in_range != nullptr) *in_range = fiber->predicate;
  return static_cast<uint32_t>(fiber->result);
}

uint32_t vote(mneme_cpu_thread* thread, uint32_t mask, uint32_t mode, uint32_t predicate) {
  Fiber* fiber = fiber_of(thread, "a vote");
  if (fiber == nullptr) return mode == MNEME_CPU_VOTE_UNI || predicate != 0 ? 1 : 0;
  meet(*fiber, {mask, kind_of(Meet::vote, mode)}, {predicate});
  return static_cast<uint32_t>(fiber->result);
}

uint32_t match_any(mneme_cpu_thread* thread, uint32_t mask, uint64_t value) {
  Fiber* fiber = fiber_of(thread, "a match");
  if (fiber == nullptr) return 1;
  meet(*fiber, {mask, kind_of(Meet::match_any)}, {value});
  return static_cast<uint32_t>(fiber->result);
}

uint32_t match_all(mneme_cpu_thread* thread, uint32_t mask, uint64_t value, uint32_t* predicate) {
  Fiber* fiber = fiber_of(thread, "a match");
  if (fiber == nullptr) {
    if (predicate != nullptr) *predicate = 1;
    return 1;
  }
  meet(*fiber, {mask, kind_of(Meet::match_all)}, {value});
  if (predicate != nullptr) *predicate = fiber->predicate;
  return static_cast<uint32_t>(fiber->result);
}

uint32_t reduce(mneme_cpu_thread* thread, uint32_t mask, uint32_t reduce, uint32_t value) {
  Fiber* fiber = fiber_of(thread, "a reduction");
  if (fiber == nullptr) return value;
  meet(*fiber, {mask, kind_of(Meet::reduce, reduce)}, {value});
  return static_cast<uint32_t>(fiber->result);
}

void wave_sync(mneme_cpu_thread* thread, uint32_t site) {
  if (Fiber* fiber = fiber_of(thread, "a wave barrier")) meet_wave(*fiber, Meet::wave_sync, site, {});
}

uint64_t wave_ballot(mneme_cpu_thread* thread, uint32_t site, uint32_t predicate) {
  Fiber* fiber = fiber_of(thread, "a ballot");
  if (fiber == nullptr) return predicate != 0 ? 1 : 0;
  meet_wave(*fiber, Meet::wave_ballot, site, {predicate});
  return fiber->result;
}

uint64_t wave_read(mneme_cpu_thread* thread, uint32_t site, uint64_t value, uint32_t source, uint32_t* there) {
  Fiber* fiber = fiber_of(thread, "a read of another lane");
  if (fiber == nullptr) {
    *there = source == 0 || source == MNEME_CPU_LANE_MUST_BE_THERE || source == MNEME_CPU_FIRST_LANE ? 1 : 0;
    return *there != 0 ? value : 0;
  }
  const bool must_be_there = source != MNEME_CPU_FIRST_LANE && (source & MNEME_CPU_LANE_MUST_BE_THERE) != 0;
  if (must_be_there) source &= ~MNEME_CPU_LANE_MUST_BE_THERE;
  meet_wave(*fiber, Meet::wave_read, site, {value, source});
  *there = fiber->predicate;
  const uint64_t live = fiber->block->warps[fiber->thread.warp].live;
  if (must_be_there && *there == 0 && source < kLargestWarp && (live >> source & 1) != 0) {
    fiber->scheduler->fail(*thread, FaultKind::misuse,
                           fmt::format("a read of lane {}, which has taken another way: its register is not known", source),
                           __builtin_return_address(0));
  }
  return fiber->result;
}

uint64_t wave_push(mneme_cpu_thread* thread, uint32_t site, uint64_t value, uint32_t target) {
  Fiber* fiber = fiber_of(thread, "a value for another lane");
  if (fiber == nullptr) return target == 0 ? value : 0;
  meet_wave(*fiber, Meet::wave_push, site, {value, target});
  return fiber->result;
}

}  // namespace mneme::cpu
