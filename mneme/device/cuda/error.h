// What the CUDA driver's result codes mean here. The only place that knows them.
#pragma once

#include <string_view>

#include "mneme/base/status.h"
#include "mneme/device/cuda/driver.h"

namespace mneme::cuda {

Code code_of(CUresult result);

// The context is of no further use after this result: a kernel trapped or the device failed. Such results come back from every
// later call, whichever it is.
bool is_fault(CUresult result);

// ok for CUDA_SUCCESS; else "<call>: CUDA_ERROR_NAME (the driver's words)". `call` has the function's name and its arguments.
Status status_of(const Driver& driver, CUresult result, std::string_view call);

}  // namespace mneme::cuda
