// PageablePages: which captured memory holds addresses of pageable memory (pageable_memory.h).
//
// Memory is read for it once, and what has changed since: of pages that are as a capture has found them before, what was found
// then holds. So it costs a capture little beside copying these pages. Memory that the program maps where an address has pointed
// before is not found. Used by the capturing thread only.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/record/captured_memory.h"

namespace mneme {

class Vendor;

class PageablePages {
 public:
  // Notes which pages a capture has found to be others than the one before. To be called for each in their order, unless the next
  // one finds all pages changed.
  void add(const CapturedMemory& captured);
  // Whether the contents of this memory, as add() was given it last, hold an address in one of these ranges, which have the order
  // of their addresses. Of a piece that held one all pages are read again when some have changed. Device memory is read on the
  // device, which must be idle.
  Result<bool> find_in(const CapturedMemory& captured, std::span<const MemoryRange> pageable, Stream& stream, Vendor& vendor);

 private:
  struct Piece {
    Bytes size;
    std::vector<uint64_t> changed;  // pages, by their index, that are to be read
    bool leads_there = false;       // as far as they were
  };
  // Memory that is to be read.
  struct Unread {
    Piece* piece;
    bool on_host;
    std::vector<MemoryRange> ranges;
  };
  std::unordered_map<uint64_t, Piece> pieces_;  // by address
};

}  // namespace mneme
