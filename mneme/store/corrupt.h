// The failure for a file of a database that is damaged: corrupt, with the file's name, the offset in bytes, and what is wrong
// there.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "mneme/base/status.h"

namespace mneme {

template <typename... Args>
Status corrupt(const std::string& name, uint64_t offset, fmt::format_string<Args...> what, Args&&... args) {
  return error(Code::corrupt, "{}: offset {}: {}", name, offset, fmt::format(what, std::forward<Args>(args)...));
}

}  // namespace mneme
