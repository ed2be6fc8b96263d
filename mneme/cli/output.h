// The functions with which commands write to standard output and standard error.
//
// None of them fails: where output is not taken (a closed terminal, a full disk, a pipe that nobody reads any more) the command
// goes on, and end_output() tells. Text is escaped by shown_lines() (mneme/base/shown.h), so that a name out of a recording
// cannot control a terminal. The caller puts a text from outside that must stay on one line through shown() first.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme::cli {

// Writes text to standard output.
void write_output(std::string_view text);
// Writes to standard output what is for another program: the content of a file, or a value. Every byte is written as it is,
// except on a terminal, where it is shown as text is.
void write_content(std::string_view content);
// Writes text to standard error. Nobody is told where that is not taken.
void write_error(std::string_view text);

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  write_error(fmt::format(format, std::forward<Args>(args)...));
}

// JSON as text over several lines, with a newline at its end. Bytes that are no UTF-8 become U+FFFD.
std::string to_text(const nlohmann::json& json);

// Writes out what is buffered. io: some output since the last call did not reach standard output.
Status end_output();

}  // namespace mneme::cli
