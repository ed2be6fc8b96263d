// OwnState: the variables of compiled code that the recording does not have. IR that took the recorded one's place can bring
// some, and so can a pass plugin. A launch begins with what they held when the code was loaded, as the first launch did: code
// that does its work once and then remembers that would else be verified, and timed doing nothing.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/device_buffer.h"

namespace mneme {

// Used by one thread at a time. The device and the module outlive it.
class OwnState {
 public:
  // Of `names` those that the module has, nothing of which has run yet. exhausted, with the name and its size.
  static Result<OwnState> keep(Device& device, Stream& stream, Module& module, const std::vector<std::string>& names);

  // Ordered in the stream; may return before it is done.
  Status put_back(Stream& stream) const;

 private:
  struct Variable {
    MemoryRange place;
    DeviceBuffer begin;
  };
  std::vector<Variable> variables_;
};

}  // namespace mneme
