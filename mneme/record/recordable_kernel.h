// RecordableKernel: what the recorder knows of one registered kernel, taken from its segment and those it needs, or from the code
// that the device runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/shared_bytes.h"
#include "mneme/base/status.h"
#include "mneme/record/kernel_counts.h"
#include "mneme/runtime/registry.h"
#include "mneme/snapshot/recording_report.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// What is stored of a kernel's code.
struct RecordedCode {
  SharedBytes ir;                   // bitcode of the kernel's segment and of all segments that it needs, one module after another
  std::vector<SharedBytes> images;  // as the kernel's record lists them
};

struct RecordableKernel {
  // A global of the kernel, by both its names.
  struct Global {
    std::string image_name;
    GlobalInfo info;
  };

  const void* function = nullptr;
  std::shared_ptr<const RegisteredKernel> registered;
  Status status;  // ok, or why it cannot be recorded: then the members below are not filled in
  KernelRecord record;
  std::vector<Global> globals;
  std::vector<SegmentRange> padding;    // bytes of the parameter buffer that hold no value
  std::vector<SegmentRange> numbers;    // bytes of the parameter buffer that belong to no address
  bool uses_textures = false;           // or surfaces: itself, or a function that is linked to it
  bool may_use_textures = false;        // the same, or nothing tells that it does not
  bool uses_device_heap = false;        // allocates or frees memory itself
  bool has_same_names = false;          // variables of its image have one name
  bool launches_kernels = false;        // itself, from the device
  std::optional<NotRecorded> left_out;  // why the options leave out all its launches; nothing: they do not
  std::shared_ptr<KernelCounts> counts;
  // While somebody has it: launches that wait to be stored share it. Used by the capturing thread only.
  mutable std::weak_ptr<const RecordedCode> code;

  // Variables of managed memory (__managed__), that is.
  bool reads_managed_variables() const;
  // Whether the eight bytes from `offset` of the parameter buffer on may be an address: the code does not say that any of them is
  // of a number, by itself or in a struct. Of a kernel without IR all may.
  bool may_be_address(uint64_t offset) const;
  // The name as people read it: demangled where that is known.
  const std::string& display_name() const { return record.demangled.empty() ? registered->name : record.demangled; }
};

// Describes a kernel by its segments; one of a loaded image that has none is described by its code, and `vendor` is asked how its
// parameters lie. Never fails: what is wrong is in the status of the result.
class Vendor;
RecordableKernel describe_kernel(const void* function, std::shared_ptr<const RegisteredKernel> registered, Vendor& vendor);

// The code of the kernel. It is read from the image unless somebody still has what was read before.
Result<std::shared_ptr<const RecordedCode>> code_of(const RecordableKernel& kernel);

// The packed parameter buffer of a launch, with zeros in the padding. `arguments` has one pointer for each parameter.
ByteVector pack_arguments(const RecordableKernel& kernel, void* const* arguments);

}  // namespace mneme
