#include "mneme/verify/verification.h"

#include <algorithm>

namespace mneme {
namespace {

class Verifier {
 public:
  Verifier(const RunMemory& memory, const std::vector<ToleratedRange>& tolerances, Known known)
      : memory_(memory), tolerances_(tolerances), known_(known) {}

  Result<Verification> run() {
    for (const MappedSpan& span : plan().spans) MNEME_TRY(see_span(span));
    for (size_t i = 0; i < plan().regions.size(); ++i)
      if (plan().regions[i].placement == Placement::module_symbol && memory_.has(i)) MNEME_TRY(see_region(i));
    return std::move(result_);
  }

 private:
  const MemoryPlan& plan() const { return memory_.plan(); }

  // All of it at once, and by regions only where something differs.
  Status see_span(const MappedSpan& span) {
    Comparison comparison;
    if (known_ == Known::nothing) {
      MNEME_ASSIGN(comparison, memory_.compare_span(span, 0, span.size.count));
    }
    const bool differs = comparison.differing_bytes != 0;
    uint64_t at = 0;
    for (size_t i : span.regions) {
      const Region& region = plan().regions[i].prologue;
      const uint64_t offset = (region.address - span.address).count;
      if (differs) MNEME_TRY(see_slack(span, at, offset));
      at = offset + region.size.count;
      if (differs || allows_no_nan(i))
        MNEME_TRY(see_region(i));
      else
        accept(i);
    }
    return differs ? see_slack(span, at, span.size.count) : Status();
  }

  Status see_slack(const MappedSpan& span, uint64_t begin, uint64_t end) {
    if (begin == end) return {};
    MNEME_ASSIGN(Comparison comparison, memory_.compare_span(span, begin, end));
    if (comparison.differing_bytes == 0) return {};
    result_.exact = false;
    const uint64_t first = comparison.first_difference.value_or(0);
    const DevicePtr written = span.address + Bytes(begin + first);
    std::string where = "outside of every allocation";
    for (size_t i : span.regions) {
      const Region& region = plan().regions[i].prologue;
      const DevicePtr region_end = region.range().end();
      if (region_end <= written) where = fmt::format("{} B behind the end of {}", (written - region_end).count, describe(region));
    }
    result_.mismatches.push_back(
        {where, span.address + Bytes(begin), Bytes(end - begin), comparison.differing_bytes, first, std::nullopt, true});
    return {};
  }

  std::vector<const ToleratedRange*> ranges_of(size_t region) const {
    std::vector<const ToleratedRange*> ranges;
    for (const ToleratedRange& range : tolerances_)
      if (range.region == region) ranges.push_back(&range);
    return ranges;
  }

  bool allows_no_nan(size_t region) const {
    auto ranges = ranges_of(region);
    return std::any_of(ranges.begin(), ranges.end(), [](auto range) { return range->tolerance.nan == NanPolicy::none; });
  }

  // Every range of a region whose bytes are equal.
  void accept(size_t region) {
    for (const ToleratedRange* range : ranges_of(region)) {
      ElementDifferences none;
      none.elements = range->size.count / size_of(range->tolerance.type).count;
      result_.tolerances.push_back(
          {range->name, memory_.address(region) + Bytes(range->offset), range->size, range->tolerance, none});
    }
  }

  Status see_region(size_t index) {
    uint64_t at = 0;
    for (const ToleratedRange* range : ranges_of(index)) {
      MNEME_TRY(see_exact(index, at, range->offset));
      MNEME_TRY(see_tolerated(*range));
      at = range->offset + range->size.count;
    }
    return see_exact(index, at, plan().regions[index].prologue.size.count);
  }

  // The mismatch is of the region, also where only a part of it is compared by bytes.
  Status see_exact(size_t index, uint64_t begin, uint64_t end) {
    if (begin == end) return {};
    MNEME_ASSIGN(Comparison comparison, memory_.compare_bytes(index, begin, Bytes(end - begin)));
    if (comparison.differing_bytes == 0) return {};
    result_.exact = false;
    const Region& region = plan().regions[index].prologue;
    result_.mismatches.push_back({describe(region), memory_.address(index), region.size, comparison.differing_bytes,
                                  begin + comparison.first_difference.value_or(0), std::nullopt});
    return {};
  }

  Status see_tolerated(const ToleratedRange& range) {
    const Tolerance& t = range.tolerance;
    MNEME_ASSIGN(Comparison comparison, memory_.compare_bytes(range.region, range.offset, range.size));
    MNEME_ASSIGN(ElementDifferences differences,
                 memory_.compare_elements(range.region, range.offset, range.size, {t.type, t.threshold, t.error, t.norm, t.nan}));
    if (comparison.differing_bytes != 0) result_.exact = false;
    ToleranceVerdict verdict{range.name, memory_.address(range.region) + Bytes(range.offset), range.size, t, differences};
    if (!differences.within)
      result_.mismatches.push_back({range.name, verdict.address, range.size, comparison.differing_bytes,
                                    comparison.first_difference.value_or(0), verdict});
    result_.tolerances.push_back(std::move(verdict));
    return {};
  }

  const RunMemory& memory_;
  const std::vector<ToleratedRange>& tolerances_;
  Known known_;
  Verification result_;
};

}  // namespace

Result<Verification> verify_memory(const RunMemory& memory, const std::vector<ToleratedRange>& tolerances, Known known) {
  return Verifier(memory, tolerances, known).run();
}

Result<Verification> judge(PreparedMemory& memory, const CheckedRun& run, const SymbolPlaces& symbols,
                           const std::vector<ToleratedRange>& tolerated) {
  if (run.equal && tolerated.empty()) return Verification();
  MNEME_ASSIGN(const RunMemory left, memory.observe(symbols));
  return verify_memory(left, tolerated, run.equal ? Known::equal : Known::nothing);
}

}  // namespace mneme
