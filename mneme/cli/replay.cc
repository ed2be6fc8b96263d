// mneme replay: one recorded launch, recompiled under one configuration, run, verified and timed.
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "mneme/base/log.h"
#include "mneme/cli/diverted_output.h"
#include "mneme/cli/options/cache_option.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/compile_only_option.h"
#include "mneme/cli/options/configuration_options.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/guarded.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/recording_view.h"
#include "mneme/cli/replay_text.h"
#include "mneme/measure/stage_clock.h"
#include "mneme/memory/recorded_addresses.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_launch.h"
#include "mneme/replay/session.h"

namespace mneme::cli {
namespace {

constexpr int kExitVerified = 0;
constexpr int kExitNotVerified = 1;

class ReplayCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app, &configuration_);
    device_.declare(app, "auto: the first that is there");
    compile_only_.declare(app);
    app.add_flag("--json", json_, "JSON also where standard output is a terminal");
    configuration_.declare(app);
    guard_.declare(app);
    cache_option_.declare(app);
    app.footer(
        "Tells a person at a terminal the verdict, times and what differed. Into a file or a pipe, or with --json, it prints one "
        "JSON object: the configuration and its result; times are nanoseconds, sizes bytes, and what a device cannot tell is "
        "null.\n"
        "With several instances there is a result for each, under 'instances', and 'verified' says whether all are.\n"
        "What the kernel prints goes to standard error.\n"
        "Exit status: 0 the result is as recorded, or with --compile-only there is code; 1 it is not as recorded, 2 the replay "
        "could not run, "
        "64 the command line is wrong.");
  }

  int run() override {
    for_a_person_ = !json_ && ::isatty(STDOUT_FILENO) != 0;  // the child's is a pipe
    auto configuration = configuration_.configuration();
    nlohmann::json printed = configuration.ok() ? to_json(*configuration) : nlohmann::json();
    const auto work = [&]() -> Outcome {
      const std::vector<InstanceResult> results = replay_or_failure(configuration);
      if (configuration.ok()) printed = to_json(*configuration);
      for (const InstanceResult& instance : results)
        if (guard_.lost_to_mask(instance.result)) return {};
      for (const InstanceResult& instance : results)
        if (!instance.result.failure.ok()) report(instance.result.failure);
      return outcome(printed, results);
    };
    return guard_.run(work, [&](const Status& reason) { return outcome(printed, {{"", "", "", failure(reason)}}); });
  }

 private:
  struct InstanceResult {
    std::string record_id, kernel, pipeline;  // empty where none was chosen yet
    ReplayResult result;
    LaunchShape recorded = {};  // of the launch in the program
  };

  static ReplayResult failure(const Status& reason) {
    ReplayResult failed;
    failed.failure = reason;
    return failed;
  }

  Outcome outcome(const nlohmann::json& configuration, const std::vector<InstanceResult>& results) const {
    bool verified = true;
    int failed = 0;
    std::string text;
    nlohmann::json instances = nlohmann::json::array();
    for (const auto& [record_id, kernel, pipeline, result, recorded] : results) {
      verified = verified && (result.verified || (compile_only_.given() && result.failure.ok()));
      if (!result.failure.ok()) failed = kExitCannotRun;
      if (for_a_person_) text += (text.empty() ? "" : "\n") + replay_text(title(record_id, kernel), pipeline, result, recorded);
      if (!for_a_person_ && result.failure.ok() && !result.verified && !compile_only_.given())
        log::warning("not verified: {}; mneme diff tells more", describe_wrong(result));
      instances.push_back({{"record_id", record_id}, {"result", to_json(result)}});
      if (!result.clocks) continue;
      for (const std::string& problem : describe_problems(*result.clocks)) log::warning("{}", problem);
    }
    nlohmann::json document = {{"configuration", configuration}};
    if (recorded_.several()) {
      if (!compile_only_.given()) document["verified"] = verified;
      document["instances"] = instances;
    } else {
      document["result"] = instances[0]["result"];
    }
    return {for_a_person_ ? text : to_text(document), failed != 0 ? failed : verified ? kExitVerified : kExitNotVerified};
  }

  std::string title(const std::string& record_id, const std::string& kernel) const {
    return recorded_.several() && !record_id.empty() ? fmt::format("{}, instance {}", kernel, record_id) : kernel;
  }

  // What kept a replay from being prepared is a result too, so that whoever reads standard output always finds one.
  std::vector<InstanceResult> replay_or_failure(Result<Configuration>& configuration) {
    auto results = [&]() -> Result<std::vector<InstanceResult>> {
      DivertedOutput diverted;
      if (!configuration.ok()) return configuration.status();
      return replay(*configuration);
    }();
    if (!results.ok()) results = std::vector<InstanceResult>{{"", "", "", failure(results.status())}};
    return std::move(*results);
  }

  // Names the pipeline that is meant where the configuration names none.
  Result<std::vector<InstanceResult>> replay(Configuration& configuration) {
    MNEME_TRY(check_files(configuration, FileSystem::posix()));
    MNEME_ASSIGN(const RecordedLaunches recorded, recorded_.launches());
    configuration = shown_for(std::move(configuration), recorded.kernel.kernel);
    MNEME_ASSIGN(cache_, cache_option_.open());
    if (compile_only_.given()) return compile(recorded, configuration);
    const HeldAddresses held = hold_recorded_addresses(recorded.database, recorded.kernel.kernel.static_hash, recorded.instances);
    StageClock clock;
    MNEME_ASSIGN(auto device, device_.open());
    const Nanoseconds opening = clock.lap();
    std::vector<InstanceResult> results;
    for (const Digest& instance : recorded.instances) {
      InstanceResult& one = results.emplace_back(instance.hex(), recorded.kernel.kernel.demangled,
                                                 describe_pipeline(configuration.passes, recorded.kernel.kernel));
      const Digest& kernel = recorded.kernel.kernel.static_hash;
      if (Status status = replay_one(recorded.database, kernel, instance, *device, configuration, one); !status.ok())
        one.result = failure(status);
      one.result.session_times.insert(one.result.session_times.begin(), {"device", opening});
    }
    return results;
  }

  Result<std::vector<InstanceResult>> compile(const RecordedLaunches& recorded, const Configuration& configuration) const {
    const KernelRecord& kernel = recorded.kernel.kernel;
    std::vector<InstanceResult> results;
    for (const Digest& instance : recorded.instances) {
      MNEME_ASSIGN(auto launch,
                   CompileOnly::prepare(recorded.database, kernel.static_hash, instance, compile_only_.architecture()));
      if (cache_) launch->use_cache(cache_);
      results.push_back({instance.hex(), kernel.demangled, describe_pipeline(configuration.passes, kernel),
                         launch->compile(configuration), recorded_shape(launch->instance())});
    }
    return results;
  }

  Status replay_one(const Database& database, const Digest& kernel, const Digest& instance, Device& device,
                    const Configuration& configuration, InstanceResult& one) {
    Progress line;
    line.stage("preparing the device");
    auto show = [&](std::string_view what, double done) { line.stage(fmt::format("{}: {:.0f} %", what, 100 * done)); };
    RecordedCopies copies;
    copies.no_mask = guard_.no_mask();
    MNEME_ASSIGN(auto session, Session::prepare(database, kernel, instance, device, show, std::move(copies)));
    if (cache_) session->use_cache(cache_);
    line.stage(fmt::format("compiling and running {}", session->kernel().demangled));
    one.recorded = recorded_shape(session->instance());
    one.result = session->replay(configuration);
    return {};
  }

  bool json_ = false, for_a_person_ = false;
  CacheOption cache_option_;
  std::shared_ptr<DiskCache> cache_;
  RecordedOption recorded_{RecordedOption::Launches::several};
  DeviceOption device_;
  CompileOnlyOption compile_only_;
  ConfigurationOptions configuration_;
  Guard guard_;
};

const Registration registration({.name = "replay",
                                 .summary = "recompile one recorded launch under a configuration, run, verify and time it",
                                 .examples = {{"mneme replay db add", "is the result as recorded, and how long does it take?"},
                                              {"mneme replay db add 'default<O2>' --block-dim-x 128 --keep-threads",
                                               "another pass pipeline, and half the threads of a block in more blocks"},
                                              {"mneme replay db add --device cpu --iterations 3", "on the CPU device"}}},
                                [] { return std::make_unique<ReplayCommand>(); });

}  // namespace
}  // namespace mneme::cli
