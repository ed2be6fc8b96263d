// RecordedAddresses: owns device and host memory at the addresses that it had in the recorded launch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/device/held_addresses.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/store/database.h"

namespace mneme {

// What a plan's memory takes of addresses where other things may be placed, in the blocks in which a device of any kind reserves
// it: memory outside of the recorder's range, host memory that the program registered, and descriptors of textures. HeldAddresses
// keeps them free until RecordedAddresses::reserve(), and of descriptors Device::create_textures(), takes them. The plan needs no
// spans.
std::vector<MemoryRange> endangered_addresses(const MemoryPlan& plan);
// Holds them for launches of one kernel. It is called before a device is opened. What cannot be read holds nothing:
// Session::prepare() tells why it cannot.
HeldAddresses hold_recorded_addresses(const Database& database, const Digest& static_hash, std::span<const Digest> instances);

class RecordedAddresses {
 public:
  // Takes memory for every region of the plan that lies at its recorded address. What that memory holds is undefined. Addresses
  // that are held (HeldAddresses) are borrowed for as long as this object lives.
  // unavailable: an address is taken in this process; the message names the owner where the system tells it. exhausted: the
  // device or the host has not enough memory.
  static Result<RecordedAddresses> reserve(const InstanceRecord& instance, const MemoryPlan& plan, Device& device);

  // For a device that could not put the descriptors of textures where they were: unsupported where one of them lies in a block
  // that is reserved here, since a device reserves whole blocks. That is so each time.
  Status check_descriptors(const TextureSet& textures) const;

 private:
  RecordedAddresses() = default;
  Status reserve_space(const InstanceRecord& instance, const MemoryPlan& plan, Device& device);
  Status reserve_outside(const MemoryPlan& plan, Device& device);
  Status map_host_memory(const MemoryPlan& plan, Device& device);

  std::vector<AddressLoan> loans_;  // they end when what is below has gone
  std::unique_ptr<AddressSpace> space_;
  std::vector<std::unique_ptr<AddressSpace>> outside_;
  std::vector<std::unique_ptr<HostMapping>> host_mappings_;
};

}  // namespace mneme
