// RunMemory: what a run has left in memory, beside what was recorded after the launch. A view of a session, valid until it runs
// or restores again.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/expected_memory.h"
#include "mneme/memory/mapped_copy.h"
#include "mneme/memory/memory_plan.h"

namespace mneme {

// A global at a module symbol, on the host.
struct SymbolContent {
  DevicePtr address;
  ByteVector actual;
  ByteSpan recorded;
  ByteVector started;  // as MemoryPiece's
};

struct MemoryPiece {
  uint64_t offset = 0;  // in the region
  ByteSpan actual, recorded;
  // What the run started from, as far as it was masked: where it is the complement of what was recorded a byte was masked.
  // Empty when nothing was.
  ByteSpan started;
};

// Regions are named by their index in the plan, places by the offset in the region.
class RunMemory {
 public:
  // Of `symbols` one that the code no longer has is left out.
  // `masked`: what the run started from, where that was masked; null where it was not.
  RunMemory(Stream& stream, const MemoryPlan& plan, ExpectedMemory& recorded, std::map<std::string, SymbolContent> symbols,
            const MappedCopy* masked = nullptr)
      : stream_(stream), plan_(plan), recorded_(recorded), symbols_(std::move(symbols)), masked_(masked) {}

  const MemoryPlan& plan() const { return plan_; }
  // Whether there is anything to compare: no, for a global that the code has no more.
  bool has(size_t region) const;
  DevicePtr address(size_t region) const;

  Result<Comparison> compare_bytes(size_t region, uint64_t offset, Bytes size) const;
  Result<ElementDifferences> compare_elements(size_t region, uint64_t offset, Bytes size, const ElementComparison& how) const;
  // [begin, end) of a span, slack included.
  Result<Comparison> compare_span(const MappedSpan& span, uint64_t begin, uint64_t end) const;
  // Equal for equal bytes, within one session.
  Result<Digest> digest(size_t region, uint64_t offset, Bytes size) const;
  // Brings both to the host, in pieces whose sizes are multiples of 16 bytes but for the last.
  Status read(size_t region, uint64_t offset, Bytes size, const std::function<Status(const MemoryPiece&)>& see) const;

 private:
  const SymbolContent* symbol(size_t region) const;
  Result<Comparison> compare_mapped(DevicePtr address, Bytes size) const;
  Result<ByteVector> started_from(DevicePtr address, ByteSpan recorded) const;

  Stream& stream_;
  const MemoryPlan& plan_;
  ExpectedMemory& recorded_;
  std::map<std::string, SymbolContent> symbols_;  // by name
  const MappedCopy* masked_;
};

}  // namespace mneme
