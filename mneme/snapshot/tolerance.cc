#include "mneme/snapshot/tolerance.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace mneme {
namespace {

constexpr const char* kForm = "TYPE, THRESHOLD, absolute|relative|ulp[, L1|L2|Linf][, nan=recorded|any|none]";

std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t comma = text.find(',');
    parts.push_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <class T, size_t N>
std::optional<T> by_name(std::string_view text, const T (&values)[N]) {
  for (T value : values)
    if (to_string(value) == text) return value;
  return std::nullopt;
}

constexpr ErrorKind kErrors[] = {ErrorKind::absolute, ErrorKind::relative, ErrorKind::ulp};
constexpr Norm kNorms[] = {Norm::none, Norm::l1, Norm::l2, Norm::linf};
constexpr NanPolicy kPolicies[] = {NanPolicy::recorded, NanPolicy::any, NanPolicy::none};

}  // namespace

Status check(const Tolerance& tolerance) {
  if (!std::isfinite(tolerance.threshold) || tolerance.threshold < 0)
    return error(Code::invalid_argument, "a tolerance's threshold is a finite number that is not negative, not {}",
                 tolerance.threshold);
  if (tolerance.norm != Norm::none && tolerance.error == ErrorKind::ulp)
    return error(Code::invalid_argument, "a tolerance with the norm {} is absolute or relative: ulp is of single elements",
                 to_string(tolerance.norm));
  if (tolerance.nan != NanPolicy::recorded && is_integer(tolerance.type))
    return error(Code::invalid_argument, "a tolerance of {} takes no 'nan=': the type has no NaN", to_string(tolerance.type));
  return {};
}

std::string format_tolerance(const Tolerance& tolerance) {
  std::string text = fmt::format("{}, {}, {}", to_string(tolerance.type), tolerance.threshold, to_string(tolerance.error));
  if (tolerance.norm != Norm::none) text += fmt::format(", {}", to_string(tolerance.norm));
  if (tolerance.nan != NanPolicy::recorded) text += fmt::format(", nan={}", to_string(tolerance.nan));
  return text;
}

Result<Tolerance> parse_tolerance(std::string_view text) {
  const std::string what = fmt::format("reading the tolerance '{}'", text);
  std::vector<std::string_view> parts = split(text);
  if (parts.size() < 3) return error(Code::invalid_argument, "{}: it is written {}", what, kForm);
  Tolerance tolerance;
  auto type = parse_element_type(parts[0]);
  if (!type.ok()) return type.status().with_context(what);
  tolerance.type = *type;
  const char* end = parts[1].data() + parts[1].size();
  auto [stopped, failure] = std::from_chars(parts[1].data(), end, tolerance.threshold);
  if (failure != std::errc() || stopped != end)
    return error(Code::invalid_argument, "{}: '{}' is no threshold; it is written {}", what, parts[1], kForm);
  bool error_given = false;
  for (size_t i = 2; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    if (auto kind = by_name(part, kErrors)) {
      tolerance.error = *kind;
      error_given = true;
    } else if (auto norm = by_name(part, kNorms)) {
      tolerance.norm = *norm;
    } else if (auto policy = part.starts_with("nan=") ? by_name(part.substr(4), kPolicies) : std::nullopt) {
      tolerance.nan = *policy;
    } else {
      return error(Code::invalid_argument, "{}: '{}' is not understood; it is written {}", what, part, kForm);
    }
  }
  if (!error_given) return error(Code::invalid_argument, "{}: say absolute, relative or ulp; it is written {}", what, kForm);
  MNEME_TRY(check(tolerance).with_context(what));
  return tolerance;
}

std::string format_buffer_tolerance(const BufferTolerance& tolerance) {
  return fmt::format("{}: {}", tolerance.buffer, format_tolerance(tolerance.tolerance));
}

Result<BufferTolerance> parse_buffer_tolerance(std::string_view text) {
  size_t colon = text.rfind(':');  // a demangled name has colons, a tolerance none
  std::string_view buffer = colon == std::string_view::npos ? std::string_view() : trim(text.substr(0, colon));
  if (buffer.empty()) return error(Code::invalid_argument, "reading the tolerance '{}': it is written BUFFER: {}", text, kForm);
  MNEME_ASSIGN(Tolerance tolerance, parse_tolerance(trim(text.substr(colon + 1))));
  return BufferTolerance{std::string(buffer), tolerance};
}

}  // namespace mneme
