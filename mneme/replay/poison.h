// Poison: wrong bytes put where a kernel writes and does not read, so that a kernel which leaves them out is found out.
//
// Where a launch was recorded when its output already held the right values, code that does nothing passes. So bytes that the
// recorded code writes before it could have read them are made different from what is expected (their complement) before the
// run that is verified. A Poison is a set of bytes of the recorded memory, kept on the device as one bit a byte; runs start from
// a copy of the memory in which they are wrong (PreparedMemory::keep_poisoned).
#pragma once

#include <memory>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/access_tracking.h"
#include "mneme/compile/compiler.h"
#include "mneme/device/device.h"
#include "mneme/replay/expected_memory.h"
#include "mneme/replay/memory_plan.h"

namespace mneme {

// Where code that tracks its accesses notes them, on the device: two bytes for each byte of recorded memory, or 24 where who came
// is noted.
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
  DevicePtr written() const { return memory_; }
  DevicePtr read() const { return memory_ + plane_; }

 private:
  AccessNotes(Device& device, DevicePtr memory, Bytes plane) : device_(&device), memory_(memory), plane_(plane) {}

  Device* device_;
  DevicePtr memory_;
  Bytes plane_;
};

class Poison {
 public:
  // The bytes that are noted as written and not as read. `plan`, `device`, `stream` and `expected` must outlive the Poison.
  // Failures are the compiler's and the device's; exhausted.
  static Result<std::unique_ptr<Poison>> create(Device& device, Stream& stream, Compiler& compiler, const MemoryPlan& plan,
                                                ExpectedMemory& expected, const AccessNotes& notes);
  ~Poison();
  Poison(const Poison&) = delete;
  Poison& operator=(const Poison&) = delete;

  // Makes the bytes of the set the complements of what is expected. Ordered in the stream; may return before it is done.
  Status apply();
  // Takes bytes that are now not as expected out of the set.
  Status drop_wrong();
  uint64_t size() const { return size_; }  // in bytes
  // The blocks that have one.
  const std::vector<MappedRun>& runs() const { return runs_; }

 private:
  Poison(Device& device, Stream& stream, const MemoryPlan& plan, ExpectedMemory& expected)
      : device_(device), stream_(stream), plan_(plan), expected_(expected) {}
  Status load_kernels(Compiler& compiler);
  // name(bits, a, b, bytes of memory that the bits are of)
  Status launch(const char* name, DevicePtr bits, DevicePtr a, DevicePtr b, Bytes size);
  // The same for every block of which a byte is in the set: what is there, and what is expected.
  Status launch_where_used(const char* name);
  Status count();
  DevicePtr bits_of(const MappedSpan& span, DevicePtr address) const;

  Device& device_;
  Stream& stream_;
  const MemoryPlan& plan_;
  ExpectedMemory& expected_;
  DeviceBuffer bits_;  // bit i of byte k stands for byte 8 * k + i of the spans, one behind the other
  std::unique_ptr<Module> module_;
  std::vector<MappedRun> runs_;
  uint64_t size_ = 0;
};

}  // namespace mneme
