#include "mneme/pool/grid.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLongestRange = 1'000'000;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "first:last" or "first:last:step"; nothing where it is no range.
std::optional<std::array<int64_t, 3>> parse_range(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  std::array<int64_t, 3> range{0, 0, 1};
  for (size_t i = 0; i < parts.size(); ++i) {
    auto number = whole_number(parts[i]);
    if (!number) return std::nullopt;
    range[i] = *number;
  }
  return range;
}

Json parse_value(std::string_view text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text) : value;
}

void set_member(Json& object, std::string_view key, const Json& value) {
  Json* at = &object;
  for (std::string_view part : split(key, '.')) at = &(*at)[std::string(part)];
  *at = value;
}

// Each number below `bound` equally often, whatever the standard library does.
uint64_t draw(std::mt19937_64& engine, uint64_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value;
  do value = engine();
  while (value >= limit);
  return value % bound;
}

}  // namespace

Result<GridAxis> parse_axis(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size())
    return error(Code::invalid_argument,
                 "grid '{}': KEY=VALUE|VALUE… or KEY=FIRST:LAST:STEP is expected, as in block.x=64:1024:64", text);
  GridAxis axis{std::string(text.substr(0, equals)), {}};
  const std::string_view values = text.substr(equals + 1);
  if (auto range = parse_range(values)) {
    auto [first, last, step] = *range;
    if (step <= 0 || last < first)
      return error(Code::invalid_argument, "grid '{}': a range goes from its first number up to its last, by a step of 1 or more",
                   text);
    if (static_cast<uint64_t>(last - first) / static_cast<uint64_t>(step) >= kLongestRange)
      return error(Code::invalid_argument, "grid '{}': a range has at most {} values", text, kLongestRange);
    for (int64_t value = first; value <= last; value += step) axis.values.emplace_back(value);
    return axis;
  }
  for (std::string_view value : split(values, '|')) axis.values.push_back(parse_value(value));
  return axis;
}

Result<Grid> Grid::create(const Configuration& base, std::vector<GridAxis> axes) {
  Grid grid;
  grid.base_ = to_json(base);
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      if (axes[i].key == axes[j].key) return error(Code::invalid_argument, "grid: '{}' is given twice", axes[i].key);
    if (axes[i].values.size() > (uint64_t{1} << 63) / grid.size_)
      return error(Code::invalid_argument, "grid: it has more than 2^63 points");
    grid.size_ *= axes[i].values.size();
    for (const Json& value : axes[i].values) {
      Json json = grid.base_;
      set_member(json, axes[i].key, value);
      auto configuration = configuration_from_json(json);
      if (!configuration.ok()) return configuration.status().with_context(fmt::format("grid '{}={}'", axes[i].key, value.dump()));
    }
  }
  grid.axes_ = std::move(axes);
  return grid;
}

std::vector<Json> Grid::values_at(uint64_t index) const {
  std::vector<Json> values(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    values[i] = axes_[i].values[index % axes_[i].values.size()];
    index /= axes_[i].values.size();
  }
  return values;
}

Configuration Grid::at(uint64_t index) const {
  Json json = base_;
  std::vector<Json> values = values_at(index);
  for (size_t i = 0; i < axes_.size(); ++i) set_member(json, axes_[i].key, values[i]);
  // Each value was taken by itself when the grid was made, and members do not depend on one another.
  return configuration_from_json(json).value();
}

std::vector<uint64_t> Grid::sample(uint64_t count, uint64_t seed) const {
  std::vector<uint64_t> points;
  if (count >= size_) {
    for (uint64_t i = 0; i < size_; ++i) points.push_back(i);
    return points;
  }
  // Floyd's sampling without replacement.
  std::mt19937_64 engine(seed);
  std::unordered_set<uint64_t> chosen;
  for (uint64_t bound = size_ - count; bound < size_; ++bound) {
    uint64_t point = draw(engine, bound + 1);
    if (!chosen.insert(point).second) chosen.insert(point = bound);
    points.push_back(point);
  }
  return points;
}

}  // namespace mneme
