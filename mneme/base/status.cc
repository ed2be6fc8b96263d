#include "mneme/base/status.h"

namespace mneme {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::unsupported: return "unsupported";
    case Code::unavailable: return "unavailable";
    case Code::incompatible: return "incompatible";
    case Code::corrupt: return "corrupt";
    case Code::exhausted: return "exhausted";
    case Code::io: return "io";
    case Code::device_fault: return "device_fault";
    case Code::timeout: return "timeout";
    case Code::internal: return "internal";
  }
  return "internal";
}

Status Status::with_context(std::string_view what) const {
  return ok() ? *this : Status(code_, fmt::format("{}: {}", what, message_));
}

std::string Status::to_string() const { return ok() ? "ok" : fmt::format("{}: {}", mneme::to_string(code_), message_); }

}  // namespace mneme
