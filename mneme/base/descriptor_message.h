// Descriptors that go with a message from one process to another (SCM_RIGHTS). The receiver's are descriptors of its own.
#pragma once

#include <sys/socket.h>

#include <array>
#include <span>
#include <vector>

#include "mneme/base/descriptor.h"

namespace mneme {

// What msghdr::msg_control points to: room for the descriptors of one message, kMost of them.
template <size_t kMost>
struct DescriptorRoom {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> bytes{};
};

// Puts the descriptors, of which there is one at least, into the message's room. They stay the caller's.
void put_descriptors(msghdr& message, std::span<const int> numbers);

// All that came with a message that was received, in their order: what the caller does not want is closed.
std::vector<Descriptor> take_descriptors(msghdr& message);

}  // namespace mneme
