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
  explicit Observer(const std::vector<TypedRange>& ranges) : seen_(ranges.size()) {
    for (size_t i = 0; i < ranges.size(); ++i) seen_[i].range = &ranges[i];
  }

  Status see(const RunMemory& memory) {
    for (Seen& seen : seen_) MNEME_TRY(see_range(memory, seen));
    return {};
  }

  void report(Behaviour& behaviour) const {
    for (const Seen& seen : seen_) {
      if (seen.contents.size() > 1) behaviour.deterministic = false;
      if (seen.unlike_recorded == 0 && seen.contents.size() <= 1) continue;
      RangeBehaviour& out = behaviour.ranges.emplace_back();
      out.range = *seen.range;
      out.unlike_recorded = seen.unlike_recorded;
      out.contents = static_cast<unsigned>(seen.contents.size());
      if (seen.range->type) propose(seen, *seen.range->type, out);
    }
  }

 private:
  struct Seen {
    const TypedRange* range = nullptr;
    unsigned unlike_recorded = 0;
    std::set<std::string> contents;
    ErrorsSeen strict, with_any_nan;
    std::optional<double> typical;  // magnitude of what was recorded
  };

  static void propose(const Seen& seen, ElementType type, RangeBehaviour& out) {
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

  static Status see_range(const RunMemory& memory, Seen& seen) {
    const TypedRange& range = *seen.range;
    MNEME_ASSIGN(Digest content, memory.digest(range.region, range.offset, range.size));
    const bool is_new = seen.contents.insert(content.hex()).second;
    MNEME_ASSIGN(Comparison comparison, memory.compare_bytes(range.region, range.offset, range.size));
    if (comparison.differing_bytes == 0) return {};
    ++seen.unlike_recorded;
    if (!is_new || !range.type) return {};
    if (!seen.typical) {
      MNEME_ASSIGN(seen.typical, typical_magnitude(memory, range));
    }
    MNEME_TRY(measure(memory, range, NanPolicy::recorded, seen.strict));
    return is_integer(*range.type) ? Status() : measure(memory, range, NanPolicy::any, seen.with_any_nan);
  }

  static Status measure(const RunMemory& memory, const TypedRange& range, NanPolicy nan, ErrorsSeen& largest) {
    auto raise = [&](ErrorKind kind, double& error) -> Status {
      MNEME_ASSIGN(ElementDifferences differences,
                   memory.compare_elements(range.region, range.offset, range.size, {*range.type, 0, kind, Norm::none, nan}));
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

Json to_json(const MachineCodeFacts& facts) {
  return {{"instructions", facts.instructions},
          {"registers", facts.registers ? Json(*facts.registers) : Json()},
          {"assembler", facts.assembler},
          {"options", facts.options}};
}

Json to_json(const CodeComparison& comparison) {
  Json json = {{"same", comparison.same}, {"program", to_json(comparison.program)}, {"made", to_json(comparison.made)}};
  json["differs"] = comparison.same ? Json() : Json({{"where", comparison.where}, {"offset", comparison.offset}});
  return json;
}

}  // namespace

Behaviour observe_behaviour(Session& session, const Configuration& configuration, unsigned runs,
                            const std::vector<TypedRange>& ranges, uint64_t seed) {
  Behaviour behaviour;
  behaviour.runs = runs;
  Observer observer(ranges);
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
  if (behaviour.result.failure.ok()) behaviour.races = session.find_races(configuration, ranges);
  auto compared = session.compare_with_program(configuration);
  if (compared.ok())
    behaviour.program_code = std::move(*compared);
  else
    behaviour.not_compared = compared.status().message();
  return behaviour;
}

std::string tolerance_option(const RangeBehaviour& behaviour) {
  if (!behaviour.tolerance) return {};
  return fmt::format("--tolerance '{}'", format_buffer_tolerance({behaviour.range.buffer, *behaviour.tolerance}));
}

Json to_json(const Behaviour& behaviour) {
  Json ranges = Json::array();
  for (const RangeBehaviour& s : behaviour.ranges) {
    ranges.push_back({{"where", s.range.where},
                      {"buffer", s.range.buffer},
                      {"size", s.range.size.count},
                      {"type", s.range.type ? Json(to_string(*s.range.type)) : Json()},
                      {"unlike_recorded", s.unlike_recorded},
                      {"contents", s.contents},
                      {"elements", s.elements},
                      {"differing", s.differing},
                      {"no_tolerance", s.no_tolerance.empty() ? Json() : Json(s.no_tolerance)},
                      {"tolerance", s.tolerance ? Json(format_buffer_tolerance({s.range.buffer, *s.tolerance})) : Json()}});
  }
  Json dependences = Json::array();
  for (const ir::OrderDependence& d : behaviour.order_dependences)
    dependences.push_back(
        {{"kind", to_string(d.kind)}, {"places", d.places}, {"first", d.first.empty() ? Json() : Json(d.first)}});
  return {{"runs", behaviour.runs},
          {"seed", behaviour.seed ? Json(*behaviour.seed) : Json()},
          {"order_dependences", dependences},
          {"races", to_json(behaviour.races)},
          {"program_code", behaviour.program_code ? to_json(*behaviour.program_code) : Json()},
          {"not_compared", behaviour.not_compared.empty() ? Json() : Json(behaviour.not_compared)},
          {"deterministic", behaviour.deterministic},
          {"buffers", ranges},
          {"result", to_json(behaviour.result)}};
}

}  // namespace mneme
