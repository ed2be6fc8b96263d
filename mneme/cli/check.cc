// mneme check: whether a recorded launch does the same every time, and what a tolerance must allow if not.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "mneme/base/shown.h"
#include "mneme/cli/diverted_output.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/configuration_options.h"
#include "mneme/cli/options/guarded.h"
#include "mneme/cli/options/recorded_session.h"
#include "mneme/cli/options/values.h"
#include "mneme/cli/output.h"
#include "mneme/replay/determinism.h"

namespace mneme::cli {
namespace {

constexpr int kExitRight = 0;
constexpr int kExitNotRight = 1;

std::string describe(const RangeBehaviour& s, unsigned runs) {
  std::string text = fmt::format("  {}, {}{}: ", shown(s.range.where), s.range.size,
                                 s.range.type ? fmt::format(" of {}", to_string(*s.range.type)) : "");
  text += fmt::format("{} of {} runs unlike the recording, {}\n", s.unlike_recorded, runs,
                      s.contents == 1 ? "all runs the same" : fmt::format("{} different contents", s.contents));
  if (s.tolerance) return text + fmt::format("    accepted with {}\n", shown(tolerance_option(s)));
  if (s.range.type) return text + fmt::format("    {}\n", s.no_tolerance);
  return text + fmt::format("    what it holds is not known: --dtype '{}:f32' says so\n", shown(s.range.buffer));
}

std::string program_code(const Behaviour& behaviour) {
  if (!behaviour.program_code) return "code not compared with the program's: " + behaviour.not_compared;
  const CodeComparison& compared = *behaviour.program_code;
  return fmt::format("{} code {} the program's: {}", compared.same ? "same" : "other", compared.same ? "as" : "than",
                     describe(compared));
}

std::string describe(const Behaviour& behaviour, const std::string& title) {
  const char* verdict = !behaviour.deterministic    ? "not deterministic"
                        : behaviour.result.verified ? "deterministic, and as recorded"
                                                    : "deterministic, but not as recorded";
  // Equal bytes by luck, or by the one order that there was, prove nothing.
  if (behaviour.deterministic && (!behaviour.order_dependences.empty() || !behaviour.races.races.empty()))
    verdict = behaviour.result.verified ? "each time as recorded, though by its code it need not be"
                                        : "each time the same, though by its code it need not be, and not as recorded";
  std::string text = fmt::format("{}: {} runs, {}\n", title, behaviour.runs, verdict);
  if (behaviour.seed)
    text += fmt::format("  blocks ran in another order each time, chosen by --seed {}, which repeats them\n", *behaviour.seed);
  for (const RangeBehaviour& range : behaviour.ranges) text += describe(range, behaviour.runs);
  for (const ir::OrderDependence& dependence : behaviour.order_dependences)
    text += fmt::format("  the kernel {}\n", shown(ir::describe(dependence)));
  for (const std::string& line : describe(behaviour.races)) text += fmt::format("  {}\n", shown(line, 0));
  text += fmt::format("  {}\n", shown(program_code(behaviour), 0));
  for (const Mismatch& mismatch : behaviour.result.mismatches)
    if (mismatch.outside) text += fmt::format("  {}: {} B were written\n", shown(mismatch.where), mismatch.differing_bytes);
  return text;
}

class CheckCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app, configuration_);
    app.add_option("--runs", runs_, "how often to replay")->check(whole_number(1, 100'000))->capture_default_str();
    app.add_option("--seed", seed_, "of the orders in which blocks run, on the CPU device; default: by chance")
        ->check(whole_number(0));
    app.add_flag("--json", json_, "the report as JSON");
    configuration_.declare(app, ConfigurationUse::many_runs);
    guard_.declare(app);
    app.footer(
        "Compares each run's memory with the recording and with the other runs, says what in the code or in its accesses "
        "depends on the order of threads, names the buffers that differ, and proposes the smallest tolerance that accepts what "
        "was seen, where that is rounding. What further runs do may differ by more. A --tolerance tells whether a run is as "
        "recorded; "
        "whether runs are the same goes by their bytes.\n"
        "Exit status: 0 deterministic and as recorded, 1 not, 2 the launch could not be replayed, 64 the command line is wrong.");
  }

  int run() override {
    return guard_.run(
        [&]() -> Outcome {
          auto outcome = check();
          return outcome.ok() ? std::move(*outcome) : Outcome{"", report(outcome.status())};
        },
        [](const Status&) { return Outcome{"", kExitCannotRun}; });
  }

 private:
  Result<Outcome> check() {
    std::string title;
    auto behaviour = [&]() -> Result<Behaviour> {
      DivertedOutput diverted;
      MNEME_ASSIGN(Configuration configuration, configuration_.configuration());
      MNEME_ASSIGN(auto recorded, RecordedSession::open(recorded_, configuration));
      title = recorded->title();
      return observe_behaviour(recorded->session(), configuration, runs_, recorded->ranges(),
                               seed_.value_or(std::random_device()()));
    }();
    if (!behaviour.ok()) return behaviour.status();
    MNEME_TRY(behaviour->result.failure);
    std::string text = json_ ? to_text(to_json(*behaviour)) : describe(*behaviour, title);
    return Outcome{text, behaviour->deterministic && behaviour->result.verified ? kExitRight : kExitNotRight};
  }

  RecordedSessionOptions recorded_;
  unsigned runs_ = 10;
  std::optional<uint64_t> seed_;
  bool json_ = false;
  ConfigurationOptions configuration_;
  Guard guard_;
};

const Registration registration({.name = "check",
                                 .summary = "replay a recorded launch several times: does it do the same?",
                                 .examples = {{"mneme check db add", "is the result the same each time?"},
                                              {"mneme check db add --runs 3 --json", "three runs, for a script"}}},
                                [] { return std::make_unique<CheckCommand>(); });

}  // namespace
}  // namespace mneme::cli
