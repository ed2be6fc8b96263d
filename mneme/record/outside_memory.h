// OutsideMemory: memory of devices that does not lie in the recorder's range: what the program maps itself (cuMemMap), managed
// memory, and what the driver has allocated where the recorder leaves that to it (`mneme record --memory-from driver`). It is
// captured where it lies. This class keeps the list, by what the hooks tell it of the program's calls, and knows what cannot be
// captured. Thread-safe.
//
// What goes away under a capture would be a fault of the program's device: see Gate::Effect::removes_memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/base/range_map.h"
#include "mneme/snapshot/recording_report.h"

namespace mneme {

class OutsideMemory {
 public:
  // Physical memory, by the program's handle. It is on `device`, or it is `refused`: a launch that is given memory which is
  // mapped from it is not recorded for that reason.
  void create(uint64_t handle, int device);
  void create_refused(uint64_t handle, NotRecorded refused);
  void refuse(uint64_t handle, NotRecorded reason);
  void refuse_mapped(const MemoryRange& range, NotRecorded reason);
  // The handle stands for what is mapped at the address.
  void retain(uint64_t handle, DevicePtr address);
  void release(uint64_t handle);

  // Physical memory at its addresses. Memory of a handle that is not known, and memory that is mapped a second time, is refused
  // (mapped_memory): a kernel may reach the same bytes at two addresses.
  void map(const MemoryRange& range, uint64_t handle);
  // Any part of what is mapped.
  void unmap(const MemoryRange& range);
  void set_access(const MemoryRange& range, int device, bool accessible);

  // Managed memory that goes with device `device`, on which it was allocated.
  void add_managed(const MemoryRange& memory, int device);
  // Memory of device `device` that the driver has allocated. It is captured as what is mapped.
  void add_allocation(const MemoryRange& memory, int device);
  // Of managed and allocated memory what starts at the address, which is then forgotten. Nothing when none starts there.
  std::optional<MemoryRange> remove_allocation(DevicePtr address);
  // All that goes with the device, which is then forgotten.
  std::vector<MemoryRange> remove_allocations_of(int device);
  bool is_allocation(DevicePtr address) const;

  // Why a launch on `device` that is given the address is not recorded; nothing where that is no reason.
  std::optional<NotRecorded> refusal(DevicePtr address, int device) const;
  // What is captured of a launch on `device`, by address. Neighbouring ranges of mapped memory are one.
  std::vector<MemoryRange> mapped(int device) const;
  std::vector<MemoryRange> managed() const;
  std::optional<MemoryRange> find_around(DevicePtr address, int device) const;
  Bytes bytes(int device) const;

  void clear();

 private:
  struct Physical {
    int device = 0;
    std::optional<NotRecorded> refused;
    uint64_t mappings = 0;
  };
  struct Handle {
    std::shared_ptr<Physical> memory;
    uint64_t references = 1;
  };
  struct Mapping {
    std::shared_ptr<Physical> memory;
    uint64_t accessible = 0;  // a bit for each device
    bool is_captured_on(int device) const;
  };
  void set(uint64_t handle, Physical memory);
  void cut(DevicePtr at);
  void remove_mappings(const MemoryRange& range);

  mutable std::mutex mutex_;
  std::map<uint64_t, Handle> handles_;
  RangeMap<Mapping> mappings_;
  RangeMap<int> managed_;      // on which device it was allocated
  RangeMap<int> allocations_;  // likewise; each is a mapping, too
};

}  // namespace mneme
