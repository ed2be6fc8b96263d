// HostMemory: the program's pinned host memory, which the host and any kernel may reach.
//
// Memory that the program allocates (cudaHostAlloc, cudaMallocHost) is served from a reserved range at a fixed address, so that a
// replay finds that place free. Memory that the program registers (cudaHostRegister) stays where the program has it. This class
// keeps the list; the hooks pin and unpin the memory through the vendor's runtime. Thread-safe.
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

  // Allocates zeroed memory, in pages of its own, from the reserved range. The memory is not pinned, and is captured
  // only after add(). Reserves the range at the first call. unavailable: the range could not be reserved. exhausted: it is full.
  Result<DevicePtr> serve(Bytes size);
  // Gives served memory back. The vendor must have unpinned it.
  void take_back(DevicePtr address);
  // Whether the address lies in the range of served memory.
  bool owns(uint64_t address) const;

  struct Pinned {
    Bytes size;
    unsigned flags = 0;  // of the program's call
  };
  // Lists memory as pinned: from now on it is captured.
  void add(DevicePtr address, Bytes size, unsigned flags);
  // Takes the pinned memory that starts at the address from the list. Nothing when none starts there.
  std::optional<Pinned> remove(DevicePtr address);
  // The pinned memory that starts at the address; the one that the address lies in.
  std::optional<Pinned> find(DevicePtr address) const;
  std::optional<MemoryRange> find_around(DevicePtr address) const;

  // All pinned memory, by address. Registered memory that the program has unmapped without unregistering it is dropped from the
  // list first.
  std::vector<MemoryRange> all();
  // The size of all that is listed.
  Bytes bytes() const;
  // How many times memory was removed. While the number stays the same, the program has freed or unregistered nothing that was
  // listed before.
  uint64_t removals() const;

  // Empties the list and returns the addresses that were on it, for the hooks to unpin.
  std::vector<DevicePtr> clear();

 private:
  const Bytes range_;
  mutable std::mutex mutex_;
  std::unique_ptr<AddressSpace> space_;
  bool tried_ = false;
  RangeMap<unsigned> pinned_;  // flags
  uint64_t removals_ = 0;
};

// Copies memory of this process. Where a part of it is not mapped any more, the result is not_found, and the process goes on.
Status read_own_memory(MutableByteSpan to, DevicePtr from);

}  // namespace mneme
