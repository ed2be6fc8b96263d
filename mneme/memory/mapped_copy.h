// MappedCopy: keeps the content of some runs of the recorded memory elsewhere on the device, and puts it back whenever it is
// wanted.
//
// A run is a range of whole blocks. A block here is a piece of memory (no block of threads): a span is divided into pieces of
// kBlock from its beginning on, of which the last may be shorter.
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

// The blocks that any of the pieces touches, as runs in the order of addresses. Each piece lies in one of the plan's spans;
// their order does not matter.
std::vector<MemoryRange> whole_blocks(const MemoryPlan& plan, std::vector<MemoryRange> pieces);
// The blocks of the pages that the recorded kernel changed, as runs in the order of addresses.
std::vector<MemoryRange> changed_blocks(const MemoryPlan& plan);
// Every span as one run, in the order of addresses.
std::vector<MemoryRange> all_spans(const MemoryPlan& plan);
Bytes total_size(const std::vector<MemoryRange>& runs);
// How many blocks a span has, a short last one included.
uint64_t block_count(const MappedSpan& span);

// The device and the memory at `place` must outlive it.
class MappedCopy {
 public:
  // A copy of `runs`, which are in the order of addresses. It lies at `place`, one run behind the other; that memory is the
  // caller's and has total_size(runs). It holds nothing before take(), unless another copy has filled that memory.
  static Result<MappedCopy> create(Device& device, Stream& stream, const std::vector<MemoryRange>& runs, DevicePtr place);
  // A copy of some of this copy's runs, or of parts of them, in the same memory: it holds what this one holds. internal: this
  // copy lacks one of `runs`.
  Result<MappedCopy> part(Device& device, Stream& stream, const std::vector<MemoryRange>& runs) const;

  // take() copies the recorded memory into the copy, put_back() copies it back. Both are ordered in the stream and may return
  // before the copying is done.
  Status take(Stream& stream) const { return copy(stream, Way::out); }
  Status put_back(Stream& stream) const { return copy(stream, Way::back); }

  // One run, and where the copy has it.
  struct Piece {
    DevicePtr address, copy;
    Bytes size;
    MemoryRange range() const { return {address, size}; }
  };
  // In the order of addresses.
  const std::vector<Piece>& pieces() const { return pieces_; }
  // The piece that holds `address`. Where none does: the next piece behind it, or pieces().end().
  std::vector<Piece>::const_iterator find(DevicePtr address) const;

 private:
  enum class Way { out, back };
  static Result<MappedCopy> of(Device& device, Stream& stream, std::vector<Piece> pieces);
  Status copy(Stream& stream, Way way) const;

  std::vector<Piece> pieces_;  // by address
  // Two lists for Stream::copy_listed(), one for each direction. Empty where there are few pieces, which are copied singly.
  DeviceBuffer lists_;
  uint64_t listed_ = 0;  // entries of each of the two
};

}  // namespace mneme
