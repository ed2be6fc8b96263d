// RunMemory: the memory that a run has left, next to what was recorded after the launch: to be compared and read. It is a view
// of the prepared memory (PreparedMemory::observe()), valid until that is restored or a kernel runs on it again.
//
// Used by one thread at a time. Failures are the device's and the database's.
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

// The content of a global at a module symbol, on the host.
struct SymbolContent {
  DevicePtr address;
  ByteVector actual;
  ByteSpan recorded;
  ByteVector started;  // as MemoryPiece::started
};

// A part of a region, on the host; all spans have its size but for an empty `started`.
struct MemoryPiece {
  uint64_t offset = 0;  // in the region
  ByteSpan actual, recorded;
  // What the memory held when the run started. A byte that is the complement of the recorded one was masked (output_mask.h), or
  // held that value anyway. Empty where the run did not start masked.
  ByteSpan started;
};

// A region is given by its index in the plan, a place in it by its offset in bytes.
class RunMemory {
 public:
  // `symbols` has the globals at module symbols, but for those that the code no longer has. `masked` is the masked memory that
  // the run started from; null where it did not start masked. Both `recorded` and `masked` must outlive this object.
  RunMemory(Stream& stream, const MemoryPlan& plan, ExpectedMemory& recorded, std::map<std::string, SymbolContent> symbols,
            const MappedCopy* masked = nullptr)
      : stream_(stream), plan_(plan), recorded_(recorded), symbols_(std::move(symbols)), masked_(masked) {}

  const MemoryPlan& plan() const { return plan_; }
  // False for a global that the code no longer has. Of such a region the methods below find no difference, and read nothing.
  bool has(size_t region) const;
  // Where the region lies in this run.
  DevicePtr address(size_t region) const;

  // Compares what is there with what was recorded.
  Result<Comparison> compare_bytes(size_t region, uint64_t offset, Bytes size) const;
  Result<ElementDifferences> compare_elements(size_t region, uint64_t offset, Bytes size, const ElementComparison& how) const;
  // Compares the bytes [begin, end) of a span, slack included; both are offsets in the span.
  Result<Comparison> compare_span(const MappedSpan& span, uint64_t begin, uint64_t end) const;
  // A digest of what is there. Equal bytes have equal digests, if both were made on one kind of device, from the same kind of
  // region.
  Result<Digest> digest(size_t region, uint64_t offset, Bytes size) const;
  // Copies what is there and what was recorded to the host, and calls `see` for each piece in order. Piece sizes are multiples
  // of 16 bytes, but for the last. What `see` gets is valid until it returns; a failure of it ends the reading and is returned.
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
