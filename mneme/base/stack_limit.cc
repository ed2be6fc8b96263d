#include "mneme/base/stack_limit.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace mneme {
namespace {

void raise_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0) return;
  const rlim_t most = std::min<rlim_t>(limit.rlim_max, kUsualStack.count);
  if (limit.rlim_cur >= most) return;
  limit.rlim_cur = most;
  ::setrlimit(RLIMIT_STACK, &limit);
}

// Of the calling thread; of the main thread as far as its limit lets it grow.
Bytes stack_size() {
  if (::gettid() == ::getpid()) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_STACK, &limit) == 0 ? Bytes(limit.rlim_cur) : kUsualStack;
  }
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return kUsualStack;
  size_t size = 0;
  ::pthread_attr_getstacksize(&attributes, &size);
  ::pthread_attr_destroy(&attributes);
  return Bytes(size);
}

}  // namespace

Status provide_stack() {
  raise_limit();
  const Bytes size = stack_size();
  if (size >= kLeastStack) return {};
  return error(Code::exhausted,
               "LLVM needs a stack of {}, and this thread's has {}: run `ulimit -s {}` first, in a shell whose own hard limit "
               "(`ulimit -Hs`) is not lower",
               kLeastStack, size, kUsualStack.count >> 10);
}

}  // namespace mneme
