// DeviceBuffer: device memory and its owner.
#pragma once

#include <memory>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/device/shared_memory.h"

namespace mneme {

// Owns one allocation of device memory, or nothing. The memory is given back when the buffer is destroyed: the device must not
// be using it then, and must outlive the buffer.
class DeviceBuffer {
 public:
  // Memory of this process alone. Failures are those of Device::allocate().
  static Result<DeviceBuffer> allocate(Device& device, Bytes size) {
    MNEME_ASSIGN(DevicePtr address, device.allocate(size));
    return DeviceBuffer(device, address, size);
  }
  // Memory that share() can give to other processes. Failures are those of Device::allocate_shared().
  static Result<DeviceBuffer> allocate_shared(Device& device, Bytes size) {
    MNEME_ASSIGN(auto memory, device.allocate_shared(size));
    return DeviceBuffer(std::move(memory));
  }
  DeviceBuffer() = default;
  // Takes over shared memory, whether it was allocated here or imported from another process.
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
  // A descriptor by which another process imports the memory (Device::import_shared()). unsupported: the memory was not made to
  // be shared.
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
