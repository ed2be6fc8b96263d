#include <algorithm>

#include "mneme/base/activity.h"
#include "mneme/replay/access_notes.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

constexpr std::chrono::seconds kLongestLaunch(1);
constexpr double kLongestFactor = 1000;  // no code that notes its accesses takes so much longer

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

// Every page of what no notes are taken of, and of the others those that the recorded kernel has changed.
std::vector<bool> pages_to_keep(const PlannedRegion& region) {
  std::vector<bool> pages(region.prologue.pages.size(), region.placement != Placement::recorded_address);
  for (size_t i = 0; i < pages.size(); ++i)
    if (region.prologue.pages[i] != region.epilogue.pages[i]) pages[i] = true;
  return pages;
}

}  // namespace

Result<Session::TouchedPages> Session::find_touched_pages() {
  if (recorded_code() == nullptr) return no_ir(kernel_, "and which memory it reads is not known");
  if (!plan_.textures.empty() || !plan_.textures.arrays.empty())
    return error(Code::unsupported, "the launch has textures, whose reads are not noted");
  MNEME_ASSIGN(DeviceLock exclusive, DeviceLock::acquire(device_.properties()));
  MNEME_ASSIGN(const Loaded recorded, recorded_launch());
  MNEME_ASSIGN(const RecordedRun plain, run_recorded(recorded, nullptr));
  if (!plain.right) return error(Code::unsupported, "the recorded code and launch do not give the recorded memory here");
  if (plain.time > kLongestLaunch)
    return error(Code::unsupported,
                 "the recorded launch takes more than {} s, and takes many times that when it notes its accesses",
                 kLongestLaunch.count());
  TouchedPages touched;
  for (const PlannedRegion& region : plan_.regions) touched.push_back(pages_to_keep(region));
  if (plan_.copy_size == Bytes()) return touched;

  auto notes = AccessNotes::create(device_, *stream_, plan_);
  if (!notes.ok()) return notes.status().with_context("notes of the kernel's accesses take twice the recorded memory");
  MNEME_ASSIGN(const CompiledCode code, compile(tracked_options()));
  MNEME_ASSIGN(const Loaded tracked, load_code(code));
  MNEME_TRY(notes->attach(*tracked.module, *stream_));
  MNEME_ASSIGN([[maybe_unused]] const RestoredRun run, memory_->restore(tracked.symbols));
  {
    ActivityScope tracking(Activity::tracking, kLongestFactor * plain.time);
    MNEME_TRY(stream_->launch(*tracked.kernel, recorded_shape(instance_), memory_->parameters()));
    MNEME_TRY(stream_->synchronize());
  }
  for (size_t i = 0; i < plan_.regions.size(); ++i) {
    const PlannedRegion& region = plan_.regions[i];
    if (region.placement != Placement::recorded_address) continue;
    for (const DevicePtr plane : {notes->written(), notes->read()})
      MNEME_TRY(mark_noted(*stream_, plane + Bytes(region.offset), region.prologue.range(), touched[i]));
  }
  return touched;
}

}  // namespace mneme
