// TrialDevice: what a front does on its device so that a launch is run both ways: with copies of the memory, and timed.
#pragma once

#include <functional>

#include "mneme/substitute/code_loader.h"

namespace mneme {

// As of all that CodeLoader does, no failure is left behind for the program to find. Streams are the vendor's.
class TrialDevice : public CodeLoader {
 public:
  virtual Result<Bytes> free_memory() = 0;  // of the current device
  virtual Result<DevicePtr> allocate(Bytes size) = 0;
  virtual void release(DevicePtr block) = 0;
  // In the stream, behind what it has been given.
  virtual Status copy(DevicePtr to, DevicePtr from, Bytes size, void* stream) = 0;
  // Returns when the bytes are there.
  virtual Status read(std::byte* to, DevicePtr from, Bytes size, void* stream) = 0;
  // Likewise into memory of the device: returns when they lie there.
  virtual Status write(DevicePtr to, const std::byte* from, Bytes size, void* stream) = 0;
  // What the launch takes on the device, in nanoseconds. Returns when it has ended. Fails as `launch` does, or the device.
  virtual Result<double> time(void* stream, const std::function<Status()>& launch) = 0;
  // Whether kernels of the current device may reach memory at this address, as the vendor knows it.
  virtual bool is_memory(DevicePtr address) = 0;
  // Whether kernels reach all memory of the host too, of which the vendor need not know.
  virtual bool reaches_host_memory() = 0;
};

}  // namespace mneme
