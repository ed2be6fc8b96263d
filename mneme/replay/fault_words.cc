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

Status mention_extent(const Status& status, MemoryExtent extent) {
  if (status.code() != Code::device_fault || extent == MemoryExtent::all) return status;
  return error(
      Code::device_fault,
      "{}; the launch was recorded with the memory that pointers lead to, and no other is there: if the program's own code "
      "faults, record it with --all-memory",
      status.message());
}

}  // namespace mneme
