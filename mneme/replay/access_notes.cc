#include "mneme/replay/access_notes.h"

#include <utility>

namespace mneme {

Bytes AccessNotes::size(const MemoryPlan& plan, NoteOf note) {
  return Bytes(plan.copy_size.count * (note == NoteOf::access ? 2 : 3 * kNoteWords * sizeof(uint32_t)));
}

Result<AccessNotes> AccessNotes::create(Device& device, Stream& stream, const MemoryPlan& plan, NoteOf note) {
  const Bytes all = size(plan, note);
  MNEME_ASSIGN(DevicePtr memory, device.allocate(all));
  AccessNotes notes(device, memory, plan.copy_size);
  MNEME_TRY(stream.fill(memory, std::byte{0}, all));
  return notes;
}

AccessNotes::AccessNotes(AccessNotes&& other) noexcept
    : device_(other.device_), memory_(std::exchange(other.memory_, {})), plane_(other.plane_) {}

AccessNotes::~AccessNotes() {
  if (memory_ != DevicePtr()) [[maybe_unused]]
    Status ignored = device_->free(memory_);
}

AccessTracking AccessNotes::tracking(const MemoryPlan& plan, NoteOf note) {
  AccessTracking tracking{{}, plan.copy_size, note};
  for (const PlannedRegion& region : plan.regions)
    if (region.placement == Placement::recorded_address)
      tracking.ranges.push_back({region.prologue.address, region.prologue.size, Bytes(region.offset)});
  return tracking;
}

Status AccessNotes::attach(Module& tracked, Stream& stream) const {
  MNEME_ASSIGN(const MemoryRange variable, tracked.global(kAccessNotesVariable));
  const uint64_t address = memory_.address;
  MNEME_TRY(stream.copy_to_device(variable.address, std::as_bytes(std::span(&address, 1))));
  return stream.synchronize();
}

}  // namespace mneme
