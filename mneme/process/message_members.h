// MessageMembers: reads the members of a message that a damaged process may have sent.
//
//   MessageMembers members(body);
//   JobBegan began{members.number("id")};
//   MNEME_TRY(members.status());
//
// Each member is taken out once. The first that is missing or of another kind is remembered, so that a message is read as a whole
// and then asked whether it was one; until then what could not be read is empty.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

class MessageMembers {
 public:
  explicit MessageMembers(nlohmann::json body);

  std::string text(const char* name);
  uint64_t number(const char* name);  // a whole one that is not negative
  int64_t whole_number(const char* name);
  bool flag(const char* name);
  std::vector<std::string> texts(const char* name);
  std::vector<double> numbers(const char* name);
  ByteVector bytes(const char* name);
  nlohmann::json any(const char* name);
  nlohmann::json object(const char* name);
  bool has(const char* name) const { return body_.is_object() && body_.contains(name); }

  // The member is there and of its kind, and says nonsense all the same.
  void refuse(std::string_view name);
  // corrupt: something was missing or of another kind.
  Status status() const;

 private:
  nlohmann::json take(const char* name, bool (nlohmann::json::*is_of_kind)() const noexcept);

  nlohmann::json body_;
  std::string wrong_;
};

}  // namespace mneme
