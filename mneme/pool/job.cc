#include "mneme/pool/job.h"

#include <algorithm>
#include <array>
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
constexpr std::string_view kOfAssembler = "assembler";
constexpr std::array<std::string_view, 4> kNotOfLlvm = {"execution", "tolerance", "verdict", kOfAssembler};
constexpr std::array<std::string_view, 8> kNotOfAnyLaunch = {"execution", "tolerance", "verdict",      kOfAssembler,
                                                             "grid",      "block",     "keep_threads", "shared_memory"};

std::string all_but(const Json& configuration, Sections sections) {
  std::string rest;
  for (const auto& [name, value] : configuration.items())
    if (std::find(sections.begin(), sections.end(), name) == sections.end()) rest += name + json_text(value);
  return rest;
}

std::string with_assembler(const std::string& translation_key, const Json& json) {
  const auto assembler = json.find(kOfAssembler);
  return translation_key + "\n" + (assembler == json.end() ? "" : json_text(*assembler));
}

}  // namespace

std::string compile_key(const Configuration& configuration, const Json& json) {
  return with_assembler(translation_key(configuration, json), json);
}

std::string translation_key(const Configuration& configuration, const Json& json) {
  const bool of_the_launch = !configuration.specialise.empty();
  std::string key = all_but(json, of_the_launch ? Sections(kNotOfLlvm) : Sections(kNotOfAnyLaunch));
  if (!configuration.ir.path.empty()) key += "\n" + describe_file(configuration.ir.path);
  for (const std::string& plugin : configuration.pass_plugins) key += "\n" + describe_file(plugin);
  return key;
}

std::string launch_key(const Json& configuration) { return all_but(configuration, kOfCode); }

void identify(Job& job) {
  if (!job.json.is_null()) return;
  job.json = to_json(job.configuration);
  job.digest = whole_digest(job.json);
  const std::string translation = translation_key(job.configuration, job.json);
  job.compile_key = with_assembler(translation, job.json);
  job.translation = std::hash<std::string>()(translation);
  job.launch_key = launch_key(job.json);
}

}  // namespace mneme
