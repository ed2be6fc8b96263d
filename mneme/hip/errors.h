// Codes of errors of both vendors, and the last error of a thread of a HIP program.
#pragma once

#include "mneme/hip/headers.h"

namespace mneme::hip {

hipError_t to_hip(cudaError_t code);
cudaError_t to_cuda(hipError_t code);

class Table;

// Notes a call's result as the calling thread's last error, unless it is success, and returns it.
hipError_t finish(hipError_t result);
// The same of a call that went through the table and that no interposer has seen. A HIP runtime that the slots end in keeps the
// last error itself; noted is one that it does not have. ROCm before 7 forgets an error at the next call that succeeds, and so
// does the note. From ROCm 7 on it stays until it is read.
hipError_t finish(const Table& table, hipError_t result);

// What the calling thread's last error is while an interposer sees a call of the program's. What the interposer calls of its own,
// through slots or past them, must leave it as it is: neither do its failures become the program's last error, nor do its
// successes make ROCm before 7 forget it. Nor is what they return the result of the program's last call. Of use where the slots
// end in the program's runtime; else it is finish(result).
class LastError {
 public:
  // When the call begins.
  explicit LastError(const Table& table);
  // When it has ended: makes the last error what the program's calls alone would have left, and returns `result`.
  hipError_t finish(hipError_t result) const;

 private:
  // Whether `result` is an error that the runtime has as its last one.
  bool leave_error(hipError_t result) const;

  const Table& table_;
  const hipError_t before_;
};
// What the thread's calls have left, and nothing after that; hipSuccess where they have left nothing.
hipError_t take_last_error();
hipError_t peek_last_error();

// hipExtGetLastError: the result of the thread's last call, be it an error or success, and success after that. Before ROCm 7 it
// is what hipGetLastError tells, and the two forget it together.
hipError_t ext_get_last_error(Table& table);

}  // namespace mneme::hip
