#include "mneme/base/descriptor_message.h"

#include <cstring>

namespace mneme {

void put_descriptors(msghdr& message, std::span<const int> numbers) {
  message.msg_controllen = CMSG_SPACE(numbers.size_bytes());
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(numbers.size_bytes());
  std::memcpy(CMSG_DATA(rights), numbers.data(), numbers.size_bytes());
}

std::vector<Descriptor> take_descriptors(msghdr& message) {
  std::vector<Descriptor> found;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + at, sizeof number);
      found.emplace_back(number);
    }
  }
  return found;
}

}  // namespace mneme
