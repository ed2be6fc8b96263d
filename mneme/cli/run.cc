// mneme run: runs a recordable program without recording, on a GPU or on the CPU device.
#include "mneme/abi/call_table.h"
#include "mneme/cli/application.h"
#include "mneme/cli/command.h"
#include "mneme/cli/installation.h"

namespace mneme::cli {
namespace {

class RunCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--device", device_, "auto (a GPU where there is one, else the CPU), cuda or cpu")
        ->check(CLI::IsMember({"auto", "cuda", "cpu"}))
        ->capture_default_str();
  }

  int run() override { return report(start()); }

 private:
  // Returns only on failure.
  Status start() {
    MNEME_ASSIGN(Path program, find_program(application()[0]));
    MNEME_TRY(check_recordable(program));
    MNEME_ASSIGN(DeviceKind device, choose_device(device_));
    if (device != DeviceKind::cpu) return exec_application(program, application(), {});
    MNEME_ASSIGN(Installation installation, Installation::find());
    return exec_application(
        program, application(),
        {{MNEME_ENV_INTERPOSERS, installation.emulation().string()}, {MNEME_ENV_COMMAND, installation.command.string()}});
  }

  std::string device_ = "auto";
};

const Registration registration(
    {.name = "run",
     .summary = "run a recordable program without recording, on a GPU or on the CPU",
     .application = Application::required,
     .examples = {{"mneme run -- ./app", "as it would run without Mneme: on a GPU where there is one"},
                  {"mneme run --device cpu -- ./app", "on the CPU device, also where there is a GPU"}}},
    [] { return std::make_unique<RunCommand>(); });

}  // namespace
}  // namespace mneme::cli
