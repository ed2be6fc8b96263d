// mneme sweep: one recorded launch under many configurations, compiled ahead by worker processes and measured one at a time.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "mneme/base/log.h"
#include "mneme/base/output_file.h"
#include "mneme/base/shell_word.h"
#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/compile_only_option.h"
#include "mneme/cli/options/configuration_options.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/options/values.h"
#include "mneme/cli/output.h"
#include "mneme/cli/supervise.h"
#include "mneme/cli/sweep_report.h"
#include "mneme/cli/sweep_run.h"
#include "mneme/device/backend.h"
#include "mneme/device/device_count.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_launch.h"
#include "mneme/replay/json_text.h"
#include "mneme/sweep/plan.h"

namespace mneme::cli {
namespace {

constexpr int kExitSomethingVerified = 0;
constexpr int kExitNothingVerified = 1;

constexpr std::string_view kDamagedResults = "take the file from a copy, or begin the sweep anew in another folder";

constexpr char kSearch[] = "Search";
constexpr char kLimits[] = "Limits";
constexpr char kResults[] = "Results";
// What may be said anew of a sweep that is resumed: it changes no result.
constexpr std::array kAlsoWithResume = {"--help",
                                        "--help-all",
                                        "--resume",
                                        "--devices",
                                        "--compile-workers",
                                        "--rdb",
                                        "--run-timeout",
                                        "--compile-timeout",
                                        "--compile-memory",
                                        "--top",
                                        "--json",
                                        "DB",
                                        "KERNEL"};

class SweepCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.make_optional();
    recorded_.declare(app, &configuration_);
    device_.declare(app, "auto: the first that is there");
    compile_only_.declare(app);
    app.add_option("--devices", devices_, "which GPUs, as 0,1 (default: all)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(whole_number(0, 1023))
        ->type_name("N");
    app.add_option("--weights", weights_,
                   "how the times of several instances are added: program, as often as the program launched each; or equal "
                   "(default: program where that is known)")
        ->check(CLI::IsMember({"program", "equal"}))
        ->type_name("BY");
    declare_search(app);
    declare_limits(app);
    declare_results(app);
    configuration_.declare(app);
    for (CLI::Option* option : app.get_options()) {
      const bool allowed =
          std::any_of(kAlsoWithResume.begin(), kAlsoWithResume.end(), [&](const char* name) { return option->check_name(name); });
      if (!allowed) resume_->excludes(option);
    }
    app.footer(
        "Other options make the configuration that the grid's values change. A key is the path of a member in a configuration's "
        "JSON, as `mneme replay` prints it: block.x, passes, codegen.level, specialise.dimensions, assembler.max_registers.\n"
        "Prints the fastest configurations; results are in the folder of results, each as it comes.\n"
        "With --compile-only nothing is run: configurations are ranked by their instructions, then by registers and size.\n"
        "Exit status: 0 some configuration is right (with --compile-only: is compiled), 1 none is, 2 the sweep could not run, 64 "
        "the command line is wrong; after a "
        "signal, as by the signal.");
  }

  int run() override {
    if (!resume_folder_.empty()) return resume();
    SweepPlan plan;
    if (!recorded_.given())
      return report_usage("sweep", "no recorded kernel: give DB KERNEL, as `mneme ls DB` lists them, or --resume DIR");
    if (grid_.empty())
      return report_usage("sweep", "nothing to sweep over: give --grid KEY=VALUES, as in --grid 'block.x=64:1024:64'");
    if (Status status = read_grid(plan); !status.ok()) return report_usage("sweep", status.message());
    if (Status status = make_plan(plan); !status.ok()) return report(status);
    take_limits(plan);
    auto devices = choose_devices(plan);
    if (!devices.ok()) return report(devices.status());
    auto folder = results_folder();
    if (!folder.ok()) return report(folder.status());
    auto lock = lock_folder(*folder);
    if (!lock.ok()) return report(lock.status());
    if (Status status = begin_folder(*folder, plan); !status.ok()) return report(status);
    return sweep(plan, *folder, {std::move(*devices), compile_workers_, top_});
  }

 private:
  void declare_search(CLI::App& app) {
    app.add_option("--grid", grid_,
                   "an axis of the grid: KEY=FIRST:LAST:STEP, KEY=FIRST:LAST:*FACTOR or KEY=VALUE|VALUE...; repeatable: every "
                   "combination is tried")
        ->allow_extra_args(false)
        ->take_all()
        ->type_name("AXIS")
        ->group(kSearch);
    auto* random = app.add_option("--random", random_, "so many points of the grid, by chance, in place of all")
                       ->check(whole_number(1))
                       ->group(kSearch);
    app.add_option("--seed", seed_, "of --random: the same points for the same seed")
        ->check(whole_number(0))
        ->needs(random)
        ->capture_default_str()
        ->group(kSearch);
    app.add_flag("--no-share", no_share_, "measure every configuration, also where others ended in the same code and launch")
        ->group(kSearch);
    app.add_option("--compile-workers", compile_workers_, "compilers at a time (default: the cores beside one for each device)")
        ->check(whole_number(1, 4096))
        ->group(kSearch);
  }

  void declare_limits(CLI::App& app) {
    const PoolLimits usual;
    app.add_option("--compile-timeout", compile_timeout_, "seconds that one compilation may take")
        ->check(number(0.001, 1e6, "seconds"))
        ->default_str(fmt::format("{}", usual.compiling.count()))
        ->group(kLimits);
    app.add_option("--run-timeout", run_timeout_, "seconds that one launch, with its restoring and verifying, may take")
        ->check(number(0.001, 1e6, "seconds"))
        ->default_str(fmt::format("{}", usual.running.count()))
        ->group(kLimits);
    app.add_option("--compile-memory", compile_gib_, "GiB of memory that one compilation may take in addition")
        ->check(whole_number(1, 1 << 20))
        ->default_str(fmt::format("{}", usual.compile_memory.count >> 30))
        ->group(kLimits);
  }

  void declare_results(CLI::App& app) {
    app.add_option("--results-dir", results_folder_, "folder of the results (default: a new one, sweep-<date>-<time>)")
        ->check([](const std::string& folder) { return std::string(folder.empty() ? "a folder is expected, not ''" : ""); })
        ->type_name("TEXT")
        ->group(kResults);
    resume_ = app.add_option("--resume", resume_folder_, "go on with the sweep in this folder of results; its own options hold")
                  ->group(kResults);
    app.add_option("--top", top_, "how many of the fastest are printed")
        ->check(whole_number(1, 1'000'000))
        ->capture_default_str()
        ->group(kResults);
    app.add_flag("--json", json_, "one JSON object in place of the table")->group(kResults);
  }

  Status read_grid(SweepPlan& plan) const {
    for (const std::string& text : grid_) {
      MNEME_TRY(check_texts({{"grid", text}}, "the command line"));
      MNEME_ASSIGN(GridAxis axis, parse_axis(text));
      plan.axes.push_back(std::move(axis));
    }
    plan.random = random_;
    plan.seed = seed_;
    plan.share = !no_share_;
    auto base = configuration_.configuration();
    if (!base.ok()) return {};  // no matter of the grid
    MNEME_ASSIGN(const Grid grid, Grid::create(*base, plan.axes));
    return check_sample(grid, plan);
  }

  Status make_plan(SweepPlan& plan) const {
    MNEME_ASSIGN(plan.base, configuration_.configuration());
    MNEME_TRY(check_files(plan.base, FileSystem::posix()));
    MNEME_ASSIGN(RecordedLaunches recorded, recorded_.launches());
    plan.instances = std::move(recorded.instances);
    auto weights = choose_weights(parse_weighed_by(weights_), recorded.kernel, plan.instances);
    if (!weights.ok()) return weights.status().with_context("--weights program");
    plan.weights = std::move(*weights);
    plan.database = std::filesystem::absolute(recorded.database.directory()).lexically_normal();
    plan.kernel = shown(recorded.kernel.kernel.demangled);
    plan.static_hash = recorded.kernel.kernel.static_hash;
    for (GridAxis& axis : plan.axes) MNEME_TRY(pin_files(axis, FileSystem::posix()));
    if (compile_only_.given()) {
      MNEME_ASSIGN(CodeFor made_for, code_without_device(recorded.kernel.kernel, compile_only_.architecture()));
      plan.device = made_for.kind;
      plan.compile_for = made_for.architecture;
    } else {
      MNEME_ASSIGN(plan.device, device_.kind());
    }
    plan.code = recorded.kernel.kernel.level;
    plan.as_built = describe_as_built(recorded.kernel.kernel);
    plan.base = shown_for(std::move(plan.base), recorded.kernel.kernel);
    MNEME_TRY(check_code_level(plan, recorded.kernel.kernel));
    MNEME_TRY(check_texts(to_json(plan), "sweeping"));
    MNEME_TRY(check_knobs(plan));
    return check_pipelines(plan, recorded.kernel.kernel);
  }

  Result<ResultsFolder> results_folder() const {
    if (results_folder_.empty()) return make_fresh_folder(std::time(nullptr));
    ResultsFolder folder{results_folder_};
    MNEME_TRY(make_folder(folder));
    return folder;
  }

  int resume() const {
    const ResultsFolder folder{resume_folder_};
    auto lock = lock_folder(folder);
    if (!lock.ok()) return report(lock.status());
    auto plan = read_plan(folder);
    if (!plan.ok()) return report(plan.status(), kDamagedResults);
    if (Status status = find_kernel(folder, *plan); !status.ok()) return report(status);
    take_limits(*plan);
    auto devices = choose_devices(*plan);
    if (!devices.ok()) return report(devices.status());
    return sweep(*plan, folder, {std::move(*devices), compile_workers_, top_});
  }

  // Of a sweep that is resumed: where it says now, if it does.
  Status find_kernel(const ResultsFolder& folder, SweepPlan& plan) const {
    if (!recorded_.given()) return {};
    if (recorded_.names_instances())
      return error(Code::invalid_argument, "--resume {}: its sweep has instances of its own: leave #N out", folder.path.string());
    MNEME_ASSIGN(const RecordedLaunches found, recorded_.kernel_of(plan.static_hash));
    if (found.kernel.kernel.static_hash != plan.static_hash)
      return error(Code::invalid_argument, "--resume {}: its sweep is of the kernel {}, and {} is another", folder.path.string(),
                   plan.static_hash.hex(), recorded_.words());
    return move_plan(folder, plan, found.database.directory());
  }

  void take_limits(SweepPlan& plan) const {
    if (compile_timeout_) plan.limits.compiling = PoolLimits::Seconds(*compile_timeout_);
    if (run_timeout_) plan.limits.running = PoolLimits::Seconds(*run_timeout_);
    if (compile_gib_) plan.limits.compile_memory = Bytes(*compile_gib_ << 30);
  }

  Result<std::vector<int>> choose_devices(const SweepPlan& plan) const {
    if (!plan.compile_for.empty()) return std::vector<int>{0};  // of which no more is asked
    const DeviceKind kind = plan.device;
    MNEME_ASSIGN(const int count, count_devices(kind));
    if (count == 0) return error(Code::unavailable, "sweeping on {}: there is no such device here", to_string(kind));
    std::vector<int> chosen;
    for (int device : devices_) {
      if (device >= count)
        return error(
            Code::unavailable, "--devices {}: there {} {} here, numbered from 0", device, count == 1 ? "is" : "are",
            fmt::format("{} {}{}", count == 1 ? "one" : std::to_string(count), backend_of(kind).title, count == 1 ? "" : "s"));
      if (std::find(chosen.begin(), chosen.end(), device) == chosen.end()) chosen.push_back(device);
    }
    for (int device = 0; devices_.empty() && device < count; ++device) chosen.push_back(device);
    return chosen;
  }

  int sweep(const SweepPlan& plan, const ResultsFolder& folder, const SweepOptions& options) const {
    auto run = SweepRun::open(plan, folder, options);
    if (!run.ok()) return report(run.status(), kDamagedResults);
    const Status status = (*run)->run();
    if (!status.ok() && !(*run)->began()) return report(status);
    std::signal(SIGPIPE, SIG_IGN);  // a reader that is gone is an error as any other, behind which there is more to tell
    const nlohmann::json summary = summary_of(plan, folder, **run);
    keep_summary(folder, **run, summary);
    print_results(plan, **run, summary);
    if (!status.ok()) report(status);
    tell_what_next(plan, folder, **run);
    if (int signal = (*run)->interrupted()) {
      if (Status written = end_output(); !written.ok()) report(written);
      run->reset();
      end_as(signal);
    }
    if (!status.ok()) return kExitCannotRun;
    return (*run)->tally().counts().right != 0 ? kExitSomethingVerified : kExitNothingVerified;
  }

  static nlohmann::json summary_of(const SweepPlan& plan, const ResultsFolder& folder, const SweepRun& run) {
    nlohmann::json document = sweep_json(plan, run.total(), run.tally(), run.rate());
    document["results_dir"] = folder.path.string();
    document["interrupted"] = run.interrupted() != 0;
    return document;
  }

  // A run that had nothing to measure leaves the summary of the one that had.
  static void keep_summary(const ResultsFolder& folder, const SweepRun& run, const nlohmann::json& summary) {
    if (run.rate().seconds <= 0 && FileSystem::posix().exists(folder.summary())) return;
    const std::string text = to_text(summary);
    if (Status status = write_output_file(folder.summary(), std::as_bytes(std::span(text))); !status.ok())
      log::warning("{}", status.message());
  }

  void print_results(const SweepPlan& plan, const SweepRun& run, const nlohmann::json& summary) const {
    write_output(json_ ? to_text(summary) : sweep_table(plan, run.total(), run.tally(), run.rate()));
  }

  static void tell_what_next(const SweepPlan& plan, const ResultsFolder& folder, const SweepRun& run) {
    const std::string directory = folder.path.string();
    if (run.tally().counts().done < run.total()) log::info("not all is done; mneme sweep --resume {} goes on", directory);
    if (run.tally().fastest().empty() || !plan.compile_for.empty()) {
      log::info("results: {}/results.jsonl", directory);
      return;
    }
    const auto launches = launch_words(plan.database, plan.static_hash, plan.instances);
    if (!launches.ok()) {  // it was there a moment ago
      log::info("results: {}/results.jsonl; {}", directory, launches.status().message());
      return;
    }
    log::info("results: {}/results.jsonl; the fastest: mneme replay {} --config {}", directory, *launches,
              shell_word(folder.best().string()));
  }

  RecordedOption recorded_{RecordedOption::Launches::several};
  DeviceOption device_;
  CompileOnlyOption compile_only_;
  std::vector<int> devices_;
  std::vector<std::string> grid_;
  std::optional<uint64_t> random_;
  uint64_t seed_ = 0;
  bool no_share_ = false;
  unsigned compile_workers_ = 0;
  std::optional<double> compile_timeout_, run_timeout_;
  std::optional<uint64_t> compile_gib_;
  std::string results_folder_, resume_folder_;
  CLI::Option* resume_ = nullptr;
  std::string weights_;  // empty: the program's where they are known
  size_t top_ = 10;
  bool json_ = false;
  ConfigurationOptions configuration_;
};

const Registration registration(
    {.name = "sweep",
     .summary = "replay one recorded launch under every configuration of a grid",
     .examples = {{"mneme sweep db add --grid 'block.x=64:256:*2' --keep-threads", "blocks of 64, 128 and 256 threads"},
                  {"mneme sweep db add --grid 'passes=default<O1>|default<O3>' --grid codegen.level=0:3:1 --results-dir results",
                   "every combination of two axes, into a folder"},
                  {"mneme sweep --resume results", "go on with it after Ctrl-C"}}},
    [] { return std::make_unique<SweepCommand>(); });

}  // namespace
}  // namespace mneme::cli
