// mneme run: runs a program without recording, on a GPU or on the CPU device, also with deployed code in the place of its own.
#include <cstdlib>
#include <filesystem>

#include "mneme/abi/call_table.h"
#include "mneme/cli/application.h"
#include "mneme/cli/installation.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/values.h"
#include "mneme/device/backend.h"

namespace mneme::cli {
namespace {

class RunCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    device_.declare(app, "auto (a GPU where there is one, else the CPU), cuda or cpu");
    app.add_option("--tuned", tuned_,
                   "run code of this file of `mneme deploy` in the place of the program's, where its conditions hold; "
                   "default: what the environment variable MNEME_TUNED names")
        ->type_name("FILE");
    app.add_option(
           "--verify", verify_,
           "of --tuned: run the first N launches of each kernel and shape both ways, the deployed code on copies of the "
           "memory, and compare: where they differ by more than the annotated tolerance the program's own code runs; default: "
           "what MNEME_TUNED_VERIFY says, else 0")
        ->type_name("N")
        ->check(whole_number(0));
    app.add_flag(
        "--race", race_,
        fmt::format("of --tuned: time both ways too, of {} launches at least, and drop the slower; also by MNEME_TUNED_RACE=1",
                    MNEME_RACED_LAUNCHES));
    app.footer(
        "Under --tuned the last lines on standard error say how many launches ran the deployed code, and why others did not. Any "
        "doubt "
        "is the program's own code: the program never fails by it. On an NVIDIA GPU such a program need not be built for "
        "recording.");
  }

  int run() override {
    if (const char* named = std::getenv(MNEME_ENV_TUNED); named && tuned_.empty()) tuned_ = named;
    if (tuned_.empty() && (verify_ || race_))
      return report_usage("run", "--verify and --race are about deployed code: name its file with --tuned");
    return report(start());
  }

 private:
  // Returns only on failure.
  Status start() {
    MNEME_ASSIGN(Path program, find_program(application()[0]));
    if (tuned_.empty()) MNEME_TRY(check_recordable(program));
    MNEME_ASSIGN(const std::string_view runtime, runtime_of_program(program));
    MNEME_ASSIGN(const DeviceKind device, device_.kind_for_program(runtime));
    const std::string_view emulation = backend_of(device).interposer;
    if (emulation.empty() && tuned_.empty()) return exec_application(program, application(), {});
    MNEME_ASSIGN(Installation installation, Installation::find());
    if (!tuned_.empty()) return start_tuned(program, device, installation);
    return start_linked(program, installation, (installation.libdir / emulation).string());
  }

  // At the calls that the program is linked with, where it has them, and else at the CUDA driver.
  Status start_tuned(const Path& program, DeviceKind device, const Installation& installation) {
    MNEME_ASSIGN(const Front front, choose_front(program, device, std::nullopt, Front::linked));
    ::setenv(MNEME_ENV_TUNED, std::filesystem::absolute(tuned_).c_str(), 1);
    if (verify_) ::setenv(MNEME_ENV_TUNED_VERIFY, std::to_string(*verify_).c_str(), 1);
    if (race_) ::setenv(MNEME_ENV_TUNED_RACE, "1", 1);
    if (front == Front::driver)
      return exec_application(program, application(), driver_environment(installation.preload(), installation.tuned()));
    const std::string_view runtime = backend_of(device).interposer;
    return start_linked(program, installation,
                        (runtime.empty() ? "" : (installation.libdir / runtime).string() + ":") + installation.tuned().string());
  }

  Status start_linked(const Path& program, const Installation& installation, const std::string& interposers) {
    return exec_application(program, application(),
                            {{MNEME_ENV_INTERPOSERS, interposers}, {MNEME_ENV_COMMAND, installation.command.string()}});
  }

  DeviceOption device_;
  std::string tuned_;
  std::optional<uint64_t> verify_;
  bool race_ = false;
};

const Registration registration(
    {.name = "run",
     .summary = "run a recordable program without recording, on a GPU or on the CPU",
     .application = Application::required,
     .examples = {{"mneme run -- ./app", "as it would run without Mneme: on a GPU where there is one"},
                  {"mneme run --device cpu -- ./app", "on the CPU device, also where there is a GPU"},
                  {"mneme run --tuned app.tuned -- ./app", "with the code that `mneme deploy` has written"}}},
    [] { return std::make_unique<RunCommand>(); });

}  // namespace
}  // namespace mneme::cli
