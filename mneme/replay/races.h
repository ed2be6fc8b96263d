// Races: places of memory that two blocks, or two threads, of one launch touch, and at least one of them writes, with nothing
// that orders the two. Found by notes of who came where (compile/access_tracking.h), whatever order they ran in.
//
// Between threads of a block it is looked only where the kernel has no barrier, since the notes do not know which accesses a
// barrier parts; a kernel with barriers is looked at between its blocks. Atomic operations do not race with each other. What the
// notes do not see: shared memory; variables that lie in the module; atomic and volatile loads; the order that fences and flags
// give (then `may_be_ordered`); the blocks of a cooperative launch, which may wait for each other; and that both write the same
// value.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/compile/access_tracking.h"
#include "mneme/device/device.h"
#include "mneme/verify/segments.h"

namespace mneme {

struct Race {
  Segment segment;
  uint64_t elements = 0, racing = 0;  // bytes where the segment has no type
  uint64_t first = 0;                 // index of the first that races
  std::string what;                   // about that one: "block [0,0,0] writes, and block [1,0,0] writes"
};

struct RaceReport {
  std::string not_looked;  // why; empty: it was looked for
  NoteOf between = NoteOf::block;
  bool may_be_ordered = false;
  std::vector<Race> races;
};

// Who came to one byte, as AccessTracking notes it.
struct Comers {
  std::array<uint32_t, kNoteWords> stores{}, loads{}, atomics{};
};
// Two that race, and what each does.
struct RacingPair {
  uint32_t first = 0, second = 0;
  const char *first_does = "", *second_does = "";
};
std::optional<RacingPair> race_in(const Comers& comers);

// Looks through the notes of one segment, which lies at recorded addresses; `plane` is a plane's bytes.
struct NotesOfLaunch {
  DevicePtr memory;
  Bytes plane;
  NoteOf note = NoteOf::block;
  LaunchShape shape;
};
Result<std::optional<Race>> find_race(Stream& stream, const NotesOfLaunch& notes, const MemoryPlan& plan, const Segment& segment);

// One line for each race, or the one why it was not looked for; empty where there is none.
std::vector<std::string> describe(const RaceReport& report);
nlohmann::json to_json(const RaceReport& report);

}  // namespace mneme
