// Messages to the person at the terminal, on standard error. Each begins with "mneme: "; further lines of one are indented.
//
// Nothing here writes to standard output, which belongs to the application or to the command's result.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

namespace mneme::log {

enum class Level { debug, info, warning, error };

// Messages below this level are dropped. The environment variable MNEME_LOG (debug, info, warning, error) sets it at start.
// Without it the level is info. A word that names no level leaves it at info, too, and a warning is written once.
Level level();
void set_level(Level level);
// The level of that name; nothing where there is none.
std::optional<Level> level_named(std::string_view name);

// Thread-safe; the message is written with one system call. Writes whatever the level is: use the functions below.
void write(Level level, std::string_view message);

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::debug) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::info) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::warning) write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mneme::log
