#include "mneme/cli/options/configuration_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mneme/cli/options/command.h"

namespace mneme::cli {
namespace {

bool has_effect(const Knob& knob, ConfigurationUse use) {
  constexpr std::array kOfTiming = {"--iterations", "--warm-up",        "--stop",           "--relative-error",
                                    "--max-time",   "--min-iterations", "--max-iterations", "--l2"};
  const std::string& name = knob.names[0];
  switch (use) {
    case ConfigurationUse::replay: return true;
    case ConfigurationUse::many_runs:
      if (name == "--no-mask") return false;
      [[fallthrough]];
    case ConfigurationUse::one_run: return std::find(kOfTiming.begin(), kOfTiming.end(), name) == kOfTiming.end();
    case ConfigurationUse::code: return knob.group != "Execution" && knob.group != "Verdict";
  }
  return true;
}

}  // namespace

void ConfigurationOptions::declare(CLI::App& app, ConfigurationUse use) {
  app.add_option(
         "--config", file_,
         "a file with a configuration: its JSON, or what replay prints, or best.json of a sweep or a search; other options "
         "override it")
      ->group("Configuration");
  const auto take = [this](const std::string& text) { pipeline_ = text; };
  app.add_option_function<std::string>("PIPELINE", take, "LLVM pass pipeline, as opt's -passes takes it, or @FILE that has it")
      ->default_str(Configuration().passes)
      ->group("Passes");
  for (const Knob& knob : knobs()) declare_knob(app, knob, has_effect(knob, use) ? knob.group : kWithoutEffect);
}

void ConfigurationOptions::declare_knob(CLI::App& app, const Knob& knob, const std::string& group) {
  KnobChange& change = given_.emplace_back(KnobChange{&knob, {}});
  const std::string names = fmt::format("{}", fmt::join(knob.names, ","));
  CLI::Option* option = nullptr;
  if (knob.takes_value()) {
    const std::vector<std::string>& choices = knob.field.choices;  // written so for help and completion
    const std::string value = choices.empty() ? knob.value_name() : fmt::format("TEXT:{{{}}}", fmt::join(choices, ","));
    option = app.add_option(names, change.texts, knob.what)->allow_extra_args(false)->type_name(value);
    // Of what does not repeat the last one holds, as everywhere.
    option->multi_option_policy(knob.repeats() ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
    if (!knob.repeats()) option->expected(1);
    // A tolerance is judged with what it is for: the recorded memory.
    if (knob.form != Knob::Form::tolerances)
      option->check([&knob](const std::string& text) { return check_change({&knob, {text}}).message(); });
    if (!knob.repeats() && !knob.field.usual.empty()) option->default_str(knob.field.usual);
  } else {
    option = app.add_flag(names, knob.what);
    for (const std::string& former : knob.former_names) options_.emplace_back(app.add_flag(former)->group(""), &change);
  }
  option->group(group);
  options_.emplace_back(option, &change);
}

Status ConfigurationOptions::check_pipeline() const {
  std::string given = pipeline_ ? "PIPELINE" : "";
  for (const auto& [option, change] : options_) {
    if (option->count() == 0 || change->knob->key != "passes") continue;
    if (!given.empty())
      return error(Code::invalid_argument, "{} and {} both give the pass pipeline: leave one of the two out", given,
                   option->get_name());
    given = option->get_name();
  }
  return {};
}

Result<Configuration> ConfigurationOptions::configuration() const {
  Configuration configuration;
  if (!file_.empty()) {
    MNEME_ASSIGN(configuration, read_configuration(file_, files_));
  }
  MNEME_TRY(check_pipeline());
  std::vector<KnobChange> changes;
  for (const auto& [option, change] : options_)
    if (option->count() != 0) changes.push_back(*change);
  if (pipeline_) changes.push_back({find_knob("--passes"), {*pipeline_}});
  return changed(configuration, changes, files_);
}

}  // namespace mneme::cli
