// SignalsBlocked: blocks all signals of the calling thread while it lives. Threads that are started meanwhile begin with them
// blocked, so that the application's signal handlers do not come to run there.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace mneme {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  // The signals that were blocked before.
  const sigset_t& before() const { return before_; }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace mneme
