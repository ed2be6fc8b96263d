// Launches that are given addresses of pageable memory.
#include <algorithm>
#include <cstring>

#include "mneme/record/reachable_memory.h"
#include "mneme/record/recorder_state.h"
#include "mneme/snapshot/pageable_pointers.h"

namespace mneme {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);
// Below this most words are numbers, though programs that are linked to a fixed place have their variables there.
constexpr uint64_t kLeastUntypedPointer = uint64_t{1} << 32;

DevicePtr word_at(ByteSpan parameters, uint64_t offset) {
  DevicePtr word;
  std::memcpy(&word.address, parameters.data() + offset, kWord);
  return word;
}

// An argument that is a pointer and nothing else: by the IR, or by its size and its value where no type is known of it.
bool is_pointer(const Parameter& parameter, ByteSpan parameters) {
  if (parameter.size != kWord || parameter.offset % kWord != 0) return false;
  if (parameter.kind == Parameter::Kind::opaque) return word_at(parameters, parameter.offset).address >= kLeastUntypedPointer;
  return parameter.kind == Parameter::Kind::pointer;
}

// Whether an address stands for a piece of memory, as ReachableMemory says it.
bool stands_for(DevicePtr address, const MemoryRange& memory) {
  const uint64_t at = address.address, begin = memory.address.address, end = memory.end().address;
  return at < begin ? begin - at <= ReachableMemory::kReach.count : at < end + ReachableMemory::kReach.count;
}

}  // namespace

// Memory that the recorder knows is not looked at: the host would take managed pages from the device.
bool Recorder::is_pageable(DevicePtr address, const Opened& opened, Vendor& vendor) {
  if (!pageable_memory_.may_lie_at(address) || !vendor.reaches_pageable_memory()) return false;
  const StateCapture::Memory memory = whole_memory(opened);
  for (const auto* list : memory.lists())
    if (std::ranges::any_of(*list, [&](const MemoryRange& range) { return stands_for(address, range); })) return false;
  return pageable_memory_.may_hold(address) && !vendor.is_memory(address);
}

// Whether one of its arguments is the address of pageable memory: the kernel is then to read or write there.
bool Recorder::is_given_pageable(const RecordableKernel& kernel, ByteSpan parameters, const Opened& opened, Vendor& vendor) {
  return std::ranges::any_of(kernel.record.parameters, [&](const Parameter& parameter) {
    return is_pointer(parameter, parameters) && is_pageable(word_at(parameters, parameter.offset), opened, vendor);
  });
}

// Whether there is such an address elsewhere in its arguments. It may be one for the host alone, a vtable's, or what was left in
// the unused part of a union.
bool Recorder::holds_pageable(const RecordableKernel& kernel, ByteSpan parameters, const Opened& opened, Vendor& vendor) {
  for (const Parameter& parameter : kernel.record.parameters) {
    if (is_pointer(parameter, parameters)) continue;
    const uint64_t first = (parameter.offset + kWord - 1) / kWord * kWord, end = parameter.offset + parameter.size;
    for (uint64_t at = first; at + kWord <= end; at += kWord)
      if (is_pageable(word_at(parameters, at), opened, vendor)) return true;
  }
  return false;
}

// Whether the launch leads to pageable memory otherwise, as the instance then tells.
Status Recorder::note_pageable(Capture& capture) {
  if (!capture.vendor.reaches_pageable_memory()) return {};
  Opened& opened = *capture.opened;
  InstanceRecord& instance = capture.recording.instance;
  PageablePointers pointers;
  opened.pageable.add(capture.before);
  {
    const Gate::Reading reading(gate_);
    if (!reading.ok()) return error(Code::unavailable, "other threads have changed the memory meanwhile");
    const std::vector<MemoryRange> pageable = pageable_memory_.without(capture.memory);
    MNEME_ASSIGN(pointers.in_memory, opened.pageable.find_in(capture.before, pageable, *opened.stream, capture.vendor));
  }
  pointers.in_parameters = holds_pageable(*capture.kernel, instance.parameters, opened, capture.vendor);
  put_pageable_pointers(pointers, instance.attributes);
  return {};
}

}  // namespace mneme
