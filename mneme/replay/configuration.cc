#include "mneme/replay/configuration.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr std::array kKeys = {"pipeline", "codegen_level", "grid", "block", "shared_memory", "iterations"};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j)
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])}));
  }
  return row.back();
}

Status check_keys(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) continue;
    auto nearest = *std::min_element(kKeys.begin(), kKeys.end(), [&](std::string_view a, std::string_view b) {
      return edit_distance(a, key) < edit_distance(b, key);
    });
    return error(Code::invalid_argument, "configuration: unknown key '{}'; the nearest is '{}'", key, nearest);
  }
  return {};
}

Status read_unsigned(const Json& json, std::string_view key, uint64_t max, uint64_t& out) {
  if (!json.is_number_integer() || json < 0 || json > max)
    return error(Code::invalid_argument, "configuration: '{}' must be a whole number from 0 to {}, not {}", key, max,
                 json.dump());
  out = json.get<uint64_t>();
  return {};
}

Status read_extent(const Json& json, std::string_view key, ExtentOverride& out) {
  if (!json.is_object())
    return error(Code::invalid_argument, "configuration: '{}' must be an object with x, y, z, not {}", key, json.dump());
  for (const auto& [name, value] : json.items()) {
    auto* dimension = name == "x" ? &out.x : name == "y" ? &out.y : name == "z" ? &out.z : nullptr;
    if (!dimension) return error(Code::invalid_argument, "configuration: '{}' has x, y and z, not '{}'", key, name);
    uint64_t extent = 0;
    MNEME_TRY(read_unsigned(value, fmt::format("{}.{}", key, name), UINT32_MAX, extent));
    *dimension = static_cast<uint32_t>(extent);
  }
  return {};
}

Json extent_to_json(const ExtentOverride& extent) {
  Json json = Json::object();
  if (extent.x) json["x"] = *extent.x;
  if (extent.y) json["y"] = *extent.y;
  if (extent.z) json["z"] = *extent.z;
  return json;
}

}  // namespace

LaunchShape Configuration::launch_shape(const InstanceRecord& instance) const {
  return {grid.apply(instance.grid), block.apply(instance.block), shared_memory.value_or(instance.dynamic_shared_memory),
          instance.cooperative};
}

Digest Configuration::digest() const {
  Json json = to_json(*this);
  json.erase("iterations");
  return Hasher().add(std::string_view(json.dump())).finish();
}

Json to_json(const Configuration& configuration) {
  Json json = {{"pipeline", configuration.pipeline},
               {"codegen_level", configuration.codegen_level},
               {"iterations", configuration.iterations}};
  if (configuration.grid != ExtentOverride{}) json["grid"] = extent_to_json(configuration.grid);
  if (configuration.block != ExtentOverride{}) json["block"] = extent_to_json(configuration.block);
  if (configuration.shared_memory) json["shared_memory"] = configuration.shared_memory->count;
  return json;
}

Result<Configuration> configuration_from_json(const Json& json) {
  if (!json.is_object()) return error(Code::invalid_argument, "configuration: an object is expected, not {}", json.dump());
  MNEME_TRY(check_keys(json));
  Configuration result;
  uint64_t number = 0;
  if (json.contains("pipeline")) {
    if (!json["pipeline"].is_string())
      return error(Code::invalid_argument, "configuration: 'pipeline' must be a string, not {}", json["pipeline"].dump());
    result.pipeline = json["pipeline"].get<std::string>();
  }
  if (json.contains("codegen_level")) {
    MNEME_TRY(read_unsigned(json["codegen_level"], "codegen_level", 3, number));
    result.codegen_level = static_cast<unsigned>(number);
  }
  if (json.contains("iterations")) {
    MNEME_TRY(read_unsigned(json["iterations"], "iterations", 1'000'000, number));
    result.iterations = static_cast<unsigned>(number);
  }
  if (json.contains("shared_memory")) {
    MNEME_TRY(read_unsigned(json["shared_memory"], "shared_memory", UINT32_MAX, number));
    result.shared_memory = Bytes(number);
  }
  if (json.contains("grid")) MNEME_TRY(read_extent(json["grid"], "grid", result.grid));
  if (json.contains("block")) MNEME_TRY(read_extent(json["block"], "block", result.block));
  return result;
}

}  // namespace mneme
