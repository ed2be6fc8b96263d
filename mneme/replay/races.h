// Races: memory that two blocks, or two threads, of one launch access, at least one of them writing, with nothing that orders the
// two. They are found by notes of who accessed which byte (compile/access_tracking.h), whatever order the two ran in.
//
// In a kernel without barriers every two threads are told apart. In one with barriers only blocks are, since the notes do not say
// which accesses a barrier separates; where its launch is cooperative, nothing is looked for, since blocks may wait for each
// other too. Atomic operations do not race with each other.
//
// The notes do not see shared memory, variables that lie in the module, and atomic or volatile loads, so that races there are not
// found. Nor do they see that both write the same value, or the order that fences and flags make (RaceReport::may_be_ordered):
// what is reported may then be no race.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/compile/access_tracking.h"
#include "mneme/device/device.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme {

struct Race {
  TypedRange range;
  uint64_t elements = 0, racing = 0;  // of the range in all, and those that race; bytes where the range has no type
  uint64_t first = 0;                 // index of the first element that races
  std::string what;                   // who races for that one: "block [0,0,0] writes, and block [1,0,0] writes"
};

struct RaceReport {
  std::string not_looked;          // why races were not looked for; empty: they were
  NoteOf between = NoteOf::block;  // what was told apart: blocks or threads
  bool may_be_ordered = false;     // the code has fences or flags, which may order what is reported
  std::vector<Race> races;         // at most one for each range
};

// Who accessed one byte, as AccessTracking notes it: blocks or threads by their number from 1 on, of each kind of access the
// first that came and one other; 0: nobody.
struct Comers {
  std::array<uint32_t, kNoteWords> stores{}, loads{}, atomics{};
};
// Two that race for a byte, by their numbers, and what each does: "writes".
struct RacingPair {
  uint32_t first = 0, second = 0;
  const char *first_does = "", *second_does = "";
};
// The pair that races for the byte; nothing: none does.
std::optional<RacingPair> race_in(const Comers& comers);

// The notes that a launch has left on the device (AccessNotes).
struct NotesOfLaunch {
  DevicePtr memory;  // where they begin
  Bytes plane;       // size of each of the three planes
  NoteOf note = NoteOf::block;
  LaunchShape shape;
};
// Looks through the notes of one range, which must lie at its recorded address. Nothing: there is no race.
Result<std::optional<Race>> find_race(Stream& stream, const NotesOfLaunch& notes, const MemoryPlan& plan,
                                      const TypedRange& range);

// One line for each race; where races were not looked for, one line that says why.
std::vector<std::string> describe(const RaceReport& report);
nlohmann::json to_json(const RaceReport& report);

}  // namespace mneme
