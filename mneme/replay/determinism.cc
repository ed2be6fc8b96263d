#include "mneme/replay/determinism.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace mneme {
namespace {

using Json = nlohmann::json;

// Up to two digits, and at least `value` also when read back.
double round_up(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  for (double digits = std::ceil(value / unit);; ++digits) {
    const double rounded = std::strtod(fmt::format("{:.1e}", digits * unit).c_str(), nullptr);
    if (rounded >= value) return rounded;
  }
}

// The largest errors of one segment over all runs.
struct Largest {
  double absolute = 0, relative = 0, ulp = 0;

  std::optional<Tolerance> tolerance(ElementType type, NanPolicy nan) const {
    constexpr double kFewUlps = 1024;  // beyond these a relative error says more
    if (std::isinf(ulp)) return std::nullopt;
    if (!is_integer(type) && ulp <= kFewUlps) return Tolerance{type, ulp, ErrorKind::ulp, Norm::none, nan};
    if (!is_integer(type) && relative < 1) return Tolerance{type, round_up(relative), ErrorKind::relative, Norm::none, nan};
    return Tolerance{type, is_integer(type) ? absolute : round_up(absolute), ErrorKind::absolute, Norm::none, nan};
  }
};

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
      if (!seen.segment->type) continue;
      out.tolerance = seen.strict.tolerance(*seen.segment->type, NanPolicy::recorded);
      if (!out.tolerance && !is_integer(*seen.segment->type))
        out.tolerance = seen.with_any_nan.tolerance(*seen.segment->type, NanPolicy::any);
    }
  }

 private:
  struct Seen {
    const Segment* segment = nullptr;
    unsigned unlike_recorded = 0;
    std::set<std::string> contents;
    Largest strict, with_any_nan;
  };

  static Status see_segment(const RunMemory& memory, Seen& seen) {
    const Segment& segment = *seen.segment;
    MNEME_ASSIGN(Digest content, memory.digest(segment.region, segment.offset, segment.size));
    const bool is_new = seen.contents.insert(content.hex()).second;
    MNEME_ASSIGN(Comparison comparison, memory.compare_bytes(segment.region, segment.offset, segment.size));
    if (comparison.differing_bytes == 0) return {};
    ++seen.unlike_recorded;
    if (!is_new || !segment.type) return {};
    MNEME_TRY(measure(memory, segment, NanPolicy::recorded, seen.strict));
    return is_integer(*segment.type) ? Status() : measure(memory, segment, NanPolicy::any, seen.with_any_nan);
  }

  static Status measure(const RunMemory& memory, const Segment& segment, NanPolicy nan, Largest& largest) {
    auto raise = [&](ErrorKind kind, double& error) -> Status {
      MNEME_ASSIGN(ElementDifferences differences, memory.compare_elements(segment.region, segment.offset, segment.size,
                                                                           {*segment.type, 0, kind, Norm::none, nan}));
      error = std::max(error, differences.worst);
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
                            const std::vector<Segment>& segments) {
  Behaviour behaviour;
  behaviour.runs = runs;
  Observer observer(segments);
  // A byte that not every run writes must be seen as recorded there, not as poisoned.
  Configuration plain = configuration;
  plain.verdict.poison = false;
  behaviour.result =
      session.repeat(plain, runs, [&](unsigned, const ReplayResult&, const RunMemory& memory) { return observer.see(memory); });
  observer.report(behaviour);
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
                        {"tolerance", s.tolerance ? Json(format_buffer_tolerance({s.segment.buffer, *s.tolerance})) : Json()}});
  }
  return {{"runs", behaviour.runs},
          {"deterministic", behaviour.deterministic},
          {"buffers", segments},
          {"result", to_json(behaviour.result)}};
}

}  // namespace mneme
