// Opens tools of NVIDIA's that are libraries, at run time.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::nvptx {

// A function of the library, and the pointer that is to be set to it.
struct ToolFunction {
  const char* name;
  void** function;
};

// Opens the first of `paths` that has all `functions`, sets their pointers, and returns the path of the file that the loader
// has opened. It stays open for the life of the process. unavailable: none has them; the message is the reasons, with "; "
// between.
Result<std::string> open_tool_library(const std::vector<std::string>& paths, std::initializer_list<ToolFunction> functions);

// Reads a tool's log by two functions, of which the first gives its size. The terminator and line feeds at the end are left
// out.
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
