// HostMemory: the program's memory that is the host's and the device's at once, which any kernel may reach.
//
// What the program allocates (cudaHostAlloc, cudaMallocHost) is served from a range of its own at a fixed address, so that a
// replay finds the place free; what it registers (cudaHostRegister) stays where the program has it. The hooks pin and unpin it
// by the vendor's runtime. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/base/range_map.h"
#include "mneme/base/status.h"
#include "mneme/device/address_space.h"

namespace mneme {

class HostMemory {
 public:
  explicit HostMemory(Bytes range) : range_(range) {}

  // Served memory: zeroed, in whole pages, not pinned and not captured yet. Reserves the range at the first call.
  Result<DevicePtr> serve(Bytes size);
  // What was served goes back; the vendor must have unpinned it.
  void take_back(DevicePtr address);
  // Whether the address lies in the range of served memory.
  bool owns(uint64_t address) const;

  // From here on captured.
  struct Pinned {
    Bytes size;
    unsigned flags = 0;  // of the program's call
  };
  void add(DevicePtr address, Bytes size, unsigned flags);
  // Nothing when no pinned memory starts there.
  std::optional<Pinned> remove(DevicePtr address);
  std::optional<Pinned> find(DevicePtr address) const;
  std::optional<MemoryRange> find_around(DevicePtr address) const;

  // All, by address, but registered memory that the program has unmapped without a word.
  std::vector<MemoryRange> all();
  Bytes bytes() const;
  // How many times memory was removed: while it stays the same, all that was listed is there.
  uint64_t removals() const;

  // Forgets all and returns it, for the hooks to unpin.
  std::vector<DevicePtr> clear();

 private:
  const Bytes range_;
  mutable std::mutex mutex_;
  std::unique_ptr<AddressSpace> space_;
  bool tried_ = false;
  RangeMap<unsigned> pinned_;  // flags
  uint64_t removals_ = 0;
};

// Copies memory of this process. not_found, and no fault, where a part of it is not mapped any more.
Status read_own_memory(MutableByteSpan to, DevicePtr from);

}  // namespace mneme
