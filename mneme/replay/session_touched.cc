#include <algorithm>

#include "mneme/replay/access_notes.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

bool all_zero(ByteSpan bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

// Marks the pages of a region of which `notes` has a byte that is not 0, from the region's first byte on.
Status mark_noted(Stream& stream, DevicePtr notes, MemoryRange region, std::vector<bool>& pages) {
  constexpr uint64_t kPagesAtOnce = 256;
  ByteVector piece;
  for (uint64_t first = 0; first < pages.size(); first += kPagesAtOnce) {
    const uint64_t last = std::min<uint64_t>(first + kPagesAtOnce, pages.size()) - 1;
    const DevicePtr begin = page_extent(region, first).address;
    piece.resize((page_extent(region, last).end() - begin).count);
    MNEME_TRY(stream.copy_to_host(piece, notes + (begin - region.address)));
    for (uint64_t i = first; i <= last; ++i) {
      const MemoryRange page = page_extent(region, i);
      if (!all_zero(ByteSpan(piece).subspan((page.address - begin).count, page.size.count))) pages[i] = true;
    }
  }
  return {};
}

// Whether notes are taken of a region's bytes.
bool is_noted(const PlannedRegion& region) {
  return region.placement == Placement::recorded_address && region.prologue.kind != Region::Kind::array;
}

bool overlap(MemoryRange a, MemoryRange b) { return a.address < b.end() && b.address < a.end(); }

// The pages of a region that are touched whatever the notes say: all, where none are taken, and else those that the recorded
// kernel has changed or textures read.
std::vector<bool> pages_to_keep(const PlannedRegion& region, const TextureSet& textures) {
  const bool noted = is_noted(region);
  std::vector<bool> pages(region.prologue.pages.size(), !noted);
  for (size_t i = 0; noted && i < pages.size(); ++i) {
    const MemoryRange page = page_extent(region.prologue.range(), i);
    pages[i] = region.prologue.pages[i] != region.epilogue.pages[i] ||
               std::ranges::any_of(textures.objects, [&](const TextureObject& object) { return overlap(object.memory, page); });
  }
  return pages;
}

}  // namespace

Result<Session::TouchedPages> Session::find_touched_pages() {
  if (!has_ir()) return no_ir(kernel_, "and which memory it touches is not known");
  MNEME_ASSIGN(DeviceLock exclusive, DeviceLock::acquire(device_.properties()));
  MNEME_ASSIGN(const Loaded recorded, recorded_launch());
  MNEME_ASSIGN(const RecordedRun plain, run_recorded(recorded, nullptr));
  if (!plain.right) return error(Code::unsupported, "the recorded code and launch do not give the recorded memory here");
  TouchedPages touched;
  for (const PlannedRegion& region : plan_.regions) touched.push_back(pages_to_keep(region, plan_.textures));
  if (plan_.copy_size == Bytes()) return touched;

  MNEME_ASSIGN(const AccessNotes notes, note_accesses(plain.time));
  for (size_t i = 0; i < plan_.regions.size(); ++i) {
    const PlannedRegion& region = plan_.regions[i];
    if (!is_noted(region)) continue;
    for (const DevicePtr plane : {notes.written(), notes.read()})
      MNEME_TRY(mark_noted(*stream_, plane + Bytes(region.offset), region.prologue.range(), touched[i]));
  }
  return touched;
}

}  // namespace mneme
