#include "mneme/replay/determinism.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "mneme/device/block_order.h"
#include "mneme/verify/tolerance_proposal.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

class Observer {
 public:
  explicit Observer(const std::vector<Segment>& segments) : seen_(segments.size()) {
    for (size_t i = 0; i < segments.size(); ++i) seen_[i].segment = &segments[i];
  }

  Status see(const RunMemory& memory) {
    for (Seen& seen : seen_) MNEME_TRY(see_segment(memory, seen));
    return {};
  }

  void report(Behaviour& behaviour) const {
    for (const Seen& seen : seen_) {
      if (seen.contents.size() > 1) behaviour.deterministic = false;
      if (seen.unlike_recorded == 0 && seen.contents.size() <= 1) continue;
      SegmentBehaviour& out = behaviour.segments.emplace_back();
      out.segment = *seen.segment;
      out.unlike_recorded = seen.unlike_recorded;
      out.contents = static_cast<unsigned>(seen.contents.size());
      if (seen.segment->type) propose(seen, *seen.segment->type, out);
    }
  }

 private:
  struct Seen {
    const Segment* segment = nullptr;
    unsigned unlike_recorded = 0;
    std::set<std::string> contents;
    ErrorsSeen strict, with_any_nan;
    std::optional<double> typical;  // magnitude of what was recorded
  };

  static void propose(const Seen& seen, ElementType type, SegmentBehaviour& out) {
    ToleranceProposal proposal = propose_tolerance(type, NanPolicy::recorded, seen.strict, seen.typical.value_or(0));
    out.elements = seen.strict.elements;
    out.differing = seen.strict.differing;
    if (!proposal.tolerance && !is_integer(type)) {
      ErrorsSeen without_nan = seen.with_any_nan;
      without_nan.differing = seen.strict.differing;
      ToleranceProposal any = propose_tolerance(type, NanPolicy::any, without_nan, seen.typical.value_or(0));
      if (any.tolerance || any.none_because != proposal.none_because) proposal = std::move(any);
    }
    out.tolerance = proposal.tolerance;
    out.no_tolerance = proposal.none_because;
  }

  static Status see_segment(const RunMemory& memory, Seen& seen) {
    const Segment& segment = *seen.segment;
    MNEME_ASSIGN(Digest content, memory.digest(segment.region, segment.offset, segment.size));
    const bool is_new = seen.contents.insert(content.hex()).second;
    MNEME_ASSIGN(Comparison comparison, memory.compare_bytes(segment.region, segment.offset, segment.size));
    if (comparison.differing_bytes == 0) return {};
    ++seen.unlike_recorded;
    if (!is_new || !segment.type) return {};
    if (!seen.typical) {
      MNEME_ASSIGN(seen.typical, typical_magnitude(memory, segment));
    }
    MNEME_TRY(measure(memory, segment, NanPolicy::recorded, seen.strict));
    return is_integer(*segment.type) ? Status() : measure(memory, segment, NanPolicy::any, seen.with_any_nan);
  }

  static Status measure(const RunMemory& memory, const Segment& segment, NanPolicy nan, ErrorsSeen& largest) {
    auto raise = [&](ErrorKind kind, double& error) -> Status {
      MNEME_ASSIGN(ElementDifferences differences, memory.compare_elements(segment.region, segment.offset, segment.size,
                                                                           {*segment.type, 0, kind, Norm::none, nan}));
      error = std::max(error, differences.worst);
      largest.elements = differences.elements;
      largest.differing = std::max(largest.differing, differences.failing);
      return {};
    };
    MNEME_TRY(raise(ErrorKind::absolute, largest.absolute));
    MNEME_TRY(raise(ErrorKind::relative, largest.relative));
    return raise(ErrorKind::ulp, largest.ulp);
  }

  std::vector<Seen> seen_;
};

}  // namespace

Behaviour observe_behaviour(Session& session, const Configuration& configuration, unsigned runs,
                            const std::vector<Segment>& segments, uint64_t seed) {
  Behaviour behaviour;
  behaviour.runs = runs;
  Observer observer(segments);
  // A byte that not every run writes must be seen as recorded there, not as masked.
  Configuration plain = configuration;
  plain.verdict.mask = false;
  behaviour.result = session.repeat(
      plain, runs, [&](unsigned, const ReplayResult&, const RunMemory& memory) { return observer.see(memory); },
      [&](unsigned run) {
        if (order_blocks(session.device(), seed + run)) behaviour.seed = seed;
      });
  order_blocks(session.device(), std::nullopt);
  observer.report(behaviour);
  auto code = session.code_of(configuration);
  if (code.ok()) behaviour.order_dependences = ir::find_order_use(**code).dependences;
  if (behaviour.result.failure.ok()) behaviour.races = session.find_races(configuration, segments);
  return behaviour;
}

std::string tolerance_option(const SegmentBehaviour& behaviour) {
  if (!behaviour.tolerance) return {};
  return fmt::format("--tolerance '{}'", format_buffer_tolerance({behaviour.segment.buffer, *behaviour.tolerance}));
}

Json to_json(const Behaviour& behaviour) {
  Json segments = Json::array();
  for (const SegmentBehaviour& s : behaviour.segments) {
    segments.push_back({{"where", s.segment.where},
                        {"buffer", s.segment.buffer},
                        {"size", s.segment.size.count},
                        {"type", s.segment.type ? Json(to_string(*s.segment.type)) : Json()},
                        {"unlike_recorded", s.unlike_recorded},
                        {"contents", s.contents},
                        {"elements", s.elements},
                        {"differing", s.differing},
                        {"no_tolerance", s.no_tolerance.empty() ? Json() : Json(s.no_tolerance)},
                        {"tolerance", s.tolerance ? Json(format_buffer_tolerance({s.segment.buffer, *s.tolerance})) : Json()}});
  }
  Json dependences = Json::array();
  for (const ir::OrderDependence& d : behaviour.order_dependences)
    dependences.push_back(
        {{"kind", to_string(d.kind)}, {"places", d.places}, {"first", d.first.empty() ? Json() : Json(d.first)}});
  return {{"runs", behaviour.runs},
          {"seed", behaviour.seed ? Json(*behaviour.seed) : Json()},
          {"order_dependences", dependences},
          {"races", to_json(behaviour.races)},
          {"deterministic", behaviour.deterministic},
          {"buffers", segments},
          {"result", to_json(behaviour.result)}};
}

}  // namespace mneme
