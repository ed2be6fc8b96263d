#include <algorithm>

#include "mneme/replay/access_notes.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

bool overlap(MemoryRange a, MemoryRange b) { return a.address < b.end() && b.address < a.end(); }

// Code that reads textures leaves no notes of it.
bool read_by_textures(const TextureSet& textures, MemoryRange page) {
  return std::any_of(textures.objects.begin(), textures.objects.end(),
                     [&](const TextureObject& object) { return overlap(object.memory, page); });
}

}  // namespace

Result<bool> Session::is_untouched(const AccessNotes& notes, uint64_t offset, Bytes size, ByteVector& room) {
  for (const DevicePtr plane : {notes.written(), notes.read()}) {
    const MutableByteSpan bytes = MutableByteSpan(room).first(size.count);
    MNEME_TRY(stream_->copy_to_host(bytes, plane + Bytes(offset)));
    MNEME_TRY(stream_->synchronize());
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte note) { return note != std::byte{0}; })) return false;
  }
  return true;
}

Result<std::vector<PagePlace>> Session::find_untouched() {
  if (code_->sources() == nullptr) return no_ir(kernel_, "and which memory it touches is not known");
  std::vector<PagePlace> untouched;
  if (plan_.copy_size == Bytes()) return untouched;
  MNEME_ASSIGN(DeviceLock exclusive, DeviceLock::acquire(device_.properties()));
  MNEME_ASSIGN(const Loaded recorded, recorded_launch());
  MNEME_ASSIGN(const RecordedRun run, run_recorded(recorded, nullptr));
  auto notes = AccessNotes::create(device_, *stream_, plan_);
  if (!notes.ok()) return notes.status().with_context("notes of the kernel's accesses take twice the recorded memory");
  if (Status status = run_noted(*notes, run.time); !status.ok())
    return status.with_context("which memory the launch touches cannot be found out");
  ByteVector room(kPageSize.count);
  for (size_t i = 0; i < plan_.regions.size(); ++i) {
    const PlannedRegion& region = plan_.regions[i];
    if (region.placement != Placement::recorded_address || region.prologue.kind == Region::Kind::array) continue;
    for (uint64_t page = 0; page < region.prologue.pages.size(); ++page) {
      const MemoryRange extent = page_extent(region.prologue.range(), page);
      if (region.prologue.pages[page] != region.epilogue.pages[page] || read_by_textures(plan_.textures, extent)) continue;
      const uint64_t offset = region.offset + (extent.address - region.prologue.address).count;
      MNEME_ASSIGN(const bool is_free, is_untouched(*notes, offset, extent.size, room));
      if (is_free) untouched.push_back({i, page});
    }
  }
  return untouched;
}

}  // namespace mneme
