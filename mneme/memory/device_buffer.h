// DeviceBuffer: device memory and its owner.
#pragma once

#include <memory>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/device/shared_memory.h"

namespace mneme {

// Given back when destroyed; the device must not be using it then, and outlives it.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> allocate(Device& device, Bytes size) {
    MNEME_ASSIGN(DevicePtr address, device.allocate(size));
    return DeviceBuffer(device, address, size);
  }
  static Result<DeviceBuffer> allocate_shared(Device& device, Bytes size) {
    MNEME_ASSIGN(auto memory, device.allocate_shared(size));
    return DeviceBuffer(std::move(memory));
  }
  DeviceBuffer() = default;
  // Memory that another process may have too.
  explicit DeviceBuffer(std::unique_ptr<SharedMemory> shared)
      : address_(shared->address()), size_(shared->size()), shared_(std::move(shared)) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~DeviceBuffer() {
    if (device_) [[maybe_unused]]
      Status ignored = device_->free(address_);
  }

  explicit operator bool() const { return address_ != DevicePtr(); }
  DevicePtr address() const { return address_; }
  Bytes size() const { return size_; }
  // unsupported for memory that was not made to be shared.
  Result<Descriptor> share() const {
    if (shared_) return shared_->share();
    return error(Code::unsupported, "sharing {} of device memory: it was not made to be shared", size_);
  }

 private:
  DeviceBuffer(Device& device, DevicePtr address, Bytes size) : device_(&device), address_(address), size_(size) {}

  Device* device_ = nullptr;
  DevicePtr address_;
  Bytes size_;
  std::unique_ptr<SharedMemory> shared_;
};

}  // namespace mneme
