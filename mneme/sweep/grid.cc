#include "mneme/sweep/grid.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <unordered_set>

#include "mneme/replay/json_member.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMostValues = 1'000'000;
constexpr std::string_view kIr = "ir", kIrDigest = "ir_digest";

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

struct Range {
  int64_t first = 0, last = 0, step = 1;
  bool factor = false;  // the step multiplies
};

// "first:last", "first:last:step" or "first:last:*factor"; nothing where it is no range.
std::optional<Range> parse_range(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  Range range;
  if (parts.size() == 3 && parts[2].starts_with('*')) {
    range.factor = true;
    parts[2].remove_prefix(1);
  }
  int64_t* const numbers[] = {&range.first, &range.last, &range.step};
  for (size_t i = 0; i < parts.size(); ++i) {
    auto number = whole_number(parts[i]);
    if (!number) return std::nullopt;
    *numbers[i] = *number;
  }
  return range;
}

Status add_range(std::string_view axis, const Range& range, std::vector<Json>& values) {
  const auto [first, last, step, factor] = range;
  if (last < first || step <= 0)
    return error(Code::invalid_argument, "grid '{}': a range goes from its first number up to its last, by a step of 1 or more",
                 axis);
  if (factor && (step < 2 || first < 1))
    return error(Code::invalid_argument, "grid '{}': a range by a factor begins at 1 or above, and its factor is 2 or more",
                 axis);
  if (!factor && static_cast<uint64_t>(last - first) / static_cast<uint64_t>(step) >= kMostValues)
    return error(Code::invalid_argument, "grid '{}': an axis has at most {} values", axis, kMostValues);
  for (int64_t value = first;;) {
    values.emplace_back(value);
    const bool ends =
        factor ? value > last / step : static_cast<uint64_t>(last) - static_cast<uint64_t>(value) < static_cast<uint64_t>(step);
    if (ends) return {};
    value = factor ? value * step : value + step;
  }
}

// False: as set_member().
bool set_value(Json& object, const GridAxis& axis, size_t index) {
  // The base's is of the base's file.
  if (axis.key == kIr) set_member(object, kIrDigest, axis.digests.empty() ? Json() : Json(axis.digests[index]));
  return set_member(object, axis.key, axis.values[index]);
}

// What leaves a member out reads as any configuration, also where there is no such member: the same with what no member takes.
Status check_null(Json object, const std::string& key) {
  set_member(object, key, Json::array({Json()}));
  const Status refused = configuration_from_json(object).status();
  return refused.message().find("unknown key") == std::string::npos ? Status() : refused;
}

// Of one member, or of a member and a part of it.
bool overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.');
}

Status check_keys(const Configuration& base, const std::vector<GridAxis>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::string& key = axes[i].key;
    if (key == kIrDigest)
      return error(Code::invalid_argument, "grid '{}': it is what the file of 'ir' has, and follows from that: give ir=FILE",
                   key);
    if (base.keep_threads && overlap(key, "grid"))
      return error(Code::invalid_argument, "grid '{}': keep_threads computes the grid: leave one of the two out", key);
    for (size_t j = 0; j < i; ++j) {
      if (axes[j].key == key) return error(Code::invalid_argument, "grid: '{}' is given twice", key);
      if (overlap(axes[j].key, key))
        return error(Code::invalid_argument, "grid: '{}' and '{}' are given, and one is a part of the other", axes[j].key, key);
    }
  }
  return {};
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
  for (std::string_view part : split(text.substr(equals + 1), '|')) {
    if (auto range = parse_range(part))
      MNEME_TRY(add_range(text, *range, axis.values));
    else
      axis.values.push_back(json_value(part));
    if (axis.values.size() > kMostValues)
      return error(Code::invalid_argument, "grid '{}': an axis has at most {} values", text, kMostValues);
  }
  std::set<Json> seen;
  for (const Json& value : axis.values)
    if (!seen.insert(value).second) return error(Code::invalid_argument, "grid '{}': {} comes twice", text, json_text(value));
  return axis;
}

Status pin_files(GridAxis& axis, FileSystem& files) {
  if (axis.key != kIr) return {};
  axis.digests.resize(axis.values.size());
  for (size_t i = 0; i < axis.values.size(); ++i) {
    Json& value = axis.values[i];
    if (!value.is_string() || value.get<std::string>().empty()) continue;  // the recorded code, or no path
    IrFile file{std::filesystem::absolute(value.get<std::string>()).lexically_normal(), axis.digests[i]};
    if (Status status = pin(file, files); !status.ok()) return status.with_context(fmt::format("grid '{}'", axis.key));
    value = file.path;
    axis.digests[i] = file.digest;
  }
  return {};
}

Result<Grid> Grid::create(const Configuration& base, std::vector<GridAxis> axes) {
  MNEME_TRY(check_keys(base, axes));
  Grid grid;
  grid.base_ = to_json(base);
  for (const GridAxis& axis : axes) {
    if (axis.values.size() > (uint64_t{1} << 63) / grid.size_)
      return error(Code::invalid_argument, "grid: it has more than 2^63 points");
    grid.size_ *= axis.values.size();
    if (!axis.digests.empty() && axis.digests.size() != axis.values.size())
      return error(Code::invalid_argument, "grid '{}': {} values and {} digests", axis.key, axis.values.size(),
                   axis.digests.size());
    for (size_t i = 0; i < axis.values.size(); ++i) {
      Json json = grid.base_;
      if (!set_value(json, axis, i))
        return error(Code::invalid_argument, "grid '{}': there is no such member of a configuration", axis.key);
      auto configuration = configuration_from_json(json);
      Status read = configuration.status();
      if (read.ok() && axis.values[i].is_null()) read = check_null(grid.base_, axis.key);
      if (!read.ok()) return read.with_context(fmt::format("grid '{}={}'", axis.key, json_text(axis.values[i])));
    }
  }
  grid.axes_ = std::move(axes);
  return grid;
}

std::vector<size_t> Grid::places_at(uint64_t index) const {
  std::vector<size_t> places(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    places[i] = index % axes_[i].values.size();
    index /= axes_[i].values.size();
  }
  return places;
}

std::vector<Json> Grid::values_at(uint64_t index) const {
  const std::vector<size_t> places = places_at(index);
  std::vector<Json> values;
  for (size_t i = 0; i < axes_.size(); ++i) values.push_back(axes_[i].values[places[i]]);
  return values;
}

Configuration Grid::at(uint64_t index) const {
  Json json = base_;
  const std::vector<size_t> places = places_at(index);
  for (size_t i = 0; i < axes_.size(); ++i) set_value(json, axes_[i], places[i]);
  // Each value was taken by itself when the grid was made, and members do not depend on one another.
  return configuration_from_json(json).value();
}

std::vector<uint64_t> Grid::sample(uint64_t count, uint64_t seed) const {
  std::vector<uint64_t> points;
  if (count >= size_) {
    for (uint64_t i = 0; i < size_; ++i) points.push_back(i);
    return points;
  }
  // Floyd's sampling without replacement. What is chosen is a bit for each point of the grid, where those are few for each point
  // that is chosen.
  constexpr uint64_t kDense = 64;
  const bool dense = size_ / kDense < count;
  std::vector<bool> bits(dense ? size_ : 0);
  std::unordered_set<uint64_t> few;
  auto choose = [&](uint64_t point) {
    if (!dense) return few.insert(point).second;
    const bool fresh = !bits[point];
    bits[point] = true;
    return fresh;
  };
  std::mt19937_64 engine(seed);
  points.reserve(count);
  for (uint64_t bound = size_ - count; bound < size_; ++bound) {
    uint64_t point = draw(engine, bound + 1);
    if (!choose(point)) choose(point = bound);
    points.push_back(point);
  }
  return points;
}

}  // namespace mneme
