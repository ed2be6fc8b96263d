#include "mneme/pool/job.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>

#include "mneme/compile/compile_key.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

using Sections = std::span<const std::string_view>;
constexpr std::array<std::string_view, 8> kOfCode = {"passes",    "linkage",    "pass_plugins", "ir",
                                                     "ir_digest", "specialise", "codegen",      "assembler"};
constexpr std::array<std::string_view, 4> kNotOfLlvm = {"execution", "tolerance", "verdict", "assembler"};
constexpr std::array<std::string_view, 4> kOfShape = {"grid", "block", "keep_threads", "shared_memory"};

std::string rest_of(const Json& configuration, const std::function<bool(std::string_view)>& is_left_out) {
  std::string rest;
  for (const auto& [name, value] : configuration.items())
    if (!is_left_out(name)) rest += name + json_text(value);
  return rest;
}

bool holds(Sections sections, std::string_view name) {
  return std::find(sections.begin(), sections.end(), name) != sections.end();
}

// Where the code is made for anything of the launch, a launch may be refused that it is not made for.
std::string compile_key_of(const std::string& translation_key, const Configuration& configuration, const Json& json) {
  const bool is_for_a_launch = !configuration.specialise.empty();
  return translation_key + "\n" +
         rest_of(json, [&](auto name) { return name != "assembler" && !(is_for_a_launch && holds(kOfShape, name)); });
}

}  // namespace

std::string compile_key(const Configuration& configuration, const Json& json) {
  return compile_key_of(translation_key(configuration, json), configuration, json);
}

std::string translation_key(const Configuration& configuration, const Json& json) {
  const bool has_shape = configuration.specialise.dimensions || configuration.specialise.ranges;
  std::string key = rest_of(json, [&](auto name) { return holds(kNotOfLlvm, name) || (!has_shape && holds(kOfShape, name)); });
  if (!configuration.ir.path.empty()) key += "\n" + describe_file(configuration.ir.path);
  for (const std::string& plugin : configuration.pass_plugins) key += "\n" + describe_file(plugin);
  return key;
}

std::string launch_key(const Json& configuration) {
  return rest_of(configuration, [](auto name) { return holds(kOfCode, name); });
}

void identify(Job& job) {
  if (!job.json.is_null()) return;
  job.json = to_json(job.configuration);
  job.digest = whole_digest(job.json);
  const std::string translation = translation_key(job.configuration, job.json);
  job.compile_key = compile_key_of(translation, job.configuration, job.json);
  job.translation = std::hash<std::string>()(translation);
  job.launch_key = launch_key(job.json);
}

}  // namespace mneme
