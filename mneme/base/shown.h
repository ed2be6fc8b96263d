// How text that comes from outside is shown to a person: from a file, a program, the environment or a command line.
//
// Such text may hold anything: an escape sequence that changes the window's title, a line feed that forges a line of Mneme's, a
// control character that turns the reading direction. It is shown escaped, so that what stands on the terminal is what Mneme
// says: "\n", "\t", "\r"; "\x1b" for another ASCII control character; "\u202e" for DEL, for control characters beyond ASCII and
// for those that turn the direction, part lines or are not seen; "\xff" for a byte that is no UTF-8. All else stays as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mneme {

inline constexpr size_t kShownLength = 200;
inline constexpr size_t kShownLineLength = 4000;

// One line: a name, a path, a value, a cell of a table. What is longer than `most` characters (at least 4; 0: no limit) is cut
// to that and ends in "...".
std::string shown(std::string_view text, size_t most = kShownLength);

// Text of several lines: line feeds and tabs stay, and nothing is cut. JSON text means the same as before, as all that it can
// hold unescaped is escaped as JSON does.
std::string shown_lines(std::string_view text);

// A message: as shown_lines(), but a line behind the first begins with blanks, so that none looks like a message of its own, a
// line is cut at kShownLineLength characters, and there is no line feed at its end.
std::string shown_message(std::string_view text);

}  // namespace mneme
