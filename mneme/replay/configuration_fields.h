// Reading and writing a configuration's JSON by one list of fields for each section. The list names each field once, and serves
// the reader, the writer, and the search for the nearest name when a key is wrong.
//
//   template <class Fields> void list_fields(Fields& fields, Execution& execution) {
//     fields.number("iterations", execution.iterations, {.max = 1'000'000});
//   }
//
// A new knob is one line in such a list. A number may be optional; it is written where it is set.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// A member that an older Mneme called otherwise. Its former name is still read, and never written.
struct RenamedField {
  std::string_view section, former, now;
};
inline constexpr RenamedField kRenamedFields[] = {{"verdict", "poison", "mask"}};

struct NumberRange {
  uint64_t min = 0;
  uint64_t max = UINT32_MAX;
};

// Reads the members of one object. A member that the object lacks keeps the value it has. After the first failure nothing more is
// read; finish() returns it. The object must outlive the reader.
class FieldReader {
 public:
  // `path` is how messages call the object: "grid"; empty for the configuration itself.
  FieldReader(const nlohmann::json& object, std::string path);

  template <class T>
  void number(std::string_view key, T& out, NumberRange range = {}) {
    if (const nlohmann::json* value = find(key))
      if (auto read = read_number(key, *value, range)) out = static_cast<T>(*read);
  }
  template <class T>
  void number(std::string_view key, std::optional<T>& out, NumberRange range = {}) {
    number(key, out.emplace(), range, find(key) != nullptr, out);
  }
  void real(std::string_view key, double& out, double min, double max);
  void flag(std::string_view key, bool& out);
  void text(std::string_view key, std::string& out);
  void texts(std::string_view key, std::vector<std::string>& out);
  // Reads a value of an enumeration by its name.
  template <class T, size_t N>
  void choice(std::string_view key, T& out, const std::pair<const char*, T> (&names)[N]) {
    const nlohmann::json* value = find(key);
    if (!value) return;
    std::string all;
    for (const auto& [name, meaning] : names) {
      if (*value == name) return void(out = meaning);
      all += (all.empty() ? "" : ", ") + std::string(name);
    }
    fail(key, "one of " + all, *value);
  }
  template <class T>
  void section(std::string_view key, T& out) {
    const nlohmann::json* value = find(key);
    if (!value) return;
    FieldReader fields(*value, member(key));
    list_fields(fields, out);
    take(fields.finish());
  }
  template <class T>
  void sections(std::string_view key, std::vector<T>& out) {
    const nlohmann::json* value = find(key);
    if (!value) return;
    if (!value->is_array()) return fail(key, "an array", *value);
    for (size_t i = 0; i < value->size(); ++i) {
      FieldReader fields((*value)[i], member(key) + "[" + std::to_string(i) + "]");
      list_fields(fields, out.emplace_back());
      take(fields.finish());
    }
  }

  // To be called when all fields were read. Returns the first failure. Where there was none: invalid_argument for a key of the
  // object that is no field's name, present or former; the message has the nearest name, or all where none is near.
  Status finish();

 private:
  template <class T>
  void number(std::string_view key, T& value, NumberRange range, bool there, std::optional<T>& out) {
    if (there)
      number(key, value, range);
    else
      out.reset();
  }
  // The member, also when the object has it under its former name; nullptr: the object lacks it. Notes that the field is known.
  const nlohmann::json* find(std::string_view key);
  std::optional<uint64_t> read_number(std::string_view key, const nlohmann::json& value, NumberRange range);
  std::string member(std::string_view key) const;
  void fail(std::string_view key, const std::string& expected, const nlohmann::json& value);
  void take(Status status);

  const nlohmann::json& object_;
  std::string path_;
  std::vector<std::string> known_;
  Status failure_;
};

// Writes the same fields into an object, which take() gives away.
class FieldWriter {
 public:
  template <class T>
  void number(std::string_view key, const T& value, NumberRange = {}) {
    if constexpr (std::is_same_v<T, Bytes>)
      object_[key] = value.count;
    else
      object_[key] = value;
  }
  template <class T>
  void number(std::string_view key, const std::optional<T>& value, NumberRange = {}) {
    if (value) number(key, *value);
  }
  void real(std::string_view key, double value, double, double) { object_[key] = value; }
  void flag(std::string_view key, bool value) { object_[key] = value; }
  void text(std::string_view key, const std::string& value) { object_[key] = value; }
  void texts(std::string_view key, const std::vector<std::string>& value) { object_[key] = value; }
  template <class T, size_t N>
  void choice(std::string_view key, const T& value, const std::pair<const char*, T> (&names)[N]) {
    for (const auto& [name, meaning] : names)
      if (value == meaning) object_[key] = name;
  }
  template <class T>
  void section(std::string_view key, T& value) {
    FieldWriter fields;
    list_fields(fields, value);
    object_[key] = fields.take();
  }
  template <class T>
  void sections(std::string_view key, std::vector<T>& values) {
    nlohmann::json array = nlohmann::json::array();
    for (T& value : values) {
      FieldWriter fields;
      list_fields(fields, value);
      array.push_back(fields.take());
    }
    object_[key] = std::move(array);
  }
  nlohmann::json take() { return std::move(object_); }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

}  // namespace mneme
