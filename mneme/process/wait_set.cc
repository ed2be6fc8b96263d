#include "mneme/process/wait_set.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mneme {

Result<WaitSet> WaitSet::create() {
  Descriptor set(::epoll_create1(EPOLL_CLOEXEC));
  if (!set.open()) return error(Code::io, "making a set of descriptors to wait for: {}", std::strerror(errno));
  return WaitSet(std::move(set));
}

Status WaitSet::add(int descriptor, uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  if (::epoll_ctl(set_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    return error(Code::io, "adding to a set of descriptors to wait for: {}", std::strerror(errno));
  return {};
}

void WaitSet::remove(int descriptor) { ::epoll_ctl(set_.number(), EPOLL_CTL_DEL, descriptor, nullptr); }

void WaitSet::wait(std::optional<std::chrono::milliseconds> time, std::vector<uint64_t>& tags) {
  std::array<epoll_event, 64> events;
  const int count =
      ::epoll_wait(set_.number(), events.data(), static_cast<int>(events.size()), time ? static_cast<int>(time->count()) : -1);
  tags.clear();
  for (int i = 0; i < count; ++i) tags.push_back(events[static_cast<size_t>(i)].data.u64);
}

}  // namespace mneme
