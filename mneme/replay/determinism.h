// Whether the recorded launch does the same every time, and what a tolerance must allow if it does not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/replay/segments.h"
#include "mneme/replay/session.h"

namespace mneme {

struct SegmentBehaviour {
  Segment segment;
  unsigned unlike_recorded = 0;  // runs that left other bytes than were recorded
  unsigned contents = 1;         // different contents that runs left
  // The smallest that accepts all runs, its threshold rounded up to two digits; none when the type is not known, or none does.
  std::optional<Tolerance> tolerance;
};

struct Behaviour {
  unsigned runs = 0;
  bool deterministic = true;               // all runs left the same bytes
  ReplayResult result;                     // of the runs: verified when all were right, by the configuration's tolerances
  std::vector<SegmentBehaviour> segments;  // that were not as recorded, or not always the same
};

// At least one run. Failures are in the result.
Behaviour observe_behaviour(Session& session, const Configuration& configuration, unsigned runs,
                            const std::vector<Segment>& segments);

// As an option for the command line: --tolerance 'out: f32, 3, ulp'.
std::string tolerance_option(const SegmentBehaviour& behaviour);
nlohmann::json to_json(const Behaviour& behaviour);

}  // namespace mneme
