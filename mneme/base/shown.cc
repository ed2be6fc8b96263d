#include "mneme/base/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace mneme {
namespace {

// The first character of a text.
struct Character {
  std::string_view bytes;
  uint32_t code = 0;
  bool valid = false;  // or `bytes` is one byte that begins no character
};

// The shortest form alone is UTF-8, and surrogates are no characters.
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const Character invalid{text.substr(0, 1), lead, false};
  if (lead < 0x80) return {text.substr(0, 1), lead, true};
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return invalid;
  uint32_t code = lead & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[size] || code > 0x10ffff || surrogate) return invalid;
  return {text.substr(0, size), code, true};
}

// Beyond ASCII: C1 controls, what turns the reading direction, parts lines or is not seen.
bool is_control(uint32_t code) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {{0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e},
                                                       {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                                                       {0xfeff, 0xfeff}, {0xfff9, 0xfffb}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string escaped(const Character& c) {
  if (!c.valid) return fmt::format("\\x{:02x}", c.code);
  switch (c.code) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: break;
  }
  if (c.code < 0x20) return fmt::format("\\x{:02x}", c.code);
  if (is_control(c.code)) return fmt::format("\\u{:04x}", c.code);
  return std::string(c.bytes);
}

constexpr std::string_view kNothing, kTabs = "\t", kLinesAndTabs = "\n\t";

// `kept`: control characters that stay as they are. `most` as in shown().
std::string show(std::string_view text, std::string_view kept, size_t most) {
  constexpr std::string_view kCut = "...";
  const auto is_plain = [&](char c) { return (c >= ' ' && c < 0x7f) || kept.find(c) != std::string_view::npos; };
  std::string result;
  size_t length = 0, cut = 0;  // in characters; in bytes: where "..." would stand
  while (!text.empty()) {
    if (most == 0) {
      const auto plain = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
      result += text.substr(0, plain);
      text.remove_prefix(plain);
      if (text.empty()) break;
    }
    const Character c = first_character(text);
    text.remove_prefix(c.bytes.size());
    const std::string one = is_plain(c.bytes[0]) ? std::string(c.bytes) : escaped(c);
    result += one;
    length += one == c.bytes ? 1 : one.size();
    if (length + kCut.size() <= most) cut = result.size();
    if (most != 0 && length > most) return result.substr(0, cut) + std::string(kCut);
  }
  return result;
}

}  // namespace

std::string shown(std::string_view text, size_t most) { return show(text, kNothing, most); }

std::string shown_lines(std::string_view text) { return show(text, kLinesAndTabs, 0); }

std::string shown_message(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string result;
  while (true) {
    const std::string_view line = text.substr(0, text.find('\n'));
    result += show(line, kTabs, kShownLineLength);
    if (line.size() == text.size()) return result;
    text.remove_prefix(line.size() + 1);
    result += text.empty() || text[0] == ' ' || text[0] == '\t' || text[0] == '\n' ? "\n" : "\n  ";
  }
}

}  // namespace mneme
