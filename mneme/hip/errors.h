// Codes of errors of both vendors, and the last error of a thread of a HIP program.
#pragma once

#include "mneme/hip/headers.h"

namespace mneme::hip {

hipError_t to_hip(cudaError_t code);
cudaError_t to_cuda(hipError_t code);

class Table;

// Notes a call's result as the calling thread's last error, unless it is success, and returns it.
hipError_t finish(hipError_t result);
// The same of a call that went through the table. A HIP runtime that the slots end in keeps the last error itself; noted is one
// that it does not have, as it is an interposer's, or since calls of the interposer's own have come after it: ROCm before 7
// forgets an error at the next call that succeeds. So does the note.
hipError_t finish(const Table& table, hipError_t result);
// What the thread's calls have left, and nothing after that; hipSuccess where they have left nothing.
hipError_t take_last_error();
hipError_t peek_last_error();

}  // namespace mneme::hip
