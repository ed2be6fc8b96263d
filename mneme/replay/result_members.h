// The members of a result's JSON: one list for each type serves writing and reading. A member's key is its name in C++.
//
//   template <class Members, Of<NotWritten> T> void list_members(Members& members, T& result) {
//     members.member("elements", result.elements);
//   }
//
// A value that is not known is written as null, or left out (Form::brief). Reading leaves the member as it was in both cases.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/element.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/device.h"
#include "mneme/replay/json_text.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {

template <class T, class Type>
concept Of = std::same_as<std::remove_const_t<T>, Type>;

template <class Members, class T>
concept Listed = requires(Members& members, T& value) { list_members(members, value); };

// How values that say nothing are written: as null and [] (whole), or not at all (brief).
enum class Form { whole, brief };
// The form in which a type is written where it is a member of another one.
template <class T>
inline constexpr Form kFormOf = Form::whole;

// Writes the members of one object.
class MemberWriter {
 public:
  static constexpr bool kReads = false;
  explicit MemberWriter(Form form = Form::whole) : form_(form) {}

  // Writes a member. `former` is used in reading alone.
  template <class T>
  void member(const char* key, const T& value, const char* former [[maybe_unused]] = nullptr) {
    add(key, written(value));
  }
  // A value that is known is written in every form, even when it is an empty list.
  template <class T>
  void member(const char* key, const std::optional<T>& value) {
    value ? always(key, *value) : add(key, nullptr);
  }
  // A member that is written in every form.
  template <class T>
  void always(const char* key, const T& value) {
    object_[key] = written(value);
  }
  // An object inside of this one.
  void section(const char* key, const auto& list) {
    MemberWriter members(form_);
    list(members);
    add(key, members.take());
  }
  // A value of an enumeration, by name; null for one that has none.
  template <class T, size_t N>
  void choice(const char* key, const T& value, const std::pair<const char*, T> (&names)[N]) {
    nlohmann::json name;
    for (const auto& [text, meaning] : names)
      if (meaning == value) name = text;
    add(key, std::move(name));
  }
  // A member that follows from others. It is written and never read.
  void derived(const char* key, nlohmann::json value) { add(key, std::move(value)); }
  // The same inside of the member `key`. Does nothing where that is no object.
  void derived_in(const char* key, const char* inner, nlohmann::json value) {
    if (const auto object = object_.find(key); object != object_.end() && object->is_object())
      (*object)[inner] = std::move(value);
  }
  nlohmann::json take() { return std::move(object_); }

 private:
  void add(const char* key, nlohmann::json value) {
    const bool empty = value.is_null() || (value.is_structured() && value.empty());
    if (form_ == Form::whole || !empty) object_[key] = std::move(value);
  }

  static nlohmann::json written(bool value) { return value; }
  static nlohmann::json written(std::unsigned_integral auto value) { return value; }
  // JSON has no infinity and no NaN, which are written as texts. The sign of a NaN says nothing.
  static nlohmann::json written(double value) {
    if (std::isnan(value)) return "nan";
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::format("{}", value));
  }
  static nlohmann::json written(const std::string& text) { return text.empty() ? nlohmann::json() : nlohmann::json(text); }
  static nlohmann::json written(Bytes size) { return size.count; }
  static nlohmann::json written(Nanoseconds time) { return written(time.count()); }
  static nlohmann::json written(const Digest& digest) { return digest.hex(); }
  static nlohmann::json written(DevicePtr address) { return fmt::format("{}", address); }
  static nlohmann::json written(Dim3 d) { return {{"x", d.x}, {"y", d.y}, {"z", d.z}}; }
  static nlohmann::json written(ElementType type) { return to_string(type); }
  static nlohmann::json written(DeviceKind kind) { return to_string(kind); }
  static nlohmann::json written(const Tolerance& tolerance) { return format_tolerance(tolerance); }
  template <class T>
  static nlohmann::json written(const std::optional<T>& value) {
    return value ? written(*value) : nlohmann::json();
  }
  // An element of a list or a map, where an empty text is a value, and not null.
  static nlohmann::json element(const std::string& text) { return text; }
  template <class T>
  static nlohmann::json element(const T& value) {
    return written(value);
  }
  template <class T>
  static nlohmann::json written(const std::vector<T>& values) {
    nlohmann::json array = nlohmann::json::array();
    for (const T& value : values) array.push_back(element(value));
    return array;
  }
  template <class T>
  static nlohmann::json written(const std::map<std::string, T>& values) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, value] : values) object[key] = element(value);
    return object;
  }
  template <class T>
    requires Listed<MemberWriter, const T>
  static nlohmann::json written(const T& value) {
    MemberWriter members(kFormOf<T>);
    list_members(members, value);
    return members.take();
  }

  Form form_;
  nlohmann::json object_ = nlohmann::json::object();
};

// Reads the same members. The first failure (corrupt, with the member's path) is put into `failure`, and nothing is read after
// it. The object and `failure` must outlive the reader.
class MemberReader {
 public:
  static constexpr bool kReads = true;
  MemberReader(const nlohmann::json& object, std::string path, Status& failure)
      : object_(object), path_(std::move(path)), failure_(failure) {
    if (!object.is_object()) refuse("", "an object", object);
  }

  // Reads a member; `former` is the name by which older versions wrote it.
  template <class T>
  void member(const char* key, T& value, const char* former = nullptr) {
    const nlohmann::json* json = find(key);
    if (json == nullptr && former != nullptr) json = find(former);
    if (json != nullptr) read(key, *json, value);
  }
  template <class T, size_t N>
  void choice(const char* key, T& value, const std::pair<const char*, T> (&names)[N]) {
    const nlohmann::json* json = find(key);
    if (json == nullptr) return;
    std::string all;
    for (const auto& [text, meaning] : names) {
      if (*json == text) return void(value = meaning);
      all += (all.empty() ? "" : ", ") + std::string(text);
    }
    refuse(key, "one of " + all, *json);
  }
  template <class T>
  void always(const char* key, T& value) {
    member(key, value);
  }
  void section(const char* key, const auto& list) {
    if (const nlohmann::json* json = find(key)) {
      MemberReader members(*json, path_ + key + ".", failure_);
      list(members);
    }
  }
  // The member; nullptr where there is none, where it is null, and after a failure.
  const nlohmann::json* find(const char* key) const;
  // Notes the failure that the member is not what was expected: "'tolerances.where' must be a string, not 3".
  void refuse(const char* key, std::string_view expected, const nlohmann::json& value);

 private:
  void read(const char* key, const nlohmann::json& json, bool& out);
  void read(const char* key, const nlohmann::json& json, double& out);
  void read(const char* key, const nlohmann::json& json, std::string& out);
  void read(const char* key, const nlohmann::json& json, Bytes& out) { read(key, json, out.count); }
  void read(const char* key, const nlohmann::json& json, Nanoseconds& out);
  void read(const char* key, const nlohmann::json& json, Digest& out);
  void read(const char* key, const nlohmann::json& json, DevicePtr& out);
  void read(const char* key, const nlohmann::json& json, Dim3& out);
  void read(const char* key, const nlohmann::json& json, ElementType& out);
  void read(const char* key, const nlohmann::json& json, DeviceKind& out);
  void read(const char* key, const nlohmann::json& json, Tolerance& out);
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void read(const char* key, const nlohmann::json& json, T& out) {
    constexpr uint64_t kMost = std::numeric_limits<T>::max();
    const bool whole = json.is_number_unsigned() || (json.is_number_integer() && json.get<int64_t>() >= 0);
    if (!whole || json.get<uint64_t>() > kMost) return refuse(key, fmt::format("a whole number from {} to {}", 0, kMost), json);
    out = json.get<T>();
  }
  template <class T>
  void read(const char* key, const nlohmann::json& json, std::optional<T>& out) {
    read(key, json, out.emplace());
  }
  template <class T>
  void read(const char* key, const nlohmann::json& json, std::vector<T>& out) {
    if (!json.is_array()) return refuse(key, "a list", json);
    out.clear();
    out.reserve(json.size());
    for (const nlohmann::json& element : json) read(key, element, out.emplace_back());
  }
  template <class T>
  void read(const char* key, const nlohmann::json& json, std::map<std::string, T>& out) {
    if (!json.is_object()) return refuse(key, "an object", json);
    for (const auto& [name, value] : json.items()) read(key, value, out[name]);
  }
  template <class T>
    requires Listed<MemberReader, T>
  void read(const char* key, const nlohmann::json& json, T& out) {
    MemberReader members(json, path_ + key + ".", failure_);
    list_members(members, out);
  }

  const nlohmann::json& object_;
  std::string path_;  // of the members, with a point behind: "tolerances."
  Status& failure_;
};

}  // namespace mneme
