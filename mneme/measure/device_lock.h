// DeviceLock: one Mneme at a time runs kernels on a GPU, since what another one runs there falsifies times.
//
// The lock is on the GPU's folder in sysfs: the processes of every user of this machine find it, and nobody can put another thing
// in its place. Where there is none (a container without it), it is on a file in a folder of the user's own, and keeps that
// user's processes apart. It ends with the process that holds it, however that ends.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

// Where locks are looked for.
struct LockPlaces {
  std::filesystem::path devices;  // with a folder for each PCI address
  std::filesystem::path files;    // the user's own folder; it is made where it is missing
  static LockPlaces of_this_machine();
};

class DeviceLock {
 public:
  // Waits until nobody else has it, and says on standard error for whom. io: it cannot be had, and why.
  static Result<DeviceLock> acquire(const std::string& hardware_id, const LockPlaces& places = LockPlaces::of_this_machine());
  // Of the hardware of a device; of nothing where there is none to be locked.
  static Result<DeviceLock> acquire(const DeviceProperties& device);
  DeviceLock() = default;  // of nothing
  explicit operator bool() const { return file_.open(); }

 private:
  explicit DeviceLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace mneme
