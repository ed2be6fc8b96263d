#include "mneme/pool/wake_up.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace mneme {

Result<std::shared_ptr<WakeUp>> WakeUp::create() {
  Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.open()) return error(Code::io, "making an event for the pool: {}", std::strerror(errno));
  return std::make_shared<WakeUp>(std::move(event));
}

void WakeUp::call() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(event_.number(), &one, sizeof one);
}

void WakeUp::call_to_cancel(JobId job) {
  {
    std::lock_guard lock(mutex_);
    cancelled_.push_back(job);
  }
  call();
}

std::vector<JobId> WakeUp::take() {
  uint64_t count = 0;
  [[maybe_unused]] ssize_t taken = ::read(event_.number(), &count, sizeof count);
  std::lock_guard lock(mutex_);
  return std::exchange(cancelled_, {});
}

}  // namespace mneme
