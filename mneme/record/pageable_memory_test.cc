// Memory of the host that nobody has told the vendor of, with a vendor whose devices reach it.
#include "mneme/record/pageable_memory.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

using Attributes = std::map<std::string, std::string>;
using ::testing::UnorderedElementsAre;

RecordingOptions all_launches() {
  RecordingOptions options;
  options.max = 100;
  return options;
}

TEST(Pageable, MemoryOfTheHostThatALaunchIsGivenIsNotRecorded) {
  FakeProgram program(all_launches());
  int* data = program.allocate<int>(16);
  std::vector<int> on_heap(64);
  int on_stack[64] = {};
  static int variable[64] = {};
  EXPECT_EQ(program.launch(program.increment, on_heap.data(), 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::pageable_memory), 0u) << "the device does not reach it";
  program.vendor().reaches_pageable = true;
  uint64_t passed = 0;
  for (int* given : {on_heap.data(), on_stack, variable}) {
    EXPECT_EQ(program.launch(program.increment, given, 1), cudaSuccess);
    EXPECT_EQ(program.count(NotRecorded::pageable_memory), ++passed);
  }
  EXPECT_EQ(on_heap[0], 2);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.launch(program.increment, nullptr, 0), cudaSuccess);
  EXPECT_EQ(program.launch(program.add_table, data), cudaSuccess);
  EXPECT_EQ(program.launch(program.increment, program.table, 1), cudaSuccess) << "of the vendor";
  EXPECT_EQ(program.count(NotRecorded::pageable_memory), passed);
  EXPECT_EQ(program.report().instances, 5u);
}

// A look at managed memory would take its pages from the device. Here it would give the program a page.
TEST(Pageable, MemoryIsNotLookedAtWhereTheDeviceReachesNone) {
  FakeProgram program(all_launches());
  program.allocate<int>(16);
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto is_touched = [&] {
    unsigned char resident = 0;
    EXPECT_EQ(::mincore(page, 4096, &resident), 0);
    return (resident & 1) != 0;
  };
  EXPECT_EQ(program.launch(program.increment, static_cast<int*>(page), 0), cudaSuccess);
  EXPECT_FALSE(is_touched());
  program.vendor().reaches_pageable = true;
  EXPECT_EQ(program.launch(program.increment, static_cast<int*>(page), 0), cudaSuccess);
  EXPECT_TRUE(is_touched()) << "as the test would find it";
  ::munmap(page, 4096);
}

TEST(Pageable, MemoryThatIsRegisteredIsNone) {
  FakeProgram program(all_launches());
  program.vendor().reaches_pageable = true;
  program.allocate<int>(16);
  std::vector<int> words(64 << 10);
  const auto launch = [&](size_t at) { EXPECT_EQ(program.launch(program.increment, words.data() + at, 0), cudaSuccess); };
  ASSERT_EQ(
      program.call<decltype(cudaHostRegister)>(MNEME_CALL_cudaHostRegister, static_cast<void*>(words.data()), size_t{4096}, 0u),
      cudaSuccess);
  launch(0);
  launch(1024);  // its end
  EXPECT_EQ(program.count(NotRecorded::pageable_memory), 0u);
  launch(32 << 10);  // beyond what an address may stand for
  EXPECT_EQ(program.count(NotRecorded::pageable_memory), 1u);
  EXPECT_EQ(program.call<decltype(cudaHostUnregister)>(MNEME_CALL_cudaHostUnregister, static_cast<void*>(words.data())),
            cudaSuccess);
  launch(0);
  EXPECT_EQ(program.count(NotRecorded::pageable_memory), 2u);
}

TEST(Pageable, AddressesElsewhereAreToldByTheInstance) {
  static int variable[64] = {};
  for (const MemoryExtent extent : {MemoryExtent::reachable, MemoryExtent::all}) {
    RecordingOptions options = all_launches();
    options.memory_extent = extent;
    FakeProgram program(options);
    program.vendor().reaches_pageable = true;
    int* data = program.allocate<int>(16);
    std::memset(data, 0, 16 * sizeof(int));
    const auto attributes = [&] {
      std::vector<Attributes> all;
      for (const InstanceRecord& instance : program.instances()) all.push_back(instance.attributes);
      return all;
    };
    EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
    EXPECT_THAT(attributes(), UnorderedElementsAre(Attributes()));
    const int* there = variable;
    std::memcpy(data + 8, &there, sizeof there);
    EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
    EXPECT_THAT(attributes(), UnorderedElementsAre(Attributes(), Attributes{{"pageable_pointers", "memory"}}));
    program.vendor().reaches_pageable = false;
    EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
    EXPECT_THAT(attributes(), UnorderedElementsAre(Attributes(), Attributes(), Attributes{{"pageable_pointers", "memory"}}));
    EXPECT_EQ(program.count(NotRecorded::pageable_memory), 0u);
  }
}

// A struct may have an address for the host alone.
TEST(Pageable, AnAddressInAStructIsToldByTheInstance) {
  FakeProgram program(all_launches());
  program.vendor().reaches_pageable = true;
  int* data = program.allocate<int>(16);
  TestSegment segment;
  segment.name = "of_struct";
  segment.parameters = {{MNEME_PARAM_POINTER, 0, 8, "data"}, {MNEME_PARAM_AGGREGATE, 8, 20, "named"}};
  segment.parameter_bytes = 28;
  const char* const of_struct = "of_struct";
  program.add_image({segment.build()}, {of_struct});
  program.vendor().kernels[of_struct] = [](void**) { return cudaSuccess; };
  static int variable = 0;
  struct __attribute__((packed)) Named {
    uint32_t first[2];
    const int* there;
    uint32_t last;
  };
  for (const int* there : {static_cast<const int*>(data), static_cast<const int*>(&variable)}) {
    Named named{{1, 2}, there, 3};
    void* arguments[] = {&data, &named};
    EXPECT_EQ(program.call<decltype(cudaLaunchKernel)>(MNEME_CALL_cudaLaunchKernel, static_cast<const void*>(of_struct), dim3(1),
                                                       dim3(1), static_cast<void**>(arguments), size_t{0}, cudaStream_t{}),
              cudaSuccess);
  }
  std::vector<Attributes> all;
  for (const InstanceRecord& instance : program.instances()) all.push_back(instance.attributes);
  EXPECT_THAT(all, UnorderedElementsAre(Attributes(), Attributes{{"pageable_pointers", "parameters"}}));
}

// It may be waiting for the host, which a capture would keep from going on.
TEST(Pageable, ALaunchThatWasGivenItIsNotWaitedForForEver) {
  FakeProgram program(all_launches());
  program.vendor().reaches_pageable = true;
  int* data = program.allocate<int>(16);
  static int flag = 0;
  EXPECT_EQ(program.launch(program.increment, &flag, 1), cudaSuccess);
  program.vendor().busy = true;
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::waits_for_host), 1u);
  program.vendor().busy = false;
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.report().instances, 1u);
}

TEST(Pageable, AMappingThatIsNewIsFound) {
  PageableMemory pageable(kDefaultAddressSpaceBase);
  static int variable = 0;
  EXPECT_TRUE(pageable.may_hold(DevicePtr(reinterpret_cast<uint64_t>(&variable))));
  const std::vector<char> large(64 << 20);
  EXPECT_TRUE(pageable.may_hold(DevicePtr(reinterpret_cast<uint64_t>(large.data() + large.size() / 2))));
  void* const changed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const DevicePtr there(reinterpret_cast<uint64_t>(changed));
  static int another = 0;
  ::mprotect(changed, 4096, PROT_READ | PROT_EXEC);
  EXPECT_FALSE(pageable.may_hold(there)) << "code";
  EXPECT_TRUE(pageable.may_hold(DevicePtr(reinterpret_cast<uint64_t>(&another))));
  ::mprotect(changed, 4096, PROT_READ | PROT_WRITE);
  EXPECT_TRUE(pageable.may_hold(there));
  ::munmap(changed, 4096);
  for (const uint64_t none : {uint64_t{0}, uint64_t{8}, uint64_t{1} << 20, kDefaultAddressSpaceBase.address, ~uint64_t{0}})
    EXPECT_FALSE(pageable.may_hold(DevicePtr(none))) << none;
}

}  // namespace
}  // namespace mneme::testing
