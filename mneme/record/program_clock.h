// ProgramClock: the time of launches that the program makes itself, by the clock that a replay on the same device uses.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mneme/device/device.h"
#include "mneme/record/vendor.h"

namespace mneme {

// Thread-safe.
class ProgramClock {
 public:
  virtual ~ProgramClock() = default;
  virtual std::string source() const = 0;
  // Whether the time of a kernel's first launch is the kernel's alone, without the loading or lowering of its code.
  virtual bool counts_first_launches() const { return false; }
  // The launch that this thread makes between begin and end, in that stream. Nothing when it cannot be timed.
  virtual std::optional<LaunchTag> begin(Vendor& vendor, void* stream) = 0;
  virtual void end(LaunchTag tag, bool launched) = 0;
  // Fetches the times of launches that are done.
  virtual void fetch() {}
  // Once, when it has been fetched.
  virtual std::optional<Nanoseconds> take(LaunchTag tag) = 0;
};

// The device's observer; without one the vendor's events; and the host's clock where a launch is done when its call returns.
std::unique_ptr<ProgramClock> make_program_clock(Device& device);

}  // namespace mneme
