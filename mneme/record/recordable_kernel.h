// RecordableKernel: what the recorder knows of one registered kernel, taken from its segment and those it needs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/runtime/registry.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// Counted by static hash: the same kernel may be registered by several images.
struct KernelCounts {
  std::atomic<uint64_t> seen = 0;      // launches
  std::atomic<uint64_t> attempts = 0;  // that were to be recorded
  std::atomic<bool> recorded = false;
  std::atomic<bool> refused = false;  // its file in the database cannot be read
};

struct RecordableKernel {
  // A global of the kernel, by both its names.
  struct Global {
    std::string image_name;
    GlobalInfo info;
  };

  const void* function = nullptr;
  std::shared_ptr<const RegisteredKernel> registered;
  Status status;  // why it cannot be recorded, or ok; the rest only when ok
  KernelRecord record;
  std::vector<Global> globals;
  std::vector<SegmentRange> padding;  // of the parameters
  bool selected = true;               // by --kernels
  std::shared_ptr<KernelCounts> counts;

  // The name for people.
  const std::string& display_name() const { return record.demangled.empty() ? registered->name : record.demangled; }
};

// Never fails: what is wrong is in the status.
RecordableKernel describe_kernel(const void* function, std::shared_ptr<const RegisteredKernel> registered);

// Bitcode of the kernel's segment and of all it needs, one module after another.
Result<ByteVector> kernel_bitcode(const RegisteredKernel& registered);

// The packed parameter buffer of a launch, padding zero. `arguments` has one pointer a parameter.
ByteVector pack_arguments(const RecordableKernel& kernel, void* const* arguments);

}  // namespace mneme
