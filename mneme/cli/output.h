// What a command writes, wherever it goes: a closed terminal, a full disk or a pipe that nobody reads any more throws nothing
// and ends nothing in the middle. What it says is shown as shown_lines() does (mneme/base/shown.h), so that no text from outside
// reaches a terminal unescaped; a text from outside that is to be one line goes through shown() before.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme::cli {

// To standard output. What it does not take is told by end_output().
void write_output(std::string_view text);
// The same of what is no text for a person but the content of a file, or a value for another program, which gets every byte as it
// is. On a terminal it is shown as any text.
void write_content(std::string_view content);
// To standard error. What it does not take has no reader.
void write_error(std::string_view text);

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  write_error(fmt::format(format, std::forward<Args>(args)...));
}

// JSON for a reader, with a newline at its end. Bytes that are no UTF-8 become U+FFFD.
std::string to_text(const nlohmann::json& json);

// Writes out what is buffered. io: some of what was written since the last call did not reach standard output.
Status end_output();

}  // namespace mneme::cli
