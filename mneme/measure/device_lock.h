// DeviceLock: lets one Mneme process at a time run kernels on a GPU, since kernels of another process would falsify its times.
//
// The lock is taken on the GPU's folder in sysfs, which the processes of every user of the machine find, and which nobody can
// replace. Where there is no such folder (in some containers), it is taken on a file in a folder of the user's own, and then
// keeps only that user's processes apart. It ends with the process that holds it, however that process ends.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

// Where the lock of a device is looked for.
struct LockPlaces {
  std::filesystem::path devices;  // has a folder for each PCI address
  std::filesystem::path files;    // the user's own folder; it is made where it is missing
  static LockPlaces of_this_machine();
};

class DeviceLock {
 public:
  // Waits until no other process holds the lock of the hardware with this id (a PCI address). There is no deadline; a message on
  // standard error says which process it waits for. io: the lock cannot be taken; the message says why.
  static Result<DeviceLock> acquire(const std::string& hardware_id, const LockPlaces& places = LockPlaces::of_this_machine());
  // The same for the hardware of a device. A device without hardware of its own (the CPU) gives a lock that holds nothing.
  static Result<DeviceLock> acquire(const DeviceProperties& device);
  DeviceLock() = default;  // holds nothing
  explicit operator bool() const { return file_.open(); }

 private:
  explicit DeviceLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace mneme
