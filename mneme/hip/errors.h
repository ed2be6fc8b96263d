// Codes of errors of both vendors, and the last error of a thread of a HIP program.
#pragma once

#include "mneme/hip/headers.h"

namespace mneme::hip {

hipError_t to_hip(cudaError_t code);
cudaError_t to_cuda(hipError_t code);

// Notes a call's result as the calling thread's last error, unless it is success, and returns it.
hipError_t finish(hipError_t result);
// What the thread's calls have left, and nothing after that; hipSuccess where they have left nothing.
hipError_t take_last_error();
hipError_t peek_last_error();

}  // namespace mneme::hip
