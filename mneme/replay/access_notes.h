// AccessNotes: where code that tracks its accesses notes them, on the device.
#pragma once

#include "mneme/base/status.h"
#include "mneme/compile/access_tracking.h"
#include "mneme/device/device.h"
#include "mneme/memory/memory_plan.h"

namespace mneme {

// Two bytes for each byte of recorded memory, or 24 where it is noted who accessed it.
class AccessNotes {
 public:
  // Cleared. exhausted: the device lacks the memory.
  static Result<AccessNotes> create(Device& device, Stream& stream, const MemoryPlan& plan, NoteOf note = NoteOf::access);
  static Bytes size(const MemoryPlan& plan, NoteOf note);
  AccessNotes(AccessNotes&& other) noexcept;
  AccessNotes& operator=(AccessNotes&&) = delete;
  ~AccessNotes();

  // What the compiler is to be told: every region that lies at its recorded address. The same in every process.
  static AccessTracking tracking(const MemoryPlan& plan, NoteOf note = NoteOf::access);
  // Has code that was compiled so and is loaded make its notes here.
  Status attach(Module& tracked, Stream& stream) const;
  DevicePtr memory() const { return memory_; }
  // Of NoteOf::access: a byte for each byte of the plan's copy of memory, not 0 where the code wrote it, or read it.
  DevicePtr written() const { return memory_; }
  DevicePtr read() const { return memory_ + plane_; }

 private:
  AccessNotes(Device& device, DevicePtr memory, Bytes plane) : device_(&device), memory_(memory), plane_(plane) {}

  Device* device_;
  DevicePtr memory_;
  Bytes plane_;
};

}  // namespace mneme
