// OwnState: the variables of compiled code that the recording does not have. IR that is replayed in place of the recorded IR
// can bring some, and so can a pass plugin.
//
// Before each launch they are given the values that they had when the code was loaded. Otherwise code could do its work in the
// first launch, note that in such a variable, and do nothing in the launches that are timed.
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
  // Copies the present values of the variables `names`; names that the module does not have are left out. No kernel of the
  // module may have run yet. exhausted: the device has no room for a copy; the message names the variable.
  static Result<OwnState> keep(Device& device, Stream& stream, Module& module, const std::vector<std::string>& names);

  // Gives the variables their first values again. Ordered in the stream; may return before it is done.
  Status put_back(Stream& stream) const;

 private:
  struct Variable {
    MemoryRange place;
    DeviceBuffer begin;
  };
  std::vector<Variable> variables_;
};

}  // namespace mneme
