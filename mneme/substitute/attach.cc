// The interposer's entry: libmneme_tuned.so, loaded under `mneme run --tuned`, or where MNEME_TUNED names a file.
#include <pthread.h>

#include <charconv>
#include <cstdlib>
#include <mutex>

#include "mneme/base/file_system.h"
#include "mneme/base/log.h"
#include "mneme/base/shown.h"
#include "mneme/hooks/unwinding.h"
#include "mneme/substitute/driver/driver_front.h"
#include "mneme/substitute/table.h"

namespace mneme::substitute {
namespace {

std::atomic<bool> is_child = false;  // a forked one, which has no device

void say_what_ran() {
  if (is_child) return;
  for (const std::string& line : process()->code.summary()) log::info("{}", line);
}

Result<TunedFile> read_file(const char* path) {
  MNEME_ASSIGN(const ByteVector bytes, FileSystem::posix().read(path));
  return decode_tuned(bytes, path);
}

Result<TrialOptions> trial_options() {
  TrialOptions options;
  const char* verify = std::getenv(MNEME_ENV_TUNED_VERIFY);
  if (verify && *verify) {
    const std::string_view text = verify;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), options.verify);
    if (failure != std::errc() || end != text.data() + text.size())
      return error(Code::invalid_argument, "{} is '{}', and is to be a number of launches", MNEME_ENV_TUNED_VERIFY, shown(text));
  }
  const char* race = std::getenv(MNEME_ENV_TUNED_RACE);
  const std::string_view word = race ? race : "";
  if (word != "" && word != "0" && word != "1")
    return error(Code::invalid_argument, "{} is '{}', and is to be 0 or 1", MNEME_ENV_TUNED_RACE, shown(word));
  options.race = word == "1";
  return options;
}

// Reads the file when the first table is attached. Without it the program runs as it is.
bool begin() {
  static const bool began = [] {
    prepare_unwinding();
    const char* path = std::getenv(MNEME_ENV_TUNED);
    if (!path || !*path) return false;
    auto file = read_file(path);
    if (!file.ok()) {
      log::warning("tuned: the program runs as it is: {}", file.status().message());
      return false;
    }
    const auto trials = trial_options();
    if (!trials.ok()) {
      log::warning("tuned: the program runs as it is: {}", trials.status().message());
      return false;
    }
    process() = new Process(std::move(*file), path, *trials);
    std::atexit(say_what_ran);
    ::pthread_atfork(nullptr, nullptr, [] { is_child = true; });
    return true;
  }();
  return began;
}

}  // namespace
}  // namespace mneme::substitute

extern "C" __attribute__((visibility("default"))) int mneme_attach(mneme_call_table* table) {
  if (!mneme::substitute::begin()) return 1;
  mneme::Status status = mneme::substitute::attach_table(*table);
  if (!status.ok()) mneme::log::warning("tuned: {} runs as it is: {}", table->object, status.message());
  return status.ok() ? 0 : 1;
}

extern "C" __attribute__((visibility("default"))) int mneme_attach_driver(mneme_driver_table* table) {
  if (!mneme::substitute::begin()) return 1;
  mneme::Status status = mneme::substitute::attach_driver(*table);
  if (!status.ok()) mneme::log::warning("tuned: the program runs as it is: {}", status.message());
  return status.ok() ? 0 : 1;
}
