// DeviceLock: one Mneme at a time runs kernels on a GPU, since what another one runs there falsifies times.
//
// A lock file in the temporary directory, named by the hardware, which the processes of every user of this machine share. It ends
// with the process that holds it, however that ends.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

class DeviceLock {
 public:
  // Waits until nobody else has it, and says on standard error for whom. io when the file cannot be opened.
  static Result<DeviceLock> acquire(const std::string& hardware_id, const std::filesystem::path& directory);
  // Of the hardware of a device, where all users find it; of nothing where there is none to be locked.
  static Result<DeviceLock> acquire(const DeviceProperties& device);
  DeviceLock() = default;  // of nothing
  ~DeviceLock();
  DeviceLock(DeviceLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  DeviceLock& operator=(DeviceLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  explicit operator bool() const { return file_ >= 0; }

 private:
  explicit DeviceLock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace mneme
