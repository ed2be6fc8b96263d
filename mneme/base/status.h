// Status and Result<T>: how every room of Mneme reports what failed.
//
// A message says what was attempted, on what, and why it failed; where the user can do something about it, what. Each layer
// adds context once. Values of both types are ordinary: copyable (Result if T is), movable, thread-compatible.
#pragma once

#include <fmt/format.h>

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mneme {

enum class Code {
  ok,
  invalid_argument,  // the caller's value is wrong
  not_found,         // a named thing does not exist
  unsupported,       // a correct request that this device or build cannot serve
  unavailable,       // a driver, device, tool or address range that is not there now
  incompatible,      // a version, target or signature that does not fit
  corrupt,           // stored bytes are damaged
  exhausted,         // memory, disk or another limit is used up
  io,                // the operating system refused
  device_fault,      // the device trapped, or its context cannot be used any more
  timeout,           // a limit of time ran out
  internal,          // a defect of Mneme
};

// The code's name as users see it, for example "device_fault".
std::string_view to_string(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same failure with "what: " before its message; an ok status stays as it is.
  Status with_context(std::string_view what) const;

  // "corrupt: reading x: …", or "ok".
  std::string to_string() const;

 private:
  Code code_ = Code::ok;
  std::string message_;
};

// error(Code::io, "writing {}: {}", path, reason)
template <typename... Args>
Status error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

// A T, or the Status that says why there is none. value() requires ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  Status status() const { return status_; }

  T& value() & { return value_.value(); }
  const T& value() const& { return value_.value(); }
  T&& value() && { return std::move(value_).value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;  // ok where there is a value
};

}  // namespace mneme

#define MNEME_CONCAT_(a, b) a##b
#define MNEME_CONCAT(a, b) MNEME_CONCAT_(a, b)

// Returns the status of `expression` from the enclosing function unless it is ok.
#define MNEME_TRY(expression)                                                                    \
  do {                                                                                           \
    if (::mneme::Status mneme_status_ = (expression); !mneme_status_.ok()) return mneme_status_; \
  } while (false)

// MNEME_ASSIGN(auto x, f()) declares x from the value of a Result, or returns its status.
#define MNEME_ASSIGN(declaration, expression) MNEME_ASSIGN_(MNEME_CONCAT(mneme_result_, __LINE__), declaration, expression)
#define MNEME_ASSIGN_(temporary, declaration, expression) \
  auto temporary = (expression);                          \
  if (!temporary.ok()) return temporary.status();         \
  declaration = std::move(temporary).value()
