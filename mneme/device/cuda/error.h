// What the CUDA driver's result codes mean in Mneme. No other place knows them.
#pragma once

#include <string_view>

#include "mneme/base/status.h"
#include "mneme/device/cuda/driver.h"

namespace mneme::cuda {

// internal for a code that is not in the table.
Code code_of(CUresult result);

// Whether the context is of no further use after this result: a kernel trapped, or the device failed. Every later call,
// whichever it is, then returns such a result.
bool is_fault(CUresult result);

// ok for CUDA_SUCCESS; else code_of(result), with the message "<call>: CUDA_ERROR_NAME (the driver's words)". `call` names the
// function and its arguments.
Status status_of(const Driver& driver, CUresult result, std::string_view call);

}  // namespace mneme::cuda
