#include "mneme/reproducer/source_memory.h"

#include <algorithm>
#include <map>

#include "mneme/device/reservation_granularity.h"
#include "mneme/snapshot/trimming.h"
#include "mneme/verify/buffers.h"

namespace mneme {
namespace {

class Writer {
 public:
  Writer(const Database& database, const MaskedPages& masked, const MemoryPlan& plan, OutputFolder& folder)
      : database_(database), masked_(masked), plan_(plan), folder_(folder) {}

  Result<SourceMemory> run() {
    memory_.regions.resize(plan_.regions.size());
    place_spans();
    for (size_t i = 0; i < plan_.regions.size(); ++i) MNEME_TRY(write_region(i));
    return std::move(memory_);
  }

 private:
  void place_spans() {
    for (const MappedSpan& span : plan_.spans) {
      SourceMemory::Span& made = memory_.spans.emplace_back();
      made.range = span.range();
      made.on_host = plan_.regions[span.regions.front()].prologue.kind == Region::Kind::host;
      for (size_t i : span.regions) {
        made.changed |= !plan_.regions[i].changed.empty();
        memory_.regions[i].span = memory_.spans.size() - 1;
        memory_.regions[i].offset = (plan_.regions[i].prologue.address - span.address).count;
      }
      if (!made.on_host) reserve(made.range);
    }
    for (size_t i = 0; i < plan_.regions.size(); ++i) {
      const PlannedRegion& region = plan_.regions[i];
      if (region.placement != Placement::module_symbol) continue;
      memory_.spans.push_back({region.prologue.range(), region.prologue.name, false, !region.changed.empty()});
      memory_.regions[i].span = memory_.spans.size() - 1;
    }
  }

  // A device takes an address for whole blocks alone. Neighbouring ones are one reservation.
  void reserve(const MemoryRange& range) {
    const uint64_t unit = kLargestReservationGranularity.count;
    const DevicePtr begin(range.address.address / unit * unit), end((range.end().address + unit - 1) / unit * unit);
    std::vector<MemoryRange>& all = memory_.reservations;
    if (!all.empty() && begin <= all.back().end())
      all.back().size = std::max(all.back().end(), end) - all.back().address;
    else
      all.push_back({begin, end - begin});
  }

  Status write_region(size_t index) {
    const Region &before = plan_.regions[index].prologue, &after = plan_.regions[index].epilogue;
    SourceMemory::Region& made = memory_.regions[index];
    made.what = fmt::format("{}, {}", describe(before), before.size);
    std::vector<size_t> kept;
    for (size_t i = 0; i < before.pages.size(); ++i) {
      const MemoryRange page = page_extent(before.range(), i);
      if (before.pages[i] == dropped_.digest(page.size) && after.pages[i] == before.pages[i]) continue;
      kept.push_back(i);
      const uint64_t offset = (page.address - before.address).count;
      std::vector<SourceMemory::Pages>& runs = memory_.pages;
      if (!runs.empty() && runs.back().region == index && runs.back().offset + runs.back().size.count == offset)
        runs.back().size += page.size;
      else
        runs.push_back({index, offset, page.size});
    }
    made.same = std::ranges::all_of(kept, [&](size_t i) { return before.pages[i] == after.pages[i]; });
    MNEME_ASSIGN(made.before, write_state(before, kept, "before"));
    if (made.same) return {};
    MNEME_ASSIGN(made.after, write_state(after, kept, "after"));
    return {};
  }

  // Returns the name of the file; empty: all is zero, and there is none.
  Result<std::string> write_state(const Region& region, const std::vector<size_t>& kept, const char* when) {
    const auto size_of_page = [&](size_t i) { return page_extent(region.range(), i).size; };
    if (std::ranges::all_of(kept, [&](size_t i) { return region.pages[i] == zeros(size_of_page(i)); })) return std::string();
    const std::string name = fmt::format("memory/{}.{}", region.address, when);
    MNEME_ASSIGN(const auto file, folder_.open(name));
    constexpr size_t kPagesAtOnce = 256;
    for (size_t first = 0; first < kept.size(); first += kPagesAtOnce) {
      const size_t last = std::min(kept.size(), first + kPagesAtOnce);
      std::vector<ByteVector> contents;
      for (size_t i = first; i < last; ++i) contents.emplace_back(size_of_page(kept[i]).count);
      std::vector<PageRequest> requests;
      for (size_t i = first; i < last; ++i) requests.push_back({region.pages[kept[i]], contents[i - first]});
      MNEME_TRY(read_pages(database_, masked_, requests));
      for (const ByteVector& content : contents) MNEME_TRY(file->append(content));
    }
    MNEME_TRY(file->sync());
    MNEME_TRY(file->close());
    return name;
  }

  const Digest& zeros(Bytes size) {
    const auto [found, is_new] = zeros_.try_emplace(size.count);
    if (is_new) found->second = digest_of(ByteVector(size.count));
    return found->second;
  }

  const Database& database_;
  const MaskedPages& masked_;
  const MemoryPlan& plan_;
  OutputFolder& folder_;
  SourceMemory memory_;
  DroppedPages dropped_;
  std::map<uint64_t, Digest> zeros_;
};

}  // namespace

Result<SourceMemory> write_source_memory(const Database& database, const MaskedPages& masked, const MemoryPlan& plan,
                                         OutputFolder& folder) {
  return Writer(database, masked, plan, folder).run();
}

}  // namespace mneme
