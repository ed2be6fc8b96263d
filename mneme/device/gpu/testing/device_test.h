// DeviceTest: what the tests of the devices of GPU vendors have in common. Each runs over a library made for tests, in the place
// of a driver's, which exports its state; a member that both have means the same in both.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/device/device.h"

namespace mneme::gpu {

template <typename State>
class DeviceTest : public testing::Test {
 protected:
  // `function` of the library returns the state.
  DeviceTest(const char* library, const char* function) : library_(library), function_(function) {}

  void SetUp() override {
    void* handle = dlopen(library_, RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    auto function = reinterpret_cast<State* (*)()>(dlsym(handle, function_));
    ASSERT_NE(function, nullptr);
    state = function();
    *state = State();
  }

  void use(Result<std::unique_ptr<Device>> opened) {
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    device = std::move(opened).value();
    auto created = device->create_stream();
    ASSERT_TRUE(created.ok()) << created.status().to_string();
    stream = std::move(created).value();
  }

  // Of so many bytes, one of `step` of which tells where it is.
  void a_copy_arrives_whole(size_t size, size_t step) {
    std::vector<std::byte> bytes(size), back(size);
    for (size_t i = 0; i < size; i += step) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 24);
    auto memory = device->allocate(Bytes(size));
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(stream->copy_to_device(*memory, bytes).ok());
    ASSERT_TRUE(stream->copy_to_host(back, *memory).ok());
    EXPECT_TRUE(bytes == back) << size;
    ASSERT_TRUE(device->free(*memory).ok());
  }

  void copies_arrive_whole_however_late_the_bus_is() {
    state->late_copies = true;
    for (size_t size : {size_t{1}, size_t{4096}, (size_t{40} << 20) + 12345}) a_copy_arrives_whole(size, 64);
  }

  // `module` is one of the device's.
  void everything_is_given_back(std::unique_ptr<Module> module) {
    auto space = device->reserve(kDefaultAddressSpaceBase, 64_MiB);
    ASSERT_TRUE(space.ok()) << space.status().to_string();
    ASSERT_TRUE((*space)->allocate(Bytes(9 << 20)).ok());
    EXPECT_EQ(state->memory_handles, 0) << "the mapping keeps the memory";
    std::vector<std::byte> bytes(40 << 20);
    auto memory = device->allocate(Bytes(bytes.size()));
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(stream->copy_to_device(*memory, bytes).ok());
    ASSERT_TRUE(stream->copy_to_device(*memory, std::span(bytes).first(9 << 20)).ok());
    ASSERT_TRUE(stream->compare(*memory, *memory, 1_MiB).ok());
    ASSERT_TRUE(device->free(*memory).ok());
    EXPECT_GT(state->pinned, 0);
    EXPECT_GT(state->mappings, 0);
    space = Status(Code::not_found, "");
    module.reset();
    stream.reset();
    device.reset();
    for (int left : {state->modules, state->streams, state->events, state->reservations, state->mappings, state->allocations,
                     state->pinned, state->memory_handles})
      EXPECT_EQ(left, 0);
  }

  // `driver`: who gives the address, in the message.
  void a_range_that_is_taken_is_refused_with_its_owner(const std::string& driver) {
    void* taken = mmap(reinterpret_cast<void*>(kDefaultAddressSpaceBase.address), 4096, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_NE(taken, MAP_FAILED);
    auto refused = device->reserve(kDefaultAddressSpaceBase, 64_MiB);
    munmap(taken, 4096);
    EXPECT_THAT(refused.status().to_string(),
                testing::MatchesRegex("unavailable: reserving 64.0* MiB of device addresses at 0x7a0000000000: " + driver +
                                      " gave 0x[0-9a-f]+ instead; in this process the range is taken by "
                                      "0x7a0000000000-0x7a0000001000 anonymous memory"));
    EXPECT_EQ(state->reservations, 0);
  }

  void host_memory_that_the_device_sees_elsewhere_is_refused() {
    state->host_offset = 4096;
    EXPECT_EQ(device->map_host(kHostMemoryBase, 64_KiB).status().to_string(),
              "unsupported: mapping 64.0 KiB of host memory at 0x7c0000000000: the device sees it at 0x7c0000001000");
    EXPECT_EQ(state->pinned, 0);
  }

  // `failing` is called while the memory is shared.
  template <typename Failing>
  void shared_memory_is_imported_for_reading_only(Failing&& failing) {
    {
      auto memory = device->allocate_shared(3_MiB);
      ASSERT_TRUE(memory.ok()) << memory.status().to_string();
      auto descriptor = (*memory)->share();
      ASSERT_TRUE(descriptor.ok()) << descriptor.status().to_string();
      auto imported = device->import_shared(*descriptor, 3_MiB);
      ASSERT_TRUE(imported.ok()) << imported.status().to_string();
      *reinterpret_cast<int*>((*memory)->address().address) = 42;
      EXPECT_EQ(*reinterpret_cast<int*>((*imported)->address().address), 42);
      EXPECT_EXIT(*reinterpret_cast<volatile int*>((*imported)->address().address) = 1, testing::KilledBySignal(SIGSEGV), "");
      EXPECT_EQ(state->mappings, 2);
      auto again = (*imported)->share();
      EXPECT_TRUE(again.ok()) << again.status().to_string();
      failing(*descriptor);
    }
    EXPECT_EQ(state->mappings, 0);
    EXPECT_EQ(state->reservations, 0);
    EXPECT_EQ(state->memory_handles, 0);
  }

  State* state = nullptr;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;

 private:
  const char *library_, *function_;
};

}  // namespace mneme::gpu
