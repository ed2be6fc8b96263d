// What processes say to each other when one asks for the other's memory, and what they make of what is wrong.
#include "mneme/record/driver/memory_request.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace mneme::driver {
namespace {

constexpr Bytes kMapping = 2_MiB;

Descriptor make_memory() {
  Descriptor memory(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(memory.number(), static_cast<off_t>(kMapping.count)), 0);
  return memory;
}

class MemoryRequest : public ::testing::Test {
 protected:
  MemoryRequest() : name_{*make_key(), *make_key()}, listener_(*listen_for_requests(name_.process)) {
    memory_.allocation = {DevicePtr(0x7a0000200200), 3_MiB};
    for (int i = 0; i < 2; ++i) {
      memory_.mappings.push_back(
          {{DevicePtr(0x7a0000200000 + static_cast<uint64_t>(i) * kMapping.count), kMapping}, make_memory()});
      EXPECT_EQ(::pwrite(memory_.mappings.back().descriptor.number(), &i, sizeof i, 0), static_cast<ssize_t>(sizeof i));
    }
  }
  // Whoever connects next is served by `with`.
  std::thread serve(std::function<void(const Descriptor&)> with) {
    return std::thread([this, with = std::move(with)] {
      Descriptor connection;
      while (!connection.open()) connection = Descriptor(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
      with(connection);
    });
  }
  std::thread answer() {
    return serve([this](const Descriptor& connection) {
      answer_request(connection, mutex_, [this](const RandomKey& key) { return key == name_.memory ? &memory_ : nullptr; });
    });
  }
  // A process that answers with these bytes, and with so many descriptors.
  Result<ReceivedMemory> ask_one_that_says(std::vector<char> reply, size_t descriptors) {
    std::thread server = serve([&](const Descriptor& connection) {
      char request[64];
      EXPECT_EQ(::recv(connection.number(), request, sizeof request, 0), 32);
      iovec piece{reply.data(), reply.size()};
      alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
      msghdr header{};
      header.msg_iov = &piece;
      header.msg_iovlen = 1;
      if (descriptors != 0) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
        cmsghdr* const rights = CMSG_FIRSTHDR(&header);
        *rights = {CMSG_LEN(descriptors * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        for (size_t i = 0; i < descriptors; ++i) {
          const int number = memory_.mappings[0].descriptor.number();
          std::memcpy(CMSG_DATA(rights) + i * sizeof number, &number, sizeof number);
        }
      }
      ::sendmsg(connection.number(), &header, MSG_NOSIGNAL);
    });
    auto received = request_memory(name_);
    server.join();
    return received;
  }
  // One mapping of 2 MiB, of which `size` bytes from `offset` on are the allocation.
  static std::vector<char> reply(uint64_t offset, uint64_t size, uint64_t mappings = 1, uint64_t mapped = kMapping.count) {
    std::vector<char> bytes(16 + 3 * 8 + AddressSpace::kMostExportedMappings * 8);
    std::memcpy(bytes.data(), "MNEMEIPC\1", 9);
    const uint64_t words[] = {offset, size, mappings, mapped};
    std::memcpy(bytes.data() + 16, words, sizeof words);
    return bytes;
  }
  static size_t open_descriptors() {
    size_t count = 0;
    for (int number = 0; number < 256; ++number) count += ::fcntl(number, F_GETFD) >= 0;
    return count;
  }

  const MemoryName name_;
  const Descriptor listener_;
  std::mutex mutex_;
  NamedMemory memory_;
};

TEST_F(MemoryRequest, AHandleHoldsTheName) {
  const CUipcMemHandle handle = to_handle(name_);
  EXPECT_EQ(std::memcmp(handle.reserved, "MNEMEIPC\1\0\0\0\0\0\0\0", 16), 0);
  EXPECT_EQ(std::memcmp(handle.reserved + 16, name_.process.data(), 16), 0);
  EXPECT_EQ(std::memcmp(handle.reserved + 32, name_.memory.data(), 16), 0);
  EXPECT_EQ(name_in(handle), name_);
  for (const int at : {0, 7, 8, 12, 15, 48, 63}) {
    CUipcMemHandle other = handle;
    other.reserved[at] ^= 2;
    EXPECT_EQ(name_in(other), std::nullopt) << at;
  }
}

TEST_F(MemoryRequest, WhoAsksGetsTheMappings) {
  std::thread server = answer();
  const auto received = request_memory(name_);
  server.join();
  ASSERT_TRUE(received.ok()) << received.status().to_string();
  EXPECT_EQ(received->offset, Bytes(0x200));
  EXPECT_EQ(received->size, 3_MiB);
  EXPECT_EQ(received->mapped(), 4_MiB);
  ASSERT_EQ(received->mappings.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    int there = -1;
    EXPECT_EQ(::pread(received->mappings[static_cast<size_t>(i)].descriptor.number(), &there, sizeof there, 0),
              static_cast<ssize_t>(sizeof there));
    EXPECT_EQ(there, i);
  }
}

TEST_F(MemoryRequest, WhatIsNotThereIsNotFound) {
  std::thread server = answer();
  EXPECT_EQ(request_memory({name_.process, *make_key()}).status().message(),
            "asking another process for its device memory: it has none of that name");
  server.join();
  EXPECT_EQ(request_memory({*make_key(), name_.memory}).status().message(),
            "asking another process for its device memory: that process has gone");
}

// As a child has it that was forked while the request was answered.
TEST_F(MemoryRequest, AConnectionEndsWhoeverHasIt) {
  Descriptor kept;
  for (const MemoryName& name : {name_, MemoryName{name_.process, *make_key()}}) {
    std::thread server = serve([&](const Descriptor& connection) {
      kept = Descriptor(::dup(connection.number()));
      answer_request(connection, mutex_, [this](const RandomKey& key) { return key == name_.memory ? &memory_ : nullptr; });
    });
    EXPECT_EQ(request_memory(name).status().code(), name == name_ ? Code::ok : Code::not_found);
    server.join();
  }
}

TEST_F(MemoryRequest, ARequestThatIsNoneGetsNoReply) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  for (const std::string& request : {std::string(), std::string("M"), std::string(32, 'x'),
                                     std::string("MNEMEIPC\2") + std::string(23, '\0'), std::string(100'000, 'x')}) {
    std::thread server = answer();
    const Descriptor client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client.number(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    if (!request.empty())
      EXPECT_EQ(::send(client.number(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    char any;
    EXPECT_EQ(::recv(client.number(), &any, 1, 0), 0) << request.substr(0, 9);
    server.join();
  }
}

TEST_F(MemoryRequest, AReplyThatIsNoneIsRefusedAndLeavesNothingOpen) {
  auto fits = ask_one_that_says(reply(0x200, 4000), 1);
  ASSERT_TRUE(fits.ok()) << fits.status().to_string();
  fits->mappings.clear();
  const size_t before = open_descriptors();
  auto other_magic = reply(0, 1), other_version = reply(0, 1), cut = reply(0, 1), longer = reply(0, 1);
  other_magic[0] = 'm';
  other_version[8] = 2;
  cut.pop_back();
  longer.push_back(0);
  const std::pair<std::vector<char>, size_t> wrong[] = {{other_magic, 1},
                                                        {other_version, 1},
                                                        {cut, 1},
                                                        {longer, 1},
                                                        {{'x'}, 1},
                                                        {reply(0, 1), 0},
                                                        {reply(0, 1), 2},
                                                        {reply(0, 1, 2), 2},
                                                        {reply(0, 1, 0), 0},
                                                        {reply(0, 1, 1, 0), 1},
                                                        {reply(0, 0), 1},
                                                        {reply(kMapping.count, 1), 1},
                                                        {reply(1, kMapping.count), 1},
                                                        {reply(0, ~uint64_t{0}), 1},
                                                        {reply(0, 1, 1, ~uint64_t{0}), 1},
                                                        {reply(0, 1, ~uint64_t{0}), 1},
                                                        {reply(0, 1, 8), 8}};
  for (const auto& [bytes, descriptors] : wrong) {
    const auto received = ask_one_that_says(bytes, descriptors);
    EXPECT_EQ(received.status().message(), "asking another process for its device memory: what it sent is no reply");
  }
  EXPECT_EQ(open_descriptors(), before);
}

// As a timer or a profiler of the program sends them.
TEST_F(MemoryRequest, SignalsDoNotMakeItWaitLonger) {
  struct sigaction ignores{}, before{};
  ignores.sa_handler = [](int) {};
  ignores.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGPROF, &ignores, &before), 0);
  std::thread silent = serve([](const Descriptor& connection) {
    char any = 0;
    while (::recv(connection.number(), &any, sizeof any, 0) > 0) continue;
  });
  std::atomic<bool> has_ended = false;
  std::thread timer([&, asking = ::pthread_self()] {
    for (int i = 0; i < 1000 && !has_ended; ++i) {
      ::pthread_kill(asking, SIGPROF);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(has_ended) << "it waits as long as signals come";
  });
  const auto received = request_memory(name_, std::chrono::milliseconds(200));
  has_ended = true;
  timer.join();
  silent.join();
  EXPECT_EQ(received.status().message(),
            "asking another process for its device memory: recvmsg: Resource temporarily unavailable");
  EXPECT_EQ(::sigaction(SIGPROF, &before, nullptr), 0);
}

// As of a child that has the socket and is not asked: it is only the process's while it has this name.
TEST_F(MemoryRequest, ASocketIsKnownByItsName) {
  EXPECT_TRUE(is_socket_of(listener_.number(), name_.process));
  EXPECT_FALSE(is_socket_of(listener_.number(), name_.memory));
  EXPECT_FALSE(is_socket_of(memory_.mappings[0].descriptor.number(), name_.process));
  EXPECT_FALSE(listen_for_requests(name_.process).ok());
}

}  // namespace
}  // namespace mneme::driver
