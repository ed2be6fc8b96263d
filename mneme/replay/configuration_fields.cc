#include "mneme/replay/configuration_fields.h"

#include <algorithm>

#include "mneme/base/suggestion.h"
#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// Whether the section had a member of that name in an older version.
bool is_former(std::string_view section, std::string_view key) {
  return std::any_of(std::begin(kRenamedFields), std::end(kRenamedFields),
                     [&](const RenamedField& field) { return field.section == section && field.former == key; });
}

}  // namespace

FieldReader::FieldReader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (object.is_object()) return;
  failure_ = path_.empty()
                 ? error(Code::invalid_argument, "configuration: an object is expected, not {}", json_text(object))
                 : error(Code::invalid_argument, "configuration: '{}' must be an object, not {}", path_, json_text(object));
}

void FieldReader::real(std::string_view key, double& out, double min, double max) {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_number() || !(value->get<double>() >= min && value->get<double>() <= max))
    return fail(key, fmt::format("a number from {} to {}", min, max), *value);
  out = value->get<double>();
}

void FieldReader::flag(std::string_view key, bool& out) {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_boolean()) return fail(key, "true or false", *value);
  out = value->get<bool>();
}

void FieldReader::text(std::string_view key, std::string& out) {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_string()) return fail(key, "a string", *value);
  if (!is_utf8(*value)) return fail(key, "UTF-8", *value);
  out = value->get<std::string>();
}

void FieldReader::texts(std::string_view key, std::vector<std::string>& out) {
  const Json* value = find(key);
  if (!value) return;
  bool strings = value->is_array() && std::all_of(value->begin(), value->end(), [](const Json& e) { return e.is_string(); });
  if (!strings) return fail(key, "an array of strings", *value);
  if (!is_utf8(*value)) return fail(key, "UTF-8", *value);
  out = value->get<std::vector<std::string>>();
}

Status FieldReader::finish() {
  if (!failure_.ok()) return failure_;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end() || is_former(path_, key)) continue;
    if (auto near = nearest(key, known_))
      return error(Code::invalid_argument, "configuration: unknown key '{}'; the nearest is '{}'", member(key), member(*near));
    std::vector<std::string> members;
    for (const std::string& other : known_) members.push_back(member(other));
    return error(Code::invalid_argument, "configuration: unknown key '{}'; there are: {}", member(key), fmt::join(members, ", "));
  }
  return {};
}

const Json* FieldReader::find(std::string_view key) {
  known_.emplace_back(key);
  if (!failure_.ok()) return nullptr;
  auto found = object_.find(key);
  for (const RenamedField& field : kRenamedFields) {
    if (field.section != path_ || field.now != key) continue;
    const auto former = object_.find(field.former);
    if (former == object_.end()) continue;
    if (found == object_.end()) return &*former;
    take(error(Code::invalid_argument, "configuration: '{}' is the former name of '{}', and both are given: leave it out",
               member(field.former), member(key)));
    return nullptr;
  }
  return found == object_.end() ? nullptr : &*found;
}

std::optional<uint64_t> FieldReader::read_number(std::string_view key, const Json& value, NumberRange range) {
  if (value.is_number_integer() && value >= range.min && value <= range.max) return value.get<uint64_t>();
  fail(key, fmt::format("a whole number from {} to {}", range.min, range.max), value);
  return std::nullopt;
}

std::string FieldReader::member(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void FieldReader::fail(std::string_view key, const std::string& expected, const Json& value) {
  take(error(Code::invalid_argument, "configuration: '{}' must be {}, not {}", member(key), expected, json_text(value)));
}

void FieldReader::take(Status status) {
  if (failure_.ok()) failure_ = std::move(status);
}

}  // namespace mneme
