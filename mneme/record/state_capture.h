// StateCapture: reads what changed in device memory since the last time and hands it to a publication.
//
// The device hashes every page; only pages whose hash differs from the last capture's are copied and digested. What is known
// of a page follows from its content alone, so an allocation that was freed and made again at the same place needs no care.
// Used by the capturing thread.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/publication.h"

namespace mneme {

struct CapturedGlobal {
  std::string name;  // in the IR
  DevicePtr address;
  Bytes size;
};

class StateCapture {
 public:
  struct Memory {
    std::vector<MemoryRange> allocations;  // each by address
    std::vector<MemoryRange> host;
    std::vector<CapturedGlobal> globals;
  };
  // Puts the changed pages of the allocations and of the host's memory and all of the globals into the publication. state() has
  // the result once the publication's wait() is ok. After a failure, and after giving up a publication that was put to, forget()
  // everything.
  Status capture(Stream& stream, const Memory& memory, Publication& publication);
  MemoryState state() const;
  // Whether the last capture failed because memory of the host was not there any more.
  bool lost_host_memory() const { return lost_host_memory_; }
  void forget() { known_.clear(); }

 private:
  struct Known {
    Bytes size;
    std::vector<uint64_t> hashes;
    std::vector<Digest> digests;
  };

  class Source;  // of pages: the device, or the host
  class DeviceSource;
  class HostSource;
  Status capture_allocation(Source& source, const MemoryRange& allocation, Publication& publication);
  Status read_pages(Source& source, const MemoryRange& memory, uint64_t first, uint64_t last, Digest* digests,
                    Publication& publication);

  Memory memory_;                              // of the last capture
  std::unordered_map<uint64_t, Known> known_;  // by address
  std::vector<Region> globals_;
  bool lost_host_memory_ = false;
};

}  // namespace mneme
