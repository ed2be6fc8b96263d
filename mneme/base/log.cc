#include "mneme/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "mneme/base/shown.h"

namespace mneme::log {
namespace {

Level level_from_environment() {
  const char* value = std::getenv("MNEME_LOG");
  if (!value || !*value) return Level::info;
  if (auto level = level_named(value)) return *level;
  write(Level::warning, fmt::format("MNEME_LOG={} names no level: debug, info, warning or error", value));
  return Level::info;
}

std::atomic<Level>& current() {
  static std::atomic<Level> level = level_from_environment();
  return level;
}

}  // namespace

std::optional<Level> level_named(std::string_view name) {
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warning") return Level::warning;
  if (name == "error") return Level::error;
  return std::nullopt;
}

Level level() { return current().load(std::memory_order_relaxed); }
void set_level(Level level) { current().store(level, std::memory_order_relaxed); }

void write(Level level, std::string_view message) {
  constexpr std::string_view kPrefixes[] = {"mneme: debug: ", "mneme: ", "mneme: warning: ", "mneme: error: "};
  const std::string_view prefix = kPrefixes[static_cast<int>(level)];
  std::string line = fmt::format("{}{}\n", prefix, shown_message(message));
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace mneme::log
