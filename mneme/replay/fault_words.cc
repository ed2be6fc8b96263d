#include "mneme/replay/fault_words.h"

namespace mneme {

Status name_kernel(const Status& status, const std::string& kernel, const LaunchShape& shape) {
  if (status.code() != Code::device_fault || status.message().find("kernel '") != std::string::npos) return status;
  return error(
      Code::device_fault,
      "kernel '{}', grid {}, block {}: {}; --device cpu may tell the block, the thread and, of a program compiled with -g, "
      "the line",
      kernel, shape.grid, shape.block, status.message());
}

}  // namespace mneme
