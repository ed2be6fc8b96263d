// StateCapture: reads the memory that has changed since the last capture, and hands it to a publication.
//
// The device hashes every page. Only pages whose hash differs from that of the last capture are copied and digested. What is
// remembered of a page depends on its content alone, so memory that was freed and allocated again at the same place is captured
// rightly. Used by the capturing thread only.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/publication.h"

namespace mneme {

class Vendor;

struct CapturedGlobal {
  std::string name;  // in the IR
  DevicePtr address;
  Bytes size;
};

class StateCapture {
 public:
  struct Memory {
    std::vector<MemoryRange> allocations;  // this list and the next ones are sorted by address
    std::vector<MemoryRange> mapped, managed;
    std::vector<MemoryRange> arrays;  // their copies
    std::vector<MemoryRange> host;
    std::vector<CapturedGlobal> globals;
    Vendor* vendor = nullptr;  // reads the globals; null: the stream's device does
    // All lists but those of variables, and those of them that are read on the device.
    std::array<const std::vector<MemoryRange>*, 5> lists() const { return {&allocations, &mapped, &managed, &arrays, &host}; }
    std::array<const std::vector<MemoryRange>*, 4> device_lists() const { return {&allocations, &mapped, &managed, &arrays}; }
    Bytes size() const;  // without the globals
  };
  // Puts the changed pages of all but globals, and all pages of the globals, into the publication. state() has
  // the result once the publication's wait() is ok. After a failure, and when the publication is given up although the database
  // does not have its pages, call forget(): a later capture would otherwise take those pages for stored.
  Status capture(Stream& stream, const Memory& memory, Publication& publication);
  MemoryState state() const;
  // Whether the last capture failed because host memory was not mapped any more.
  bool lost_host_memory() const { return lost_host_memory_; }
  void forget() { known_.clear(); }
  // Forgets the pages of memory that is not among this, which is all that there is.
  void forget_freed(const Memory& all);

 private:
  struct Known {
    Bytes size;
    std::vector<uint64_t> hashes;
    std::vector<Digest> digests;
  };

  class Source;  // where pages are read from: the device or the host
  class DeviceSource;
  class HostSource;
  class VariableSource;
  Status capture_allocation(Source& source, const MemoryRange& allocation, Publication& publication);
  Status read_pages(Source& source, const MemoryRange& memory, uint64_t first, uint64_t last, Digest* digests,
                    Publication& publication);

  Memory memory_;                              // of the last capture
  std::unordered_map<uint64_t, Known> known_;  // by address
  std::vector<Region> globals_;
  bool lost_host_memory_ = false;
};

}  // namespace mneme
