// Whether the recorded launch does the same every time, and what a tolerance must allow if it does not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/ir/order_dependence.h"
#include "mneme/replay/session.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme {

// What several runs did to one range.
struct RangeBehaviour {
  TypedRange range;
  unsigned unlike_recorded = 0;  // runs that left other bytes than were recorded
  unsigned contents = 1;         // how many different contents the runs left
  // Where the type is known, else 0: elements of the range, and how many differ from the recording in the run in which most do.
  uint64_t elements = 0, differing = 0;
  std::optional<Tolerance> tolerance;  // proposed, see tolerance_proposal.h; none where the type is not known
  std::string no_tolerance;            // why none is proposed, where the type is known
};

struct Behaviour {
  unsigned runs = 0;
  // The order in which blocks ran: run i, counted from 0, took that of seed + i. Nothing: the device chose the order.
  std::optional<uint64_t> seed;
  std::vector<ir::OrderDependence> order_dependences;  // what the code shows, without being run
  RaceReport races;
  // Whether the code that Mneme makes as built is the program's (Session::compare_with_program()), or why that was not compared.
  std::optional<CodeComparison> program_code;
  std::string not_compared;
  bool deterministic = true;           // all runs left the same bytes in the ranges
  ReplayResult result;                 // of all runs, by the configuration's tolerances; see Session::repeat()
  std::vector<RangeBehaviour> ranges;  // those that were not as recorded, or not always the same
};

// Replays the configuration `runs` times, which must be at least once, and looks for races in one more run. The runs begin with
// memory that is not masked. Where the device lets Mneme choose the order of blocks, each run has another one, and on return the
// device has the usual one again. What fails is in Behaviour::result, or in Behaviour::races.
Behaviour observe_behaviour(Session& session, const Configuration& configuration, unsigned runs,
                            const std::vector<TypedRange>& ranges, uint64_t seed = 0);

// The proposed tolerance as an option for the command line: --tolerance 'out: f32, 3, ulp'. Empty where none is proposed.
std::string tolerance_option(const RangeBehaviour& behaviour);
nlohmann::json to_json(const Behaviour& behaviour);

}  // namespace mneme
