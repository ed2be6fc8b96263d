#include "mneme/cli/recorder_run.h"

#include <unistd.h>

#include "mneme/abi/call_table.h"
#include "mneme/cli/supervise.h"
#include "mneme/device/backend.h"

namespace mneme::cli {

namespace {

std::string interposers(const Installation& installation, DeviceKind device) {
  const std::string_view first = backend_of(device).interposer;
  return (first.empty() ? "" : (installation.libdir / first).string() + ":") + installation.recorder().string();
}

}  // namespace

Result<int> run_with_recorder(const Path& program, const std::vector<std::string>& arguments, Front front, DeviceKind device,
                              const Installation& installation, const RecordingOptions& options) {
  RecordingOptions told = options;
  told.owner = ::getpid();
  std::vector<std::pair<std::string, std::string>> environment{{MNEME_ENV_RECORD, encode_recording_options(told)}};
  if (front == Front::driver) {
    for (auto& variable : driver_environment(installation.preload(), installation.recorder()))
      environment.push_back(std::move(variable));
    environment.emplace_back(MNEME_ENV_INTERPOSERS, installation.recorder().string());  // for annotations
  } else {
    environment.emplace_back(MNEME_ENV_INTERPOSERS, interposers(installation, device));
    environment.emplace_back(MNEME_ENV_COMMAND, installation.command.string());
  }
  return run_supervised(program, arguments, environment);
}

}  // namespace mneme::cli
