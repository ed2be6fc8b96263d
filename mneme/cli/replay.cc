// mneme replay: one recorded launch, recompiled under one configuration, run, verified and timed.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mneme/base/log.h"
#include "mneme/cli/command.h"
#include "mneme/cli/configuration_options.h"
#include "mneme/cli/guarded.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/recorded_launch.h"
#include "mneme/replay/session.h"
#include "mneme/store/database.h"

namespace mneme::cli {
namespace {

constexpr int kExitVerified = 0;
constexpr int kExitNotVerified = 1;

// While one lives, what is written to standard output goes to standard error: a kernel may print, and the result must stay one
// JSON object.
class DivertedOutput {
 public:
  DivertedOutput() : saved_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~DivertedOutput() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  DivertedOutput(const DivertedOutput&) = delete;
  DivertedOutput& operator=(const DivertedOutput&) = delete;

 private:
  int saved_;
};

class ReplayCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--rdb,--record-db", kernel_file_, "the recorded kernel: DIR/<static-hash>.json")->required();
    instance_.declare(app);
    device_.declare(app, "auto: the first of cuda and cpu that is there");
    configuration_.declare(app);
    guard_.declare(app);
    app.footer(
        "Prints one JSON object: the configuration and its result; times are nanoseconds, sizes bytes, and what a device cannot "
        "tell is null.\n"
        "What the kernel prints goes to standard error.\n"
        "Exit status: 0 the result is as recorded, 1 it is not, 2 the replay could not run, 64 the command line is wrong.");
  }

  int run() override {
    auto configuration = configuration_.configuration();
    const nlohmann::json printed = configuration.ok() ? to_json(*configuration) : nlohmann::json();
    const auto outcome = [&](const ReplayResult& result) -> Outcome {
      nlohmann::json document = {{"configuration", printed}, {"result", to_json(result)}};
      if (result.clocks)
        for (const std::string& problem : describe_problems(*result.clocks)) log::warning("{}", problem);
      int status = result.verified ? kExitVerified : kExitNotVerified;
      return {document.dump(2) + "\n", result.failure.ok() ? status : kExitCannotRun};
    };
    return guard_.run([&] { return outcome(replay_or_failure(configuration)); },
                      [&](const Status& reason) { return outcome(failure(reason)); });
  }

 private:
  static ReplayResult failure(const Status& reason) {
    ReplayResult failed;
    failed.failure = reason;
    return failed;
  }

  // What kept the replay from being prepared is a result too, so that whoever reads standard output always finds one.
  ReplayResult replay_or_failure(const Result<Configuration>& configuration) {
    auto result = [&]() -> Result<ReplayResult> {
      DivertedOutput diverted;
      if (!configuration.ok()) return configuration.status();
      return replay(*configuration);
    }();
    if (!result.ok()) result = failure(result.status());
    if (!result->failure.ok()) report(result->failure);
    return std::move(*result);
  }

  Result<ReplayResult> replay(const Configuration& configuration) {
    MNEME_ASSIGN(KernelFile file, locate_kernel(kernel_file_));
    MNEME_ASSIGN(Database database, Database::open(file.directory));
    MNEME_ASSIGN(KernelDocument recorded, database.load_document(file.static_hash));
    MNEME_ASSIGN(Digest dynamic_hash, instance_.choose(recorded));
    MNEME_ASSIGN(auto device, device_.open());
    Progress line;
    line.stage("preparing the device");
    auto show = [&](std::string_view what, double done) { line.stage(fmt::format("{}: {:.0f} %", what, 100 * done)); };
    MNEME_ASSIGN(auto session, Session::prepare(database, file.static_hash, dynamic_hash, *device, show));
    line.stage(fmt::format("compiling and running {}", session->kernel().demangled));
    return session->replay(configuration);
  }

  std::string kernel_file_;
  InstanceOption instance_;
  DeviceOption device_;
  ConfigurationOptions configuration_;
  Guard guard_;
};

const Registration registration({.name = "replay",
                                 .summary = "recompile one recorded launch under a configuration, run, verify and time it"},
                                [] { return std::make_unique<ReplayCommand>(); });

}  // namespace
}  // namespace mneme::cli
