// mneme profile: runs a recordable program and ranks its kernels by the time that they take.
#include "mneme/base/output_file.h"
#include "mneme/cli/application.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/values.h"
#include "mneme/cli/output.h"
#include "mneme/cli/profile_text.h"
#include "mneme/cli/recorder_run.h"
#include "mneme/cli/supervise.h"
#include "mneme/snapshot/profile_file.h"
#include "mneme/snapshot/ranks.h"

namespace mneme::cli {
namespace {

class ProfileCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    device_.declare(app, "auto (a GPU where there is one, else the CPU), cuda or cpu");
    app.add_option("--top", top_, "kernels to show; --json has all of them")->check(whole_number(1))->capture_default_str();
    app.add_option("--json", json_, "write all of it to this file, which `mneme record --slowest N --profile-from FILE` reads")
        ->type_name("FILE");
    app.footer(
        "The program's output, exit status and signals are its own. The tables stand on standard error, behind what the program "
        "wrote there. Nothing is recorded.");
  }

  int run() override {
    auto wait_status = profile();
    if (!wait_status.ok()) return report(wait_status.status());
    end_as(*wait_status);
  }

 private:
  Result<int> profile() {
    if (!json_.empty()) MNEME_TRY(check_output_file(json_));
    MNEME_ASSIGN(Path program, find_program(application()[0]));
    MNEME_ASSIGN(const std::string_view runtime, runtime_of_program(program));
    MNEME_ASSIGN(const DeviceKind device, device_.kind_for_program(runtime));
    MNEME_ASSIGN(const Front front, choose_front(program, device, {}, Front::driver));
    MNEME_ASSIGN(Installation installation, Installation::find());
    MNEME_ASSIGN(auto launches, RecordingReportMapping::create());
    MNEME_ASSIGN(auto file, ProfileFile::create());
    RecordingOptions options;
    options.profile = true;
    options.report = launches.descriptor();
    options.profile_file = file.descriptor();
    MNEME_ASSIGN(int wait_status, run_with_recorder(program, application(), front, device, installation, options));
    // Of a rank that is not profiled nothing is said.
    if (!records_rank(options.ranks, rank_of_process(::getenv))) return wait_status;
    MNEME_ASSIGN(const LaunchProfile profile, file.sum());
    write_error(profile_text(profile, *launches, top_, front));
    if (json_.empty()) return wait_status;
    const std::string text = encode_launch_profile(profile);
    MNEME_TRY(write_output_file(json_, std::as_bytes(std::span(text))));
    return wait_status;
  }

  DeviceOption device_;
  uint64_t top_ = 20;
  std::string json_;
};

const Registration registration(
    {.name = "profile",
     .summary = "run a program and rank its kernels by the time that they take",
     .application = Application::required,
     .examples = {{"mneme profile -- ./app", "which kernels of ./app take most time"},
                  {"mneme profile --json profile.json -- ./app", "for `mneme record --slowest 3 --profile-from profile.json`"},
                  {"mneme profile --device cpu --top 5 -- ./app", "on the CPU device; the five that take most"}}},
    [] { return std::make_unique<ProfileCommand>(); });

}  // namespace
}  // namespace mneme::cli
