// ProgramClock: times the launches that the program itself makes, by the clock that a replay on the same device uses.
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
  // Whether the time of a kernel's first launch is that of the kernel alone, without loading or lowering its code.
  virtual bool counts_first_launches() const { return false; }
  // Times the launch that this thread makes in the stream between begin() and end(). Nothing when it cannot be timed. `launched`:
  // whether the vendor accepted the launch; one that it did not has no time.
  virtual std::optional<LaunchTag> begin(Vendor& vendor, void* stream) = 0;
  virtual void end(LaunchTag tag, bool launched) = 0;
  // Fetches the times of launches that have ended.
  virtual void fetch() {}
  // The time of a launch, which is then forgotten. Nothing while it has not been fetched.
  virtual std::optional<Nanoseconds> take(LaunchTag tag) = 0;
};

// The clock for the program's launches on `device`, which must outlive it: the device's observer where it has one, else the
// vendor's events on CUDA. Elsewhere a launch has ended when its call returns, and the host's clock times it.
std::unique_ptr<ProgramClock> make_program_clock(Device& device);

}  // namespace mneme
