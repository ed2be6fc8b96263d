// How text that comes from outside is shown to a person: from a file, a program, the environment or a command line.
//
// Such text may hold anything: an escape sequence that changes the window's title, a line feed that forges a line of Mneme's, a
// control character that turns the reading direction. The functions here escape such characters, so that nothing but Mneme itself
// controls the terminal:
//   "\n", "\t", "\r"  for these three
//   "\x1b"            for any other ASCII control character but DEL
//   "\u202e"          for DEL, for control characters beyond ASCII, and for characters that turn the direction, part lines or
//                     are not seen
//   "\xff"            for a byte that is not valid UTF-8
// All else stays as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mneme {

inline constexpr size_t kShownLength = 200;
inline constexpr size_t kShownLineLength = 4000;

// For text on one line: a name, a path, a value, a cell of a table. Text longer than `most` characters is cut to that length and
// ends in "...". `most` is at least 4, or 0 for no limit.
std::string shown(std::string_view text, size_t most = kShownLength);

// For text of several lines: line feeds and tabs stay, and nothing is cut. JSON text still means the same afterwards: of the
// characters that are escaped here, JSON allows only some within a string, and it reads their escapes as the same characters.
std::string shown_lines(std::string_view text);

// For a message: as shown_lines(), with three differences. Every line after the first is indented, so that none looks like a
// message of its own. A line is cut at kShownLineLength characters. There is no line feed at the end.
std::string shown_message(std::string_view text);

}  // namespace mneme
