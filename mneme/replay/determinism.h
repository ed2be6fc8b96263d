// Whether the recorded launch does the same every time, and what a tolerance must allow if it does not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/ir/order_dependence.h"
#include "mneme/replay/session.h"
#include "mneme/verify/segments.h"

namespace mneme {

struct SegmentBehaviour {
  Segment segment;
  unsigned unlike_recorded = 0;          // runs that left other bytes than were recorded
  unsigned contents = 1;                 // different contents that runs left
  uint64_t elements = 0, differing = 0;  // where the type is known: of the run in which most differ from the recording
  // See tolerance_proposal.h; none when the type is not known.
  std::optional<Tolerance> tolerance;
  std::string no_tolerance;  // why, where the type is known
};

struct Behaviour {
  unsigned runs = 0;
  // Blocks ran in another order each time: in run i, counted from 0, in that of seed + i. Nothing: the device chooses.
  std::optional<uint64_t> seed;
  std::vector<ir::OrderDependence> order_dependences;  // that the code shows
  RaceReport races;
  bool deterministic = true;               // all runs left the same bytes
  ReplayResult result;                     // of the runs: verified when all were right, by the configuration's tolerances
  std::vector<SegmentBehaviour> segments;  // that were not as recorded, or not always the same
};

// At least one run. Failures are in the result. Where the device lets Mneme choose the order of blocks, `seed` begins it;
// afterwards it is the usual one.
Behaviour observe_behaviour(Session& session, const Configuration& configuration, unsigned runs,
                            const std::vector<Segment>& segments, uint64_t seed = 0);

// As an option for the command line: --tolerance 'out: f32, 3, ulp'.
std::string tolerance_option(const SegmentBehaviour& behaviour);
nlohmann::json to_json(const Behaviour& behaviour);

}  // namespace mneme
