#include "mneme/snapshot/launch_window.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "mneme/base/shown.h"

namespace mneme {
namespace {

constexpr double kMostSeconds = 1e9;

template <typename T>
std::optional<T> whole(std::string_view text) {
  T value{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> position_of(std::string_view text, LaunchWindow::Unit unit) {
  if (unit == LaunchWindow::Unit::launches) return whole<uint64_t>(text);
  if (!text.ends_with('s')) return std::nullopt;
  const auto seconds = whole<double>(text.substr(0, text.size() - 1));
  if (!seconds || !(*seconds >= 0 && *seconds <= kMostSeconds)) return std::nullopt;
  return static_cast<uint64_t>(std::llround(*seconds * 1e9));
}

}  // namespace

Result<LaunchWindow> LaunchWindow::parse(const std::string& text) {
  const auto no_window = [&] {
    return error(
        Code::invalid_argument,
        "'{}' is no window: FROM:TO are the numbers of launches, as in 100:200, or seconds, as in 2s:3.5s; one of them may "
        "be left out",
        shown(text));
  };
  const size_t colon = text.find(':');
  if (colon == std::string::npos || text.size() == 1) return no_window();
  const std::string_view from = std::string_view(text).substr(0, colon), to = std::string_view(text).substr(colon + 1);
  LaunchWindow window;
  if (from.ends_with('s') || to.ends_with('s')) window.unit = Unit::nanoseconds;
  for (auto [end, position] : {std::pair(from, &window.from), std::pair(to, &window.to)}) {
    if (end.empty()) continue;
    const auto read = position_of(end, window.unit);
    if (!read) return no_window();
    *position = *read;
  }
  if (window.from > window.to || window.to == 0)
    return error(Code::invalid_argument, "no launch is in the window '{}': {}", shown(text),
                 window.from > window.to ? "it ends before it begins" : "the first launch has the number 1");
  return window;
}

}  // namespace mneme
