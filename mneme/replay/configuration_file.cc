#include "mneme/replay/configuration_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "mneme/compile/plugin_file.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// Where a text stops being JSON that can be read, and what stands there.
class FailureFinder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at, const std::string& token, const Json::exception&) override {
    byte = at;
    text = token;
    return false;
  }

  std::size_t byte = 0;
  std::string text;
};

Status no_configuration(const std::string& name, std::string_view what) {
  const Path best = Path(name).parent_path() / "best.json";
  std::error_code ignored;
  return error(Code::invalid_argument, "{} is {}, and no configuration{}", name, what,
               std::filesystem::exists(best, ignored) ? "; the best one that was found is in " + best.string() : "");
}

// Files of Mneme's that have a configuration in them, or several, which is not what somebody means who gives them as one.
Status check_kind(const Json& json, const std::string& name) {
  if (!json.is_object()) return {};
  if (json.contains("mneme_sweep")) return no_configuration(name, "what a sweep was asked for");
  if (json.contains("mneme_tune")) return no_configuration(name, "what a search was asked for");
  if (json.contains("mneme_log")) return no_configuration(name, "a log of results, with a configuration on each line");
  if (json.contains("best") && (json.contains("total") || json.contains("trials")))
    return no_configuration(name, "what a sweep or a search came to");
  for (const char* key : {"space", "parameters", "constraints", "sampler"})
    if (json.contains(key))
      return error(Code::invalid_argument, "{} describes a search ('{}'), and no configuration: `mneme tune --search` takes it",
                   name, key);
  return {};
}

// What is no JSON may be one object a line.
Status check_lines(std::string_view text, const std::string& name) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return {};
  const Json first = json_in(text.substr(0, end));
  if (!first.is_object()) return {};
  MNEME_TRY(check_kind(first, name));
  return no_configuration(name, "a log, with a JSON object on each line");
}

}  // namespace

Result<Configuration> read_configuration(const std::string& path, FileSystem& files) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const Path best = Path(path) / "best.json";
    if (files.exists(best))
      return error(Code::invalid_argument, "reading the configuration: {} is a folder; the best one that was found is in {}",
                   path, best.string());
    return error(Code::invalid_argument, "reading the configuration: {} is a folder, and has no best.json: name a file", path);
  }
  auto bytes = files.read(path);
  if (!bytes.ok()) return bytes.status().with_context("reading the configuration");
  return parse_configuration({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path);
}

Status check_files(const Configuration& configuration, FileSystem& files) {
  IrFile ir = configuration.ir;
  MNEME_TRY(pin(ir, files));
  for (const std::string& plugin : configuration.pass_plugins) MNEME_TRY(find_plugin_file(plugin).status());
  return {};
}

Result<Configuration> parse_configuration(std::string_view text, const std::string& name) {
  constexpr int kDeepest = 32;
  bool too_deep = false;
  Json json;
  try {
    json = Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
      too_deep |= depth > kDeepest;
      return depth <= kDeepest;
    });
    if (too_deep) return error(Code::invalid_argument, "the configuration {} is nested deeper than {}", name, kDeepest);
  } catch (const Json::parse_error& failure) {
    MNEME_TRY(check_lines(text, name));
    return error(Code::invalid_argument, "the configuration {} is no JSON: byte {}", name, failure.byte);
  } catch (const Json::out_of_range&) {
    FailureFinder found;
    [[maybe_unused]] const bool read = Json::sax_parse(text, &found);
    return error(Code::invalid_argument, "the configuration {}: the number {} at byte {} is larger than any that can be read",
                 name, found.text, found.byte - found.text.size() + 1);
  }
  MNEME_TRY(check_kind(json, name));
  if (json.is_object() && json.contains("configuration")) json = Json(json["configuration"]);
  auto configuration = configuration_from_json(json);
  if (!configuration.ok()) return configuration.status().with_context(name);
  return configuration;
}

}  // namespace mneme
