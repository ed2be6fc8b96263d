// How a process gets memory of the recorder that another process has given a handle for (cuIpcGetMemHandle).
//
// The driver makes such handles of memory only that it has placed itself, and the recorder places what it serves
// (docs/adr/0069-handles-of-served-memory.md). In their place the front gives out names of its own, which fit into a handle's 64
// bytes. Whoever has one asks the process that made it, over a socket in the abstract namespace whose name is a random number in
// the handle, and gets descriptors of the memory. Both sides want the other one to be of the same user.
//
// A connection carries one request and one reply, as one packet each (SOCK_SEQPACKET). A request for memory that is not there
// (any more), or that is not understood, gets no reply: the connection ends.
#pragma once

#include <cuda.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/device/address_space.h"

namespace mneme::driver {

using RandomKey = std::array<uint8_t, 16>;
// unavailable: the system gives no random numbers.
Result<RandomKey> make_key();

// What the 64 bytes of a handle are: "MNEMEIPC", the version of this layout (1, as 4 bytes, little-endian), 4 bytes of zero, the
// two keys, 16 bytes of zero.
struct MemoryName {
  RandomKey process{};  // names the socket of the process that made the handle
  RandomKey memory{};   // names one allocation in that process
  friend bool operator==(const MemoryName&, const MemoryName&) = default;
};
CUipcMemHandle to_handle(const MemoryName& name);
// Nothing: the handle is the driver's, or of another version.
std::optional<MemoryName> name_in(const CUipcMemHandle& handle);

// An allocation, and the mappings that it lies in, which follow each other without gaps.
struct NamedMemory {
  MemoryRange allocation;
  std::vector<ExportedMapping> mappings;
};

// The socket on which the process of that key is asked for memory. unavailable: the system makes none.
Result<Descriptor> listen_for_requests(const RandomKey& process);
// Whether the descriptor still is that socket: a program may close descriptors that are not its own, and get their numbers for
// others.
bool is_socket_of(int descriptor, const RandomKey& process);
// Takes the request on a new connection, sends what `find` gives for the key, and ends the connection for each process that has
// it. Null is for what is not there. `mutex` is held while that is looked at, and not while the other side is waited for, which
// is for a second at most.
void answer_request(const Descriptor& connection, std::mutex& mutex,
                    const std::function<const NamedMemory*(const RandomKey& memory)>& find);

// What a reply holds. Where the memory lies in the other process is not told.
struct ReceivedMemory {
  Bytes offset, size;  // of the allocation in the mappings, which are taken as one
  struct Mapping {
    Bytes size;
    Descriptor descriptor;
  };
  std::vector<Mapping> mappings;
  Bytes mapped() const;
};
// Asks for memory. not_found: the process has gone, or has no memory of that name. unavailable: the connection failed, the
// other side is of another user, or it has not answered within the patience, however many signals came meanwhile. incompatible:
// what it has sent is no reply.
Result<ReceivedMemory> request_memory(const MemoryName& name, std::chrono::microseconds patience = std::chrono::seconds(10));

}  // namespace mneme::driver
