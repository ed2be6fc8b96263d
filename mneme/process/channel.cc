#include "mneme/process/channel.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "mneme/base/descriptor_message.h"

namespace mneme {
namespace {

// Before each body.
struct Header {
  uint64_t size;
  uint64_t descriptors;
};

using Room = DescriptorRoom<Channel::kMostDescriptors>;

Status failed(const char* what) {
  if (errno == EPIPE || errno == ECONNRESET) return error(Code::unavailable, "{}: the other process has gone", what);
  if (errno == EAGAIN || errno == EWOULDBLOCK) return error(Code::unavailable, "{}: the other process does not read", what);
  return error(Code::io, "{}: {}", what, std::strerror(errno));
}

// Discarded where it is none: from_cbor() throws for an array that is said to be huge, whatever it is told of exceptions.
nlohmann::json body_of(std::span<const std::byte> bytes) try {
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  return nlohmann::json::from_cbor(begin, begin + bytes.size(), true, /*allow_exceptions=*/false);
} catch (const nlohmann::json::exception&) {
  return nlohmann::json(nlohmann::json::value_t::discarded);
}

// A message of so many descriptors.
void append(std::vector<uint8_t>& bytes, const nlohmann::json& body, uint64_t descriptors) {
  const size_t begin = bytes.size();
  bytes.resize(begin + sizeof(Header));
  nlohmann::json::to_cbor(body, bytes);
  const Header header{bytes.size() - begin - sizeof(Header), descriptors};
  std::memcpy(bytes.data() + begin, &header, sizeof header);
}

Status cut_off(size_t had) {
  if (had == Channel::kMostDescriptors)
    return error(Code::io, "receiving a message: it has more than {} descriptors", Channel::kMostDescriptors);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return error(
      Code::exhausted,
      "receiving a message: its descriptors cannot be had: this process has too many open files, more than {}; raise that "
      "with `ulimit -n`",
      files.rlim_cur);
}

}  // namespace

Result<std::pair<Channel, Channel>> Channel::pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return failed("making a connection between processes");
  for (int end : ends) {
    timeval limit{10, 0};
    ::setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  return std::pair(Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1])));
}

Status Channel::send(const nlohmann::json& body, std::span<const int> descriptors) {
  if (descriptors.size() > kMostDescriptors)
    return error(Code::internal, "sending a message: {} descriptors are more than the {} of one message", descriptors.size(),
                 kMostDescriptors);
  append(later_, body, descriptors.size());
  return write(std::exchange(later_, {}), descriptors);
}

void Channel::send_later(const nlohmann::json& body) { append(later_, body, 0); }

Status Channel::flush() { return later_.empty() ? Status() : write(std::exchange(later_, {}), {}); }

Status Channel::write(std::span<const uint8_t> bytes, std::span<const int> descriptors) {
  Room room;
  for (size_t sent = 0; sent < bytes.size();) {
    iovec piece{const_cast<uint8_t*>(bytes.data()) + sent, bytes.size() - sent};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (sent == 0 && !descriptors.empty()) {  // they go with the first byte
      message.msg_control = room.bytes.data();
      put_descriptors(message, descriptors);
    }
    ssize_t count = ::sendmsg(socket_.number(), &message, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("sending a message");
    sent += static_cast<size_t>(count);
  }
  return {};
}

Result<bool> Channel::read_some(Wait wait) {
  MNEME_TRY(lost_);
  thread_local std::array<std::byte, 65536> bytes;
  iovec piece{bytes.data(), bytes.size()};
  Room room;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes.data();
  message.msg_controllen = room.bytes.size();
  ssize_t count;
  do count = ::recvmsg(socket_.number(), &message, MSG_CMSG_CLOEXEC | (wait == Wait::no ? MSG_DONTWAIT : 0));
  while (count < 0 && errno == EINTR);
  if (count > 0) received_.insert(received_.end(), bytes.begin(), bytes.begin() + count);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (count < 0) return failed("receiving a message");
  std::vector<Descriptor> came = take_descriptors(message);
  std::ranges::move(came, std::back_inserter(descriptors_));
  if ((message.msg_flags & MSG_CTRUNC) != 0) return lost_ = cut_off(came.size());
  if (count == 0) return error(Code::unavailable, "receiving a message: the other process has gone");
  return true;
}

Status Channel::take_in() {
  for (;;) {
    MNEME_ASSIGN(bool some, read_some(Wait::no));
    if (!some) return {};
  }
}

Status Channel::take_some() { return read_some(Wait::no).status(); }

std::optional<Message> Channel::next() {
  Header header{};
  if (received_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, received_.data(), sizeof header);
  if (received_.size() - sizeof header < header.size || descriptors_.size() < header.descriptors) return std::nullopt;
  const auto end = received_.begin() + sizeof header + static_cast<ptrdiff_t>(header.size);
  Message message;
  message.body = body_of({received_.data() + sizeof header, header.size});
  for (uint64_t i = 0; i < header.descriptors; ++i) {
    message.descriptors.push_back(std::move(descriptors_.front()));
    descriptors_.pop_front();
  }
  received_.erase(received_.begin(), end);
  return message;
}

bool Channel::mentions(std::string_view text) const {
  return ::memmem(received_.data(), received_.size(), text.data(), text.size()) != nullptr;
}

void Channel::shut_down() { ::shutdown(socket_.number(), SHUT_RDWR); }

Result<Message> Channel::receive() {
  for (;;) {
    if (auto message = next()) return std::move(*message);
    MNEME_ASSIGN([[maybe_unused]] bool some, read_some(Wait::yes));
  }
}

}  // namespace mneme
