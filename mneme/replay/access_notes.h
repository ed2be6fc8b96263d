// AccessNotes: device memory in which a kernel notes the recorded memory that it accesses. The kernel must be compiled to do so
// (compile/access_tracking.h).
#pragma once

#include <chrono>

#include "mneme/base/status.h"
#include "mneme/compile/access_tracking.h"
#include "mneme/device/device.h"
#include "mneme/memory/memory_plan.h"

namespace mneme {

// A launch takes many times as long when it notes its accesses, though no code takes more than kLongestNotedFactor times. One
// that takes longer than kLongestNotedLaunch without notes is not launched with them.
inline constexpr double kLongestNotedFactor = 1000;
inline constexpr std::chrono::seconds kLongestNotedLaunch(1);

// The notes take two bytes for each byte of the plan's copy of memory; 24 where they say which block or thread accessed it.
// Owns the memory. The device must outlive it.
class AccessNotes {
 public:
  // Allocates the notes and clears them, ordered in the stream. exhausted: the device lacks the memory.
  static Result<AccessNotes> create(Device& device, Stream& stream, const MemoryPlan& plan, NoteOf note = NoteOf::access);
  // How much device memory create() would allocate.
  static Bytes size(const MemoryPlan& plan, NoteOf note);
  AccessNotes(AccessNotes&& other) noexcept;
  AccessNotes& operator=(AccessNotes&&) = delete;
  ~AccessNotes();

  // What to tell the compiler (CompileOptions::tracking): to note accesses to every region that lies at its recorded address. It
  // is the same in every process, and so is the code that is compiled with it.
  static AccessTracking tracking(const MemoryPlan& plan, NoteOf note = NoteOf::access);
  // Tells `tracked`, a loaded module that was compiled with tracking(), to make its notes here. Returns when that is done.
  Status attach(Module& tracked, Stream& stream) const;
  DevicePtr memory() const { return memory_; }
  // Only with NoteOf::access: one byte for each byte of the plan's copy of memory, in its order. It is not 0 where the code wrote
  // the byte; where it read it.
  DevicePtr written() const { return memory_; }
  DevicePtr read() const { return memory_ + plane_; }

 private:
  AccessNotes(Device& device, DevicePtr memory, Bytes plane) : device_(&device), memory_(memory), plane_(plane) {}

  Device* device_;
  DevicePtr memory_;
  Bytes plane_;
};

}  // namespace mneme
