// The interposer's entries: libmneme_record.so, loaded under `mneme record` by recordable programs, and by the library that is
// preloaded into others. A process is recorded through the first front that asks.
#include "mneme/runtime/attach.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cstdlib>
#include <mutex>

#include "mneme/base/log.h"
#include "mneme/hooks/unwinding.h"
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/table.h"
#include "mneme/snapshot/ranks.h"

namespace mneme {
namespace {

// Around fork, so that the child finds the recorder's lock free; the child itself records nothing, it has no device.
void prepare_fork() { recorder()->before_fork(); }
void after_fork_in_parent() { recorder()->after_fork_in_parent(); }
void after_fork_in_child() { recorder()->after_fork_in_child(); }

// A descriptor that process `owner` gave to the program. A child of the program may have been started with it closed, or another
// file in its place: then the owner's own is opened.
int reach(int descriptor, int owner) {
  struct stat mine{}, theirs{};
  const std::string path = fmt::format("/proc/{}/fd/{}", owner, descriptor);
  if (descriptor < 0 || owner == 0 || ::stat(path.c_str(), &theirs) != 0) return descriptor;
  if (::fstat(descriptor, &mine) == 0 && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino) return descriptor;
  const int opened = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  return opened >= 0 ? opened : descriptor;
}

Result<RecordingOptions> options_of_process() {
  const char* text = std::getenv(MNEME_ENV_RECORD);
  return decode_recording_options(text ? text : "");
}

// Other ranks of a parallel program run as without Mneme.
bool is_recorded(const Result<RecordingOptions>& options) {
  return !options.ok() || records_rank(options->ranks, rank_of_process([](const char* name) { return std::getenv(name); }));
}

Recorder* make_recorder(Result<RecordingOptions> options) {
  Recorder::Environment environment;
  // Late, so that it runs before what the profiling library and the driver do at the process's exit.
  environment.recording_begins = [] {
    static std::once_flag once;
    std::call_once(once, [] {
      std::atexit([] { recorder()->finish(); });
      std::at_quick_exit([] { recorder()->finish(); });
    });
  };
  if (options.ok()) {
    options->report = reach(options->report, options->owner);
    options->profile_file = reach(options->profile_file, options->owner);
  }
  if (options.ok() && options->report >= 0) {
    auto report = RecordingReportMapping::attach(options->report);
    // Lives as long as the process, as the recorder does.
    if (report.ok()) environment.report = &**new RecordingReportMapping(std::move(*report));
  }
  return new Recorder(options.ok() ? *options : RecordingOptions(), environment, options.status());
}

enum class Front { none, call_tables, driver };

// Makes the recorder for the first front that asks. False: the process is recorded through the other one, or is not to be.
bool begin_recording(Front front) {
  static std::mutex mutex;
  static Front recorded = Front::none;
  std::lock_guard lock(mutex);
  if (recorded != Front::none) return recorded == front;
  auto options = options_of_process();
  if (!is_recorded(options)) return false;
  recorded = front;
  prepare_unwinding();
  set_recorder(make_recorder(std::move(options)));
  ::pthread_atfork(prepare_fork, after_fork_in_parent, after_fork_in_child);
  return true;
}

// Of a rebuilt program the driver's front takes the annotations alone from the calls that it is linked with.
bool is_recorded_at_the_driver() {
  const char* path = ::secure_getenv(MNEME_ENV_DRIVER_INTERPOSER);
  return path && *path;
}

}  // namespace
}  // namespace mneme

extern "C" __attribute__((visibility("default"))) int mneme_attach(mneme_call_table* table) {
  if (mneme::is_recorded_at_the_driver()) {
    if (table->device == MNEME_TABLE_HIP) return 1;
    const mneme::Status accepted = mneme::accept_table(*table);
    if (accepted.ok()) mneme::driver::take_annotations(*table);
    if (!accepted.ok()) mneme::log::warning("annotations of {} are not recorded: {}", table->object, accepted.message());
    return accepted.ok() ? 0 : 1;
  }
  if (!mneme::begin_recording(mneme::Front::call_tables)) return 1;
  mneme::Status status = mneme::attach_table(*table);
  if (status.ok()) mneme::log::debug("loaded into {}", table->object);
  if (!status.ok()) mneme::log::warning("{} is not recorded: {}", table->object, status.message());
  return status.ok() ? 0 : 1;
}

extern "C" __attribute__((visibility("default"))) int mneme_attach_driver(mneme_driver_table* table) {
  if (!mneme::begin_recording(mneme::Front::driver)) {
    // It runs as without Mneme. That takes the memory, too, which processes give it that are recorded.
    if (const mneme::Status status = mneme::driver::attach_opening(*table); !status.ok())
      mneme::log::debug("memory of recorded processes cannot be opened here: {}", status.message());
    return 1;
  }
  mneme::Status status = mneme::driver::attach_driver(*table);
  if (status.ok()) mneme::log::debug("recording through the CUDA driver");
  if (!status.ok()) mneme::log::warning("the program is not recorded: {}", status.message());
  return status.ok() ? 0 : 1;
}
