// A tool of NVIDIA's that is a library, opened at run time.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::nvptx {

struct ToolFunction {
  const char* name;
  void** function;
};

// Opens the first of `paths` that has all `functions`, sets them, and returns the file's path; it stays open for the life of the
// process. unavailable: "<path>: <reason>; <path>: …".
Result<std::string> open_tool_library(const std::vector<std::string>& paths, std::initializer_list<ToolFunction> functions);

// The tool's log with its size from two functions of the usual form; without its terminator and the last line's end.
template <typename Handle>
std::string read_tool_log(Handle handle, int (*size_of)(Handle, size_t*), int (*read)(Handle, char*)) {
  size_t size = 0;
  if (handle == nullptr || size_of(handle, &size) != 0 || size == 0) return "";
  std::string log(size + 1, '\0');
  if (read(handle, log.data()) != 0) return "";
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  while (!log.empty() && log.back() == '\n') log.pop_back();
  return log;
}

}  // namespace mneme::nvptx
