#include "mneme/snapshot/json_cursor.h"

#include <charconv>

namespace mneme {
namespace {

using nlohmann::json;

constexpr int kDeepest = 16;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string hex_of(ByteSpan bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::byte byte : bytes) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

Result<json> parse_json(std::string_view text, const std::string& name) {
  if (text.empty()) return error(Code::corrupt, "{}: offset 0: the file is empty", name);
  bool too_deep = false;
  try {
    json document = json::parse(text, [&](int depth, json::parse_event_t, json&) {
      too_deep |= depth > kDeepest;
      return depth <= kDeepest;
    });
    if (too_deep) return error(Code::corrupt, "{}: JSON nested deeper than {}", name, kDeepest);
    return document;
  } catch (const json::parse_error& failure) {
    return error(Code::corrupt, "{}: offset {}: this is not JSON", name, failure.byte == 0 ? 0 : failure.byte - 1);
  } catch (const json::exception& failure) {
    return error(Code::corrupt, "{}: this is not JSON: {}", name, failure.what());
  }
}

Status JsonCursor::corrupt(std::string_view what) const {
  return error(Code::corrupt, "{}: {}: {}", *name_, path_.empty() ? "/" : path_, what);
}

Result<JsonCursor> JsonCursor::member(const char* key) const {
  if (!value_->is_object()) return corrupt("an object expected");
  auto found = value_->find(key);
  if (found == value_->end()) return corrupt(fmt::format("the key '{}' is missing", key));
  return JsonCursor(*found, *name_, path_ + "/" + key);
}

Status JsonCursor::number(uint64_t& out, uint64_t max) const {
  if (!value_->is_number_unsigned()) return corrupt("a whole number from 0 to 2^64-1 expected");
  auto number = value_->get<uint64_t>();
  if (number > max) return corrupt(fmt::format("{} is above {}", number, max));
  out = number;
  return {};
}

Status JsonCursor::read(const char* key, std::string& out) const {
  MNEME_ASSIGN(JsonCursor at, member(key));
  if (!at.value_->is_string()) return at.corrupt("a string expected");
  out = at.value_->get_ref<const std::string&>();
  return {};
}

Status JsonCursor::read(const char* key, bool& out) const {
  MNEME_ASSIGN(JsonCursor at, member(key));
  if (!at.value_->is_boolean()) return at.corrupt("true or false expected");
  out = at.value_->get<bool>();
  return {};
}

Status JsonCursor::read(const char* key, uint64_t& out, uint64_t max) const {
  MNEME_ASSIGN(JsonCursor at, member(key));
  return at.number(out, max);
}

Status JsonCursor::read(const char* key, uint32_t& out) const {
  uint64_t wide = 0;
  MNEME_TRY(read(key, wide, ~uint32_t{0}));
  out = static_cast<uint32_t>(wide);
  return {};
}

Status JsonCursor::read(const char* key, double& out) const {
  MNEME_ASSIGN(JsonCursor at, member(key));
  if (!at.value_->is_number() || !(at.value_->get<double>() >= 0)) return at.corrupt("a number that is not negative expected");
  out = at.value_->get<double>();
  return {};
}

Status JsonCursor::read(const char* key, Digest& out) const {
  std::string text;
  MNEME_TRY(read(key, text));
  auto digest = Digest::from_hex(text);
  if (!digest.ok()) return member(key)->corrupt(digest.status().message());
  out = *digest;
  return {};
}

Status JsonCursor::read(const char* key, DevicePtr& out) const {
  std::string text;
  MNEME_TRY(read(key, text));
  const char* end = text.data() + text.size();
  std::from_chars_result parsed{nullptr, std::errc::invalid_argument};
  if (text.starts_with("0x")) parsed = std::from_chars(text.data() + 2, end, out.address, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    return member(key)->corrupt(fmt::format("'{}' is no address (0x and hexadecimal digits)", text));
  return {};
}

Status JsonCursor::read(const char* key, Dim3& out) const {
  MNEME_ASSIGN(JsonCursor at, member(key));
  if (!at.value_->is_array() || at.value_->size() != 3) return at.corrupt("three numbers expected");
  uint64_t extents[3];
  for (size_t i = 0; i < 3; ++i) {
    JsonCursor entry((*at.value_)[i], *name_, fmt::format("{}/{}", at.path_, i));
    MNEME_TRY(entry.number(extents[i], ~uint32_t{0}));
    if (extents[i] == 0) return entry.corrupt("an extent of 0");
  }
  out = {static_cast<uint32_t>(extents[0]), static_cast<uint32_t>(extents[1]), static_cast<uint32_t>(extents[2])};
  return {};
}

Status JsonCursor::read(const char* key, ByteVector& out) const {
  std::string text;
  MNEME_TRY(read(key, text));
  ByteVector bytes(text.size() / 2);
  bool valid = text.size() % 2 == 0;
  for (size_t i = 0; valid && i < bytes.size(); ++i) {
    int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    bytes[i] = static_cast<std::byte>(high << 4 | low);
  }
  if (!valid) return member(key)->corrupt("pairs of hexadecimal digits expected");
  out = std::move(bytes);
  return {};
}

Status JsonCursor::read_file_name(const char* key, const std::string& expected) const {
  std::string text;
  MNEME_TRY(read(key, text));
  if (text != expected) return member(key)->corrupt(fmt::format("the file must be named '{}', not '{}'", expected, text));
  return {};
}

Status JsonCursor::each(const char* key, const std::function<Status(const JsonCursor&)>& visit) const {
  MNEME_ASSIGN(JsonCursor at, member(key));
  if (!at.value_->is_array()) return at.corrupt("an array expected");
  for (size_t i = 0; i < at.value_->size(); ++i)
    MNEME_TRY(visit(JsonCursor((*at.value_)[i], *name_, fmt::format("{}/{}", at.path_, i))));
  return {};
}

}  // namespace mneme
