// What is said of a file of a database in which something is not as it was written.
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
