#include "mneme/cli/recorder_run.h"

#include "mneme/abi/call_table.h"
#include "mneme/cli/supervise.h"
#include "mneme/device/backend.h"

namespace mneme::cli {

Result<int> run_with_recorder(const Path& program, const std::vector<std::string>& arguments, DeviceKind device,
                              const Installation& installation, const RecordingOptions& options) {
  std::string interposers = installation.recorder().string();
  if (const std::string_view first = backend_of(device).interposer; !first.empty())
    interposers = (installation.libdir / first).string() + ":" + interposers;
  return run_supervised(program, arguments,
                        {{MNEME_ENV_INTERPOSERS, interposers},
                         {MNEME_ENV_COMMAND, installation.command.string()},
                         {MNEME_ENV_RECORD, encode_recording_options(options)}});
}

}  // namespace mneme::cli
