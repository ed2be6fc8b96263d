// RecordedAddresses: owns device and host memory at the addresses that it had in the recorded launch.
#pragma once

#include <memory>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/memory/memory_plan.h"

namespace mneme {

class RecordedAddresses {
 public:
  // Takes memory for every region of the plan that lies at its recorded address. What that memory holds is undefined.
  // unavailable: an address is taken in this process; the message names the owner where the system tells it. exhausted: the
  // device or the host has not enough memory.
  static Result<RecordedAddresses> reserve(const InstanceRecord& instance, const MemoryPlan& plan, Device& device);

 private:
  RecordedAddresses() = default;
  Status reserve_space(const InstanceRecord& instance, const MemoryPlan& plan, Device& device);
  Status reserve_outside(const MemoryPlan& plan, Device& device);
  Status map_host_memory(const MemoryPlan& plan, Device& device);

  std::unique_ptr<AddressSpace> space_;
  std::vector<std::unique_ptr<AddressSpace>> outside_;
  std::vector<std::unique_ptr<HostMapping>> host_mappings_;
};

}  // namespace mneme
