#include "mneme/record/driver/memory_request.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "mneme/base/descriptor_message.h"

namespace mneme::driver {
namespace {

constexpr std::array<char, 8> kMagic = {'M', 'N', 'E', 'M', 'E', 'I', 'P', 'C'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMost = AddressSpace::kMostExportedMappings;
constexpr std::chrono::seconds kPatienceWithClients{1};

struct Packet {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t zero = 0;
  bool is_of_this_version() const { return magic == kMagic && version == kVersion && zero == 0; }
};
struct Handle : Packet {
  RandomKey process{}, memory{};
  std::array<uint8_t, 16> zeros{};
};
static_assert(sizeof(Handle) == sizeof(CUipcMemHandle));
struct Request : Packet {
  RandomKey memory{};
};
struct Reply : Packet {
  uint64_t offset = 0, size = 0, mappings = 0;
  std::array<uint64_t, kMost> mapping_sizes{};
};

struct Address {
  sockaddr_un bytes{};
  socklen_t size = 0;
};
// A name that begins with a zero is of no file.
Address address_of(const RandomKey& process) {
  Address address;
  address.bytes.sun_family = AF_UNIX;
  std::string name = "mneme-memory-";
  for (const uint8_t byte : process) name += fmt::format("{:02x}", byte);
  name.copy(address.bytes.sun_path + 1, name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

bool is_same_user(const Descriptor& connection) {
  ucred other{};
  socklen_t size = sizeof other;
  return ::getsockopt(connection.number(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == ::geteuid();
}

template <typename Call>
ssize_t again(Call call) {
  ssize_t count;
  do count = call();
  while (count < 0 && errno == EINTR);
  return count;
}

// How long a connection is waited for in all. A program's timer or profiler may interrupt a call more often than it takes.
class Deadline {
 public:
  explicit Deadline(std::chrono::microseconds patience) : end_(Clock::now() + patience) {}

  // Makes the call, which uses the connection, until it is not interrupted any more. EAGAIN: the time is over.
  template <typename Call>
  ssize_t again(const Descriptor& connection, Call call) const {
    return driver::again([&]() -> ssize_t {
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end_ - Clock::now()).count();
      if (left <= 0) return errno = EAGAIN, -1;
      const timeval patience{static_cast<time_t>(left / 1'000'000), static_cast<suseconds_t>(left % 1'000'000)};
      for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO})
        ::setsockopt(connection.number(), SOL_SOCKET, which, &patience, sizeof patience);
      return call();
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end_;
};

// One packet with room for its descriptors.
struct Message {
  iovec piece{};
  DescriptorRoom<kMost> room;
  msghdr header{};
  template <typename T>
  explicit Message(T& packet) : piece{&packet, sizeof packet} {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = room.bytes.data();
    header.msg_controllen = room.bytes.size();
  }
  Message(const Message&) = delete;
};

void send_reply(const Descriptor& connection, const NamedMemory& memory) {
  Reply reply;
  reply.offset = memory.allocation.address.address - memory.mappings.front().range.address.address;
  reply.size = memory.allocation.size.count;
  reply.mappings = memory.mappings.size();
  std::vector<int> numbers;
  for (const ExportedMapping& mapping : memory.mappings) {
    reply.mapping_sizes[numbers.size()] = mapping.range.size.count;
    numbers.push_back(mapping.descriptor.number());
  }
  Message message(reply);
  put_descriptors(message.header, numbers);
  // Who does not get it finds the connection at its end.
  again([&] { return ::sendmsg(connection.number(), &message.header, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

// Nothing: this is no reply.
std::optional<ReceivedMemory> read(const Reply& reply, std::vector<Descriptor> descriptors) {
  if (!reply.is_of_this_version() || reply.mappings == 0 || reply.mappings > kMost || descriptors.size() != reply.mappings)
    return std::nullopt;
  ReceivedMemory memory{Bytes(reply.offset), Bytes(reply.size), {}};
  for (size_t i = 0; i < descriptors.size(); ++i) {
    const uint64_t size = reply.mapping_sizes[i];
    if (size == 0 || size > kAddressSpaceStride.count) return std::nullopt;
    memory.mappings.push_back({Bytes(size), std::move(descriptors[i])});
  }
  const uint64_t mapped = memory.mapped().count;
  if (reply.size == 0 || reply.offset >= mapped || reply.size > mapped - reply.offset) return std::nullopt;
  return memory;
}

Status failed(std::string_view what) {
  return error(Code::unavailable, "asking another process for its device memory: {}: {}", what, std::strerror(errno));
}

}  // namespace

Result<RandomKey> make_key() {
  RandomKey key{};
  if (again([&] { return ::getrandom(key.data(), key.size(), 0); }) != static_cast<ssize_t>(key.size()))
    return error(Code::unavailable, "naming memory for other processes: getrandom: {}", std::strerror(errno));
  return key;
}

CUipcMemHandle to_handle(const MemoryName& name) {
  Handle handle;
  handle.process = name.process;
  handle.memory = name.memory;
  return std::bit_cast<CUipcMemHandle>(handle);
}

std::optional<MemoryName> name_in(const CUipcMemHandle& bytes) {
  const auto handle = std::bit_cast<Handle>(bytes);
  if (!handle.is_of_this_version() || handle.zeros != decltype(handle.zeros){}) return std::nullopt;
  return MemoryName{handle.process, handle.memory};
}

Bytes ReceivedMemory::mapped() const {
  Bytes sum;
  for (const Mapping& mapping : mappings) sum += mapping.size;
  return sum;
}

Result<Descriptor> listen_for_requests(const RandomKey& process) {
  const Address address = address_of(process);
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open() || ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 ||
      ::listen(socket.number(), SOMAXCONN) != 0)
    return error(Code::unavailable, "listening for processes that ask for device memory: {}", std::strerror(errno));
  return socket;
}

bool is_socket_of(int descriptor, const RandomKey& process) {
  const Address own = address_of(process);
  Address found;
  found.size = sizeof found.bytes;
  return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&found.bytes), &found.size) == 0 && found.size == own.size &&
         std::memcmp(&found.bytes, &own.bytes, own.size) == 0;
}

namespace {

void take_request(const Descriptor& connection, std::mutex& mutex,
                  const std::function<const NamedMemory*(const RandomKey& memory)>& find) {
  if (!is_same_user(connection)) return;
  const Deadline deadline(kPatienceWithClients);
  Request request;
  const ssize_t size =
      deadline.again(connection, [&] { return ::recv(connection.number(), &request, sizeof request, MSG_TRUNC); });
  if (size != sizeof request || !request.is_of_this_version()) return;
  std::lock_guard lock(mutex);
  if (const NamedMemory* memory = find(request.memory)) send_reply(connection, *memory);
}

}  // namespace

void answer_request(const Descriptor& connection, std::mutex& mutex,
                    const std::function<const NamedMemory*(const RandomKey& memory)>& find) {
  take_request(connection, mutex, find);
  ::shutdown(connection.number(), SHUT_RDWR);  // a child that was forked meanwhile has the connection, too
}

Result<ReceivedMemory> request_memory(const MemoryName& name, std::chrono::microseconds patience) {
  const Address address = address_of(name.process);
  const Descriptor connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!connection.open()) return failed("socket");
  const Deadline deadline(patience);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (deadline.again(connection, [&] { return ::connect(connection.number(), to, address.size); }) != 0) {
    if (errno != ECONNREFUSED) return failed("connect");
    return error(Code::not_found, "asking another process for its device memory: that process has gone");
  }
  if (!is_same_user(connection))
    return error(Code::unavailable, "asking another process for its device memory: it is of another user");
  Request request;
  request.memory = name.memory;
  const auto send = [&] { return ::send(connection.number(), &request, sizeof request, MSG_NOSIGNAL); };
  if (deadline.again(connection, send) != sizeof request) return failed("send");
  Reply reply;
  Message message(reply);
  const auto receive = [&] { return ::recvmsg(connection.number(), &message.header, MSG_CMSG_CLOEXEC); };
  const ssize_t size = deadline.again(connection, receive);
  if (size < 0) return failed("recvmsg");
  std::vector<Descriptor> descriptors = take_descriptors(message.header);
  if (size == 0) return error(Code::not_found, "asking another process for its device memory: it has none of that name");
  const bool is_whole = size == sizeof reply && (message.header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  auto memory = is_whole ? read(reply, std::move(descriptors)) : std::nullopt;
  if (!memory) return error(Code::incompatible, "asking another process for its device memory: what it sent is no reply");
  return std::move(*memory);
}

}  // namespace mneme::driver
