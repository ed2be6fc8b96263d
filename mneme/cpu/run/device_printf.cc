#include "mneme/cpu/run/device_printf.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace mneme::cpu {
namespace {

// CUDA's packed buffer.
class PackedArguments {
 public:
  explicit PackedArguments(const void* buffer) : buffer_(static_cast<const char*>(buffer)) {}
  template <typename T>
  T next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (buffer_ != nullptr) std::memcpy(&value, buffer_ + offset_, sizeof(T));
    offset_ += sizeof(T);
    ++count_;
    return value;
  }
  const char* next_string() { return next<const char*>(); }
  int32_t count() const { return count_; }

 private:
  const char* buffer_;
  size_t offset_ = 0;
  int32_t count_ = 0;
};

// The words of a message of HIP's.
class MessageArguments {
 public:
  explicit MessageArguments(std::span<const uint64_t> words) : words_(words) {}
  template <typename T>
  T next() {
    const uint64_t word = words_.empty() ? 0 : words_.front();
    if (!words_.empty()) words_ = words_.subspan(1);
    T value;
    std::memcpy(&value, &word, sizeof(T));
    ++count_;
    return value;
  }
  // Holds until the next call.
  const char* next_string() {
    const auto* bytes = reinterpret_cast<const char*>(words_.data());
    string_.assign(bytes, strnlen(bytes, words_.size_bytes()));
    words_ = words_.subspan(std::min(string_.size() / sizeof(uint64_t) + 1, words_.size()));
    ++count_;
    return string_.c_str();
  }
  int32_t count() const { return count_; }

 private:
  std::span<const uint64_t> words_;
  std::string string_;
  int32_t count_ = 0;
};

template <typename T>
void append(std::string& text, const std::string& spec, T value) {
  char small[256];
  const int length = std::snprintf(small, sizeof small, spec.c_str(), value);
  if (length < 0) return;
  if (static_cast<size_t>(length) < sizeof small) {
    text.append(small, static_cast<size_t>(length));
    return;
  }
  const size_t end = text.size();
  text.resize(end + static_cast<size_t>(length) + 1);
  std::snprintf(text.data() + end, static_cast<size_t>(length) + 1, spec.c_str(), value);
  text.resize(end + static_cast<size_t>(length));
}

// A star in width or precision becomes the number it stands for.
template <typename Arguments>
const char* copy_number(const char* at, std::string& spec, Arguments& arguments) {
  if (*at == '*') {
    spec += std::to_string(arguments.template next<int32_t>());
    return at + 1;
  }
  while (*at >= '0' && *at <= '9') spec += *at++;
  return at;
}

// One conversion, `at` behind its '%'. Returns where the format goes on.
template <typename Arguments>
const char* convert(const char* at, std::string& text, Arguments& arguments) {
  const char* begin = at;
  std::string spec = "%";
  while (*at != '\0' && std::strchr("-+ #0", *at) != nullptr) spec += *at++;
  at = copy_number(at, spec, arguments);
  if (*at == '.') {
    std::string precision;
    at = copy_number(at + 1, precision, arguments);
    // A negative precision from an argument counts as none.
    if (precision.empty() || precision[0] != '-') spec += "." + precision;
  }
  bool wide = false;
  std::string size;
  while (*at != '\0' && std::strchr("hlLqjzt", *at) != nullptr) {
    wide |= *at != 'h';
    if (*at == 'h') size += 'h';
    ++at;
  }
  const char conversion = *at;
  if (conversion != '\0') ++at;
  switch (conversion) {
    case 'd':
    case 'i':
      if (wide)
        append(text, spec + "ll" + conversion, arguments.template next<long long>());
      else
        append(text, spec + size + conversion, arguments.template next<int>());
      return at;
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      if (wide)
        append(text, spec + "ll" + conversion, arguments.template next<unsigned long long>());
      else
        append(text, spec + size + conversion, arguments.template next<unsigned>());
      return at;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': append(text, spec + conversion, arguments.template next<double>()); return at;
    case 'c': append(text, spec + conversion, arguments.template next<int>()); return at;
    case 's': {
      const char* string = arguments.next_string();
      append(text, spec + conversion, string == nullptr ? "(null)" : string);
      return at;
    }
    case 'p': append(text, spec + conversion, arguments.template next<const void*>()); return at;
    case 'n': arguments.template next<void*>(); return at;
    case '%': text += '%'; return at;
    default: text.append("%").append(begin, at); return at;
  }
}

template <typename Arguments>
DeviceText format_text(const char* format, Arguments arguments) {
  DeviceText result;
  for (const char* at = format; *at != '\0';) {
    const char* percent = std::strchr(at, '%');
    if (percent == nullptr) {
      result.text += at;
      break;
    }
    result.text.append(at, percent);
    at = convert(percent + 1, result.text, arguments);
  }
  result.arguments = arguments.count();
  return result;
}

}  // namespace

DeviceText format_device_printf(const char* format, const void* arguments) {
  if (format == nullptr) return {{}, -1};
  return format_text(format, PackedArguments(arguments));
}

DeviceText format_device_message(std::span<const uint64_t> message) {
  MessageArguments words(message);
  const std::string format = words.next_string();
  return format_text(format.c_str(),
                     MessageArguments(message.subspan(std::min(format.size() / sizeof(uint64_t) + 1, message.size()))));
}

}  // namespace mneme::cpu
