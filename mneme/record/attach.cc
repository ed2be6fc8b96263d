// The interposer's entry: libmneme_record.so, loaded by recordable programs under `mneme record`.
#include <pthread.h>

#include <cstdlib>
#include <mutex>

#include "mneme/base/log.h"
#include "mneme/record/table.h"

namespace mneme {
namespace {

// Around fork, so that the child finds the recorder's lock free; the child itself records nothing, it has no device.
void prepare_fork() { recorder()->fork_mutex().lock(); }
void after_fork_in_parent() { recorder()->fork_mutex().unlock(); }
void after_fork_in_child() {
  recorder()->fork_mutex().unlock();
  recorder()->become_forked_child();
}

Recorder* make_recorder() {
  const char* text = std::getenv(MNEME_ENV_RECORD);
  auto options = decode_recording_options(text ? text : "");
  Recorder::Environment environment;
  // Late, so that it runs before what the profiling library and the driver do at the process's exit.
  environment.recording_begins = [] {
    static std::once_flag once;
    std::call_once(once, [] { std::atexit([] { recorder()->finish_profile(); }); });
  };
  if (options.ok() && options->report >= 0) {
    auto report = RecordingReportMapping::attach(options->report);
    // Lives as long as the process, as the recorder does.
    if (report.ok()) environment.report = &**new RecordingReportMapping(std::move(*report));
  }
  return new Recorder(options.ok() ? *options : RecordingOptions(), environment, options.status());
}

}  // namespace
}  // namespace mneme

extern "C" __attribute__((visibility("default"))) int mneme_attach(mneme_call_table* table) {
  static std::once_flag once;
  std::call_once(once, [] {
    mneme::set_recorder(mneme::make_recorder());
    ::pthread_atfork(mneme::prepare_fork, mneme::after_fork_in_parent, mneme::after_fork_in_child);
  });
  mneme::Status status = mneme::attach_table(*table);
  if (status.ok()) mneme::log::debug("loaded into {}", table->object);
  if (!status.ok()) mneme::log::warning("{} is not recorded: {}", table->object, status.message());
  return status.ok() ? 0 : 1;
}
