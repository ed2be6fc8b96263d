// Uncanceled: while one is there, this thread is not ended by pthread_cancel().
//
// Where a program launches or allocates, its threads cannot be canceled without a recorder. The recorder waits and reads files
// there, which are places where they could be, and whose ways out are the recorder's own.
#pragma once

#include <pthread.h>

namespace mneme {

class Uncanceled {
 public:
  Uncanceled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncanceled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncanceled(const Uncanceled&) = delete;
  Uncanceled& operator=(const Uncanceled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace mneme
