#include "mneme/process/message_members.h"

#include <span>
#include <utility>

namespace mneme {

using Json = nlohmann::json;

MessageMembers::MessageMembers(Json body) : body_(std::move(body)) {
  if (!body_.is_object()) wrong_ = "it is no object";
}

std::string MessageMembers::text(const char* name) {
  const Json member = take(name, &Json::is_string);
  return member.is_null() ? std::string() : member.get<std::string>();
}

uint64_t MessageMembers::number(const char* name) {
  const Json member = take(name, &Json::is_number_unsigned);
  return member.is_null() ? 0 : member.get<uint64_t>();
}

int64_t MessageMembers::whole_number(const char* name) {
  const Json member = take(name, &Json::is_number_integer);
  if (member.is_number_unsigned() && !std::in_range<int64_t>(member.get<uint64_t>())) refuse(name);
  return member.is_null() ? 0 : member.get<int64_t>();
}

bool MessageMembers::flag(const char* name) {
  const Json member = take(name, &Json::is_boolean);
  return !member.is_null() && member.get<bool>();
}

std::vector<std::string> MessageMembers::texts(const char* name) {
  std::vector<std::string> texts;
  for (const Json& text : take(name, &Json::is_array)) {
    if (!text.is_string()) refuse(name);
    texts.push_back(text.is_string() ? text.get<std::string>() : std::string());
  }
  return texts;
}

std::vector<double> MessageMembers::numbers(const char* name) {
  std::vector<double> numbers;
  for (const Json& number : take(name, &Json::is_array)) {
    if (!number.is_number()) refuse(name);
    numbers.push_back(number.is_number() ? number.get<double>() : 0.0);
  }
  return numbers;
}

ByteVector MessageMembers::bytes(const char* name) {
  const Json member = take(name, &Json::is_binary);
  if (member.is_null()) return {};
  const auto bytes = std::as_bytes(std::span(member.get_binary()));
  return {bytes.begin(), bytes.end()};
}

Json MessageMembers::any(const char* name) {
  if (has(name)) return std::move(body_[name]);
  refuse(name);
  return {};
}

Json MessageMembers::object(const char* name) {
  Json object = take(name, &Json::is_object);
  return object.is_object() ? object : Json::object();
}

void MessageMembers::refuse(std::string_view name) {
  if (wrong_.empty()) wrong_ = fmt::format("'{}' is missing or is of another kind", name);
}

Status MessageMembers::status() const {
  return wrong_.empty() ? Status() : error(Code::corrupt, "a message of the pool's processes: {}", wrong_);
}

// Null where it is missing or of another kind.
Json MessageMembers::take(const char* name, bool (Json::*is_of_kind)() const noexcept) {
  if (has(name) && (body_[name].*is_of_kind)()) return std::move(body_[name]);
  refuse(name);
  return {};
}

}  // namespace mneme
