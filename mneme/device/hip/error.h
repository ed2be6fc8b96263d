// What the HIP runtime's error codes mean in Mneme. No other place knows them.
#pragma once

#include <string_view>

#include "mneme/base/status.h"
#include "mneme/device/hip/driver.h"

namespace mneme::hip {

// internal for a code that is not in the table.
Code code_of(Error error);

// Whether the device is of no further use to this process after this error: a kernel trapped, or the device failed.
bool is_fault(Error error);

// ok for success; else code_of(error), with the message "<call>: hipErrorName (the runtime's words)". `call` names the function
// and its arguments.
Status status_of(const Driver& driver, Error error, std::string_view call);

}  // namespace mneme::hip
