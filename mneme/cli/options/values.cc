#include "mneme/cli/options/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace mneme::cli {
namespace {

// The whole of the text, or nothing.
template <typename T>
std::optional<T> parse(std::string_view text) {
  T value{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

CLI::Validator validator(std::function<std::string(std::string&)> check) {
  CLI::Validator made;
  made.operation(std::move(check));
  return made;
}

std::optional<uint64_t> bytes_of(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  if (text.ends_with("iB"))
    text.remove_suffix(2);
  else if (text.ends_with('B'))
    text.remove_suffix(1);
  uint64_t unit = 1;
  if (!text.empty()) {
    const size_t power = kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    if (power != std::string_view::npos) {
      unit = uint64_t{1} << (10 * (power + 1));
      text.remove_suffix(1);
    }
  }
  if (auto whole = parse<uint64_t>(text)) return *whole <= kNoLimit / unit ? std::optional(*whole * unit) : std::nullopt;
  auto part = parse<double>(text);
  if (!part || unit == 1 || !(*part >= 0) || *part * static_cast<double>(unit) >= 0x1p63) return std::nullopt;
  return static_cast<uint64_t>(std::llround(*part * static_cast<double>(unit)));
}

}  // namespace

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  return validator([=](std::string& text) {
    auto value = parse<uint64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    const std::string range = most == kNoLimit ? fmt::format("from {}", least) : fmt::format("from {} to {}", least, most);
    return fmt::format("'{}' is not a whole number {}", text, range);
  });
}

CLI::Validator whole_number_or_all(uint64_t least) {
  return validator([=](std::string& text) {
    if (text == "all") return text = std::to_string(kNoLimit), std::string();
    const std::string refusal = whole_number(least)(text);
    return refusal.empty() ? refusal : refusal + ", nor all";
  });
}

CLI::Validator number(double least, double most, const std::string& unit) {
  return validator([=](std::string& text) {
    auto value = parse<double>(text);
    if (value && *value >= least && *value <= most) return std::string();
    return fmt::format("'{}' is not a number from {} to {}{}", text, least, most, unit.empty() ? "" : fmt::format(" ({})", unit));
  });
}

CLI::Validator byte_size() {
  return validator([](std::string& text) {
    auto bytes = bytes_of(text);
    if (!bytes) return fmt::format("'{}' is not a size: a number of bytes, or one with K, M, G or T behind it (of 1024)", text);
    text = std::to_string(*bytes);
    return std::string();
  });
}

CLI::Validator hash_digits() {
  return validator([](std::string& text) {
    std::string digits = text;
    std::transform(digits.begin(), digits.end(), digits.begin(), [](unsigned char c) { return std::tolower(c); });
    if (digits.empty() || digits.size() > 32 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
      return fmt::format("'{}' does not begin a hash: 1 to 32 of the digits 0-9 and a-f", text);
    text = digits;
    return std::string();
  });
}

}  // namespace mneme::cli
