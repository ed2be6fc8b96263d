// ReservedAddresses: where address ranges lie that the program reserves itself and leaves the address of to the driver
// (cuMemAddressReserve). They get places of the recorder's choosing, which are the same in each run of a program that reserves in
// the same order, and at which a replay finds nothing else. This class keeps the list; the hooks make the calls. Thread-safe.
#pragma once

#include <mutex>
#include <optional>

#include "mneme/base/range_map.h"

namespace mneme {

class ReservedAddresses {
 public:
  // Chooses a place for a range, in whole steps of kReservationStep, and keeps it. `alignment` is zero or a power of two. Nothing
  // where there is no room: the driver then chooses.
  std::optional<MemoryRange> place(Bytes size, uint64_t alignment);
  // Tells where the driver has put what place() was to have: the place itself, or elsewhere.
  void settle(const MemoryRange& place, DevicePtr given);
  // Gives a place up: the driver refused it, or the program has freed the range.
  void give_up(DevicePtr address);

  // What the driver has to be told as the size of a range for which the program asked by the size `size`. Nothing where the range
  // is none that was placed here.
  std::optional<Bytes> size_at(DevicePtr address, Bytes size) const;

 private:
  struct Use {
    Bytes size;  // of the program's call
  };
  mutable std::mutex mutex_;
  RangeMap<Use> ranges_;
};

}  // namespace mneme
