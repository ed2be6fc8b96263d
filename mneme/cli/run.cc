// mneme run: runs a recordable program without recording, on a GPU or on the CPU device.
#include "mneme/abi/call_table.h"
#include "mneme/cli/application.h"
#include "mneme/cli/installation.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/device/backend.h"

namespace mneme::cli {
namespace {

class RunCommand : public Command {
 public:
  void add_options(CLI::App& app) override { device_.declare(app, "auto (a GPU where there is one, else the CPU), cuda or cpu"); }

  int run() override { return report(start()); }

 private:
  // Returns only on failure.
  Status start() {
    MNEME_ASSIGN(Path program, find_program(application()[0]));
    MNEME_TRY(check_recordable(program));
    MNEME_ASSIGN(const DeviceKind device, device_.kind_for_program());
    const std::string_view interposer = backend_of(device).interposer;
    if (interposer.empty()) return exec_application(program, application(), {});
    MNEME_ASSIGN(Installation installation, Installation::find());
    return exec_application(program, application(),
                            {{MNEME_ENV_INTERPOSERS, (installation.libdir / interposer).string()},
                             {MNEME_ENV_COMMAND, installation.command.string()}});
  }

  DeviceOption device_;
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
