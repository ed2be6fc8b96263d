#include "mneme/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace mneme::log {
namespace {

Level level_from_environment() {
  const char* value = std::getenv("MNEME_LOG");
  std::string_view text = value ? value : "";
  if (text == "debug") return Level::debug;
  if (text == "warning") return Level::warning;
  if (text == "error") return Level::error;
  return Level::info;
}

std::atomic<Level>& current() {
  static std::atomic<Level> level = level_from_environment();
  return level;
}

}  // namespace

Level level() { return current().load(std::memory_order_relaxed); }
void set_level(Level level) { current().store(level, std::memory_order_relaxed); }

void write(Level level, std::string_view message) {
  std::string_view prefix = level == Level::warning ? "mneme: warning: " : level == Level::error ? "mneme: error: " : "mneme: ";
  std::string line = fmt::format("{}{}\n", prefix, message);
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace mneme::log
