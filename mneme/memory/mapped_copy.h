// MappedCopy: the content of some runs of the recorded memory, kept elsewhere on the device and put back whenever it is wanted.
//
// Runs are of whole blocks: pieces of kBlock counted from the begin of their span, the last of which may be short.
#pragma once

#include <optional>
#include <vector>

#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/device_buffer.h"
#include "mneme/memory/memory_plan.h"

namespace mneme {

inline constexpr Bytes kBlock = kPageSize;

// The blocks that any of the pieces touches, as runs by address; pieces lie in the plan's spans, in any order.
std::vector<MemoryRange> whole_blocks(const MemoryPlan& plan, std::vector<MemoryRange> pieces);
// Those that the recorded kernel changed.
std::vector<MemoryRange> changed_blocks(const MemoryPlan& plan);
std::vector<MemoryRange> all_spans(const MemoryPlan& plan);
Bytes total_size(const std::vector<MemoryRange>& runs);
// How many blocks a span has.
uint64_t block_count(const MappedSpan& span);

class MappedCopy {
 public:
  // Of runs by address, one behind the other from `place` on, which is the caller's and outlives this. Holds nothing yet.
  static Result<MappedCopy> create(Device& device, Stream& stream, const std::vector<MemoryRange>& runs, DevicePtr place);
  // The same for some of this copy's runs, or parts of them; holds what this one holds.
  Result<MappedCopy> part(Device& device, Stream& stream, const std::vector<MemoryRange>& runs) const;

  // Memory → copy, and back. Ordered in the stream; both may return before it is done.
  Status take(Stream& stream) const { return copy(stream, Way::out); }
  Status put_back(Stream& stream) const { return copy(stream, Way::back); }

  struct Piece {
    DevicePtr address, copy;
    Bytes size;
    MemoryRange range() const { return {address, size}; }
  };
  const std::vector<Piece>& pieces() const { return pieces_; }
  // The piece that holds an address; the next one after it where none does, or the end.
  std::vector<Piece>::const_iterator find(DevicePtr address) const;

 private:
  enum class Way { out, back };
  static Result<MappedCopy> of(Device& device, Stream& stream, std::vector<Piece> pieces);
  Status copy(Stream& stream, Way way) const;

  std::vector<Piece> pieces_;  // by address
  // Where there are many: lists for Stream::copy_listed().
  DeviceBuffer lists_;
  uint64_t listed_ = 0;  // entries of each of the two
};

}  // namespace mneme
