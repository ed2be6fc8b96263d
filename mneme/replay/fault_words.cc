#include "mneme/replay/fault_words.h"

#include "mneme/snapshot/pageable_pointers.h"

namespace mneme {

Status name_kernel(const Status& status, const std::string& kernel, const LaunchShape& shape) {
  if (status.code() != Code::device_fault || status.message().find("kernel '") != std::string::npos) return status;
  return error(
      Code::device_fault,
      "kernel '{}', grid {}, block {}: {}; --device cpu may tell the block, the thread and, of a program compiled with -g, "
      "the line",
      kernel, shape.grid, shape.block, status.message());
}

Status mention_lacking_memory(const Status& status, const InstanceRecord& instance) {
  if (status.code() != Code::device_fault) return status;
  std::string text = status.message();
  // As the CPU device says it. A null pointer is none that was recorded.
  if (text.find("which points to no function") != text.npos && text.find("pointer 0x0,") == text.npos)
    text +=
        "; functions lie elsewhere in a replay: a launch that calls by a pointer from memory, from a variable that is not "
        "constant, "
        "or from an argument cannot be replayed";
  if (const std::string pointers = describe_pageable_pointers(pageable_pointers_in(instance.attributes)); !pointers.empty())
    text += fmt::format(
        "; {}: if the kernel uses one of them, this launch cannot be replayed (cudaMallocManaged or "
        "cudaHostAlloc gives the program memory that is recorded)",
        pointers);
  if (instance.memory_extent == MemoryExtent::reachable)
    text +=
        "; the launch was recorded with the memory that pointers lead to, and no other is there: if the program's own code "
        "faults, record it with --all-memory";
  return error(Code::device_fault, "{}", text);
}

}  // namespace mneme
