// Memory of the host that kernels reach, from the program's side.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

using ::testing::ElementsAre;

class HostMemoryOfAProgram : public ::testing::Test {
 protected:
  int* host_alloc(size_t count, unsigned flags = cudaHostAllocMapped) {
    void* out = nullptr;
    EXPECT_EQ(program.call<decltype(cudaHostAlloc)>(MNEME_CALL_cudaHostAlloc, &out, count * sizeof(int), flags), cudaSuccess);
    return static_cast<int*>(out);
  }
  cudaError_t free_host(void* pointer) { return program.call<decltype(cudaFreeHost)>(MNEME_CALL_cudaFreeHost, pointer); }
  cudaError_t host_register(void* pointer, size_t size, unsigned flags = 0) {
    return program.call<decltype(cudaHostRegister)>(MNEME_CALL_cudaHostRegister, pointer, size, flags);
  }
  cudaError_t host_unregister(void* pointer) {
    return program.call<decltype(cudaHostUnregister)>(MNEME_CALL_cudaHostUnregister, pointer);
  }
  struct Recorded {
    std::vector<std::string> regions;
    MemoryState prologue, epilogue;
  };
  Recorded recorded() {
    auto instances = program.instances();
    if (instances.empty()) return {};
    auto database = *Database::open(program.database());
    auto found = *database.load_instance(instances.back().static_hash, instances.back().dynamic_hash);
    Recorded out{{}, found.prologue, found.epilogue};
    for (const Region& region : found.prologue.regions)
      out.regions.push_back(fmt::format("{} {}+{}", static_cast<int>(region.kind), region.address, region.size.count));
    return out;
  }
  int int_at(const Region& region, uint64_t index) {
    auto database = *Database::open(program.database());
    ByteVector page(page_extent(region.range(), 0).size.count);
    PageRequest request{region.pages[0], page};
    EXPECT_TRUE(database.read_pages({&request, 1}).ok());
    int value;
    std::memcpy(&value, page.data() + index * sizeof value, sizeof value);
    return value;
  }
  FakeProgram program{with_all_memory()};  // that no argument points to, too
};

TEST_F(HostMemoryOfAProgram, IsCapturedAtAFixedAddress) {
  int* first = host_alloc(1000);
  void* second = nullptr;
  EXPECT_EQ(program.call<decltype(cudaMallocHost)>(MNEME_CALL_cudaMallocHost, &second, size_t{100}), cudaSuccess);
  ASSERT_EQ(reinterpret_cast<uint64_t>(first), kHostMemoryBase.address);
  ASSERT_EQ(reinterpret_cast<uint64_t>(second), kHostMemoryBase.address + kPageSize.count);
  EXPECT_EQ(program.vendor().registered.at(first), 4096u);
  EXPECT_EQ(first[999], 0);
  first[7] = 41;
  EXPECT_EQ(program.launch(program.increment, first, 10), cudaSuccess);
  EXPECT_EQ(first[7], 42);
  Recorded state = recorded();
  EXPECT_THAT(state.regions, ElementsAre("3 0x7c0000000000+4000", "3 0x7c0000010000+100"));
  EXPECT_EQ(int_at(state.prologue.regions[0], 7), 41);
  EXPECT_EQ(int_at(state.epilogue.regions[0], 7), 42);
  EXPECT_EQ(state.prologue.regions[1].pages, state.epilogue.regions[1].pages);
  EXPECT_EQ(program.count(NotRecorded::host_memory), 0u);

  EXPECT_EQ(free_host(first + 1), cudaErrorInvalidValue) << "no allocation starts there";
  EXPECT_TRUE(program.vendor().registered.contains(first));
  EXPECT_EQ(free_host(first), cudaSuccess);
  EXPECT_EQ(free_host(first), cudaErrorInvalidValue);
  EXPECT_FALSE(program.vendor().registered.contains(first));
  EXPECT_EQ(host_alloc(5000), first);
  EXPECT_EQ(first[7], 0);  // as fresh memory
}

// The epilogue would not be of the memory of the prologue.
TEST_F(HostMemoryOfAProgram, ThatGoesWhileTheKernelRunsEndsTheCapture) {
  int* first = host_alloc(1000);
  alignas(4096) static int own[3000];
  EXPECT_EQ(host_register(own, 8000), cudaSuccess);
  const auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    EXPECT_EQ(host_unregister(own), cudaSuccess);
    return body(arguments);
  };
  EXPECT_EQ(program.launch(program.increment, first, 10), cudaSuccess);
  EXPECT_TRUE(program.instances().empty());
  EXPECT_EQ(program.count(NotRecorded::concurrent), 1u);
  program.vendor().kernels[program.increment] = body;
  EXPECT_EQ(program.launch(program.increment, first, 10), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST_F(HostMemoryOfAProgram, IsCapturedWhereTheProgramRegisteredIt) {
  alignas(4096) static int own[3000];
  own[20] = 5;
  EXPECT_EQ(host_register(own + 10, 8000), cudaSuccess);
  program.launch(program.increment, own, 100);
  EXPECT_THAT(recorded().regions, ElementsAre(fmt::format("3 {:#x}+8000", reinterpret_cast<uint64_t>(own + 10))));
  EXPECT_EQ(host_unregister(own + 10), cudaSuccess);
  EXPECT_EQ(host_unregister(own + 10), cudaErrorHostMemoryNotRegistered);
  program.launch(program.increment, own, 100);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST_F(HostMemoryOfAProgram, ServedMemoryIsNotTheProgramsToUnregister) {
  int* memory = host_alloc(10);
  EXPECT_EQ(host_unregister(memory), cudaErrorHostMemoryNotRegistered);
  EXPECT_TRUE(program.vendor().registered.contains(memory));
  unsigned flags = 0;
  EXPECT_EQ(program.call<decltype(cudaHostGetFlags)>(MNEME_CALL_cudaHostGetFlags, &flags, static_cast<void*>(memory + 3)),
            cudaSuccess);
  EXPECT_EQ(flags, 100u + cudaHostAllocMapped);  // what the vendor says of memory that it allocates with these flags
  EXPECT_TRUE(program.vendor().host_allocations.empty());
}

TEST_F(HostMemoryOfAProgram, WhatCannotBePinnedIsTheVendors) {
  program.vendor().cannot_register = true;
  int* memory = host_alloc(10);
  EXPECT_NE(reinterpret_cast<uint64_t>(memory), kHostMemoryBase.address);
  program.launch(program.increment, memory + 1, 1);
  EXPECT_EQ(program.count(NotRecorded::host_memory), 1u);
  EXPECT_EQ(program.vendor().last_error, cudaSuccess);
  EXPECT_EQ(free_host(memory), cudaSuccess);
  program.vendor().last_error = cudaErrorInvalidPitchValue;
  EXPECT_EQ(free_host(host_alloc(10)), cudaSuccess);
  EXPECT_NE(program.vendor().last_error, cudaSuccess) << "the program has not asked for its own error yet";
  program.vendor().cannot_register = false;
  EXPECT_EQ(reinterpret_cast<uint64_t>(host_alloc(10)), kHostMemoryBase.address) << "nothing of the range is lost";
}

TEST_F(HostMemoryOfAProgram, OfAKindThatIsNotKnownIsTheVendors) {
  int* memory = host_alloc(10, cudaHostAllocMapped | 0x80);
  EXPECT_NE(reinterpret_cast<uint64_t>(memory), kHostMemoryBase.address);
  EXPECT_EQ(program.vendor().host_allocations.at(memory), cudaHostAllocMapped | 0x80u);
  EXPECT_EQ(free_host(memory), cudaSuccess);
}

// Kernels that may be using it end first.
TEST_F(HostMemoryOfAProgram, IsTakenAwayWhenTheDeviceIsDone) {
  for (bool reset : {false, true}) {
    int* memory = host_alloc(16);
    bool was_pinned = false;
    program.vendor().pending = [&] { was_pinned = program.vendor().registered.contains(memory); };
    if (reset)
      EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
    else
      EXPECT_EQ(free_host(memory), cudaSuccess);
    EXPECT_TRUE(was_pinned) << reset;
    EXPECT_FALSE(program.vendor().registered.contains(memory));
    program.vendor().pending = nullptr;
  }
}

TEST_F(HostMemoryOfAProgram, NorOneThatMayWaitByManagedMemory) {
  program.vendor().shares_managed = true;
  void* managed = nullptr;
  program.end_in(MNEME_TABLE_CUDA);
  ASSERT_EQ(program.call<decltype(cudaMallocManaged)>(MNEME_CALL_cudaMallocManaged, &managed, size_t{64}, 1u), cudaSuccess);
  program.end_in(MNEME_TABLE_CPU);
  std::memset(managed, 0, 64);
  const auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    program.vendor().busy = true;
    return body(arguments);
  };
  EXPECT_EQ(program.launch(program.increment, static_cast<int*>(managed), 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::waits_for_host), 1u);
  program.vendor().busy = false;
  EXPECT_EQ(program.free(managed), cudaSuccess);
}

// What another thread frees while a launch is being recorded is freed later: when the device is known to be idle.
TEST_F(HostMemoryOfAProgram, WhatWasFreedMeanwhileStaysWhileTheDeviceRuns) {
  host_alloc(16);
  int *data = program.allocate<int>(1), *other = program.allocate<int>(1);
  const auto is_there = [&] { return recorder()->find_allocation(DevicePtr(reinterpret_cast<uint64_t>(other))).has_value(); };
  program.vendor().busy = true;  // by work from before the launch
  std::thread freeing([&] {
    Gate& gate = recorder()->gate();
    for (; gate.try_enter(); std::this_thread::yield()) gate.leave();
    EXPECT_EQ(program.free(other), cudaSuccess);
  });
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  freeing.join();
  EXPECT_EQ(program.count(NotRecorded::waits_for_host), 1u);
  EXPECT_TRUE(is_there()) << "it may be in use";
  program.vendor().busy = false;
  EXPECT_EQ(program.free(data), cudaSuccess);
  EXPECT_FALSE(is_there());
}

// A kernel of any device may use it.
TEST_F(HostMemoryOfAProgram, IsFreedWhenAllDevicesAreIdle) {
  program.vendor().device = 1;
  program.allocate<int>(1);
  program.vendor().device = 0;
  program.allocate<int>(1);
  int* memory = host_alloc(16);
  bool done = false;
  program.vendor().pending = [&] { done = true; };
  program.vendor().pending_on = 1;
  EXPECT_EQ(free_host(memory), cudaSuccess);
  EXPECT_TRUE(done) << "what the other device had to do";
}

TEST_F(HostMemoryOfAProgram, OutlivesAResetWhileAnotherDeviceIsOpen) {
  program.allocate<int>(1);
  program.vendor().device = 1;
  program.allocate<int>(1);
  int* memory = host_alloc(16);
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  EXPECT_TRUE(program.vendor().registered.contains(memory));
  program.vendor().device = 0;
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  EXPECT_FALSE(program.vendor().registered.contains(memory));
}

// Of what was registered and unmapped without a word, and registered anew by less, what is there now counts.
TEST_F(HostMemoryOfAProgram, StaysWhereTheDeviceCannotBeWaitedFor) {
  int* memory = host_alloc(16);
  memory[3] = 5;
  program.vendor().fault = cudaErrorIllegalAddress;
  EXPECT_EQ(free_host(memory), cudaErrorIllegalAddress);
  EXPECT_TRUE(program.vendor().registered.contains(memory));
  EXPECT_EQ(memory[3], 5) << "it may be in use";
  program.vendor().fault = cudaSuccess;
  EXPECT_EQ(free_host(memory), cudaSuccess);
  EXPECT_FALSE(program.vendor().registered.contains(memory));
}

TEST_F(HostMemoryOfAProgram, IsInNoTwoRegions) {
  alignas(4096) static char own[4 * 4096];
  EXPECT_EQ(host_register(own, 3 * 4096), cudaSuccess);
  EXPECT_EQ(host_register(own + 4096, 4096), cudaSuccess);
  EXPECT_EQ(host_register(own + 3 * 4096, 4096), cudaSuccess);
  program.launch(program.increment, reinterpret_cast<int*>(own), 1);
  const auto place = reinterpret_cast<uint64_t>(own);
  EXPECT_THAT(recorded().regions,
              ElementsAre(fmt::format("3 {:#x}+12288", place), fmt::format("3 {:#x}+4096", place + 3 * 4096)));
  EXPECT_EQ(program.report().failure.get(), "");
}

TEST(HostMemory, SaysOnceThatItsRangeIsTaken) {
  void* base = reinterpret_cast<void*>(kHostMemoryBase.address);
  ASSERT_EQ(::mmap(base, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), base);
  HostMemory memory(64_MiB);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(memory.serve(Bytes(16)).status().code(), Code::unavailable);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::StartsWith("mneme: warning: host memory for the device is not recorded: "));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  ::munmap(base, 4096);
}

TEST_F(HostMemoryOfAProgram, RegistersOfADeviceAreNotCaptured) {
  static int registers[100];
  EXPECT_EQ(host_register(registers, sizeof registers, cudaHostRegisterIoMemory), cudaSuccess);
  program.launch(program.increment, registers, 1);
  EXPECT_EQ(program.count(NotRecorded::host_memory), 1u);
  EXPECT_EQ(host_unregister(registers), cudaSuccess);
  EXPECT_EQ(host_register(registers, sizeof registers), cudaSuccess);
  program.launch(program.increment, registers, 1);
  EXPECT_EQ(program.instances().size(), 1u) << "they are memory as any other then";
}

TEST_F(HostMemoryOfAProgram, ThatWasUnmappedWithoutAWordIsLeftOut) {
  void* gone = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  EXPECT_EQ(host_register(gone, 1 << 20), cudaSuccess);
  ::munmap(gone, 1 << 20);
  int* data = program.allocate<int>(16);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_THAT(recorded().regions, ElementsAre("1 0x7a0000000000+64"));
}

TEST_F(HostMemoryOfAProgram, WhoseEndWasUnmappedIsLeftOut) {
  void* cut = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(cut, MAP_FAILED);
  EXPECT_EQ(host_register(cut, 1 << 20), cudaSuccess);
  ::munmap(static_cast<char*>(cut) + (1 << 20) - 4096, 4096);
  int* data = program.allocate<int>(16);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_THAT(recorded().regions, ElementsAre("1 0x7a0000000000+64"));
  ::munmap(cut, (1 << 20) - 4096);
}

// Pages are those of the address space, and not counted from where the memory begins.
TEST_F(HostMemoryOfAProgram, ThatReachesOverTwoPagesIsReadAnewWhereItHasChanged) {
  alignas(65536) static char pages[2 * 65536];
  char* memory = pages + 4096;
  const size_t size = sizeof pages - 2 * 4096;
  EXPECT_EQ(host_register(memory, size), cudaSuccess);
  int* data = program.allocate<int>(16);
  EXPECT_EQ(program.launch(program.increment, data, 0), cudaSuccess);
  for (size_t changed : {size - 1, size_t{65536 - 4096}, size_t{0}}) {
    memory[changed] = 'x';
    EXPECT_EQ(program.launch(program.increment, data, 0), cudaSuccess);
    auto database = *Database::open(program.database());
    std::vector<ByteVector> seen;
    for (const InstanceRecord& instance : program.instances()) {
      const auto recorded = *database.load_instance(instance.static_hash, instance.dynamic_hash);
      const auto found = std::find_if(recorded.prologue.regions.begin(), recorded.prologue.regions.end(),
                                      [](const Region& region) { return region.kind == Region::Kind::host; });
      ASSERT_NE(found, recorded.prologue.regions.end());
      const Region& region = *found;
      ASSERT_EQ(region.pages.size(), 2u);
      ByteVector bytes(size);
      std::vector<PageRequest> requests;
      for (uint64_t i = 0; i < 2; ++i) {
        const MemoryRange extent = page_extent(region.range(), i);
        requests.push_back(
            {region.pages[i], MutableByteSpan(bytes).subspan((extent.address - region.address).count, extent.size.count)});
      }
      ASSERT_TRUE(database.read_pages(requests).ok());
      seen.push_back(std::move(bytes));
    }
    EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [&](const ByteVector& bytes) {
      return std::memcmp(bytes.data(), memory, size) == 0;
    })) << changed;
  }
}

TEST_F(HostMemoryOfAProgram, WithAHoleIsNotRecorded) {
  void* holed = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(holed, MAP_FAILED);
  EXPECT_EQ(host_register(holed, 1 << 20), cudaSuccess);
  ::munmap(static_cast<char*>(holed) + (512 << 10), 64 << 10);
  int* data = program.allocate<int>(16);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::host_memory), 1u);
  EXPECT_EQ(program.report().failure.get(), "");
  EXPECT_TRUE(program.instances().empty());
  EXPECT_EQ(host_unregister(holed), cudaSuccess);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
  ::munmap(holed, 1 << 20);
}

TEST_F(HostMemoryOfAProgram, AKernelThatWaitsForTheHostIsNotWaitedForForEver) {
  int* flag = host_alloc(16);
  program.launch(program.increment, flag, 1);
  ASSERT_EQ(program.instances().size(), 1u);
  int* other = host_alloc(16);
  const auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    program.vendor().busy = true;  // until the program has set its flag, after the launch
    return body(arguments);
  };
  other[0] = 77;  // seen first by a launch that is given up
  EXPECT_EQ(program.launch(program.increment, flag, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::waits_for_host), 1u);
  program.vendor().busy = false;
  program.vendor().kernels[program.increment] = body;
  EXPECT_EQ(program.launch(program.increment, flag, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST_F(HostMemoryOfAProgram, CanBeAnnotated) {
  int* memory = host_alloc(100);
  mneme_annotation annotation{MNEME_I32, 2};
  program.call_table().annotate(&program.call_table(), memory + 4, 0, &annotation);
  program.launch(program.increment, memory, 1);
  auto kept = program.instances().at(0).annotations;
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].address, kHostMemoryBase + Bytes(16));
  EXPECT_EQ(kept[0].size, Bytes(384));
  EXPECT_EQ(free_host(memory), cudaSuccess);
  ASSERT_EQ(host_alloc(100), memory);
  program.launch(program.increment, memory, 0);
  EXPECT_TRUE(program.instances().back().annotations.empty() || program.instances().front().annotations.empty());
}

TEST_F(HostMemoryOfAProgram, ThatIsUnregisteredIsAnnotatedNoMore) {
  static int own[100];
  EXPECT_EQ(host_register(own, sizeof own), cudaSuccess);
  const mneme_annotation annotation{MNEME_I32, 2};
  program.call_table().annotate(&program.call_table(), own, 0, &annotation);
  EXPECT_EQ(host_unregister(own), cudaSuccess);
  EXPECT_EQ(host_register(own, sizeof own), cudaSuccess);
  program.launch(program.increment, own, 0);
  EXPECT_TRUE(program.instances().at(0).annotations.empty());
}

// Kernels of the graph go on using it.
TEST_F(HostMemoryOfAProgram, ThatIsFreedInAStreamCaptureIsNobodyElses) {
  int* first = host_alloc(16);
  program.launch(program.increment, first, 1);
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal);
  const int before = program.vendor().synchronizations;
  EXPECT_EQ(free_host(first), cudaSuccess);
  EXPECT_EQ(program.vendor().synchronizations, before);
  cudaGraph_t graph = nullptr;
  program.call<decltype(cudaStreamEndCapture)>(MNEME_CALL_cudaStreamEndCapture, stream, &graph);
  EXPECT_TRUE(program.vendor().registered.contains(first));
  ASSERT_NE(host_alloc(16), first);
  EXPECT_EQ(first[0], 1);
}

TEST_F(HostMemoryOfAProgram, ThatGoesWithTheDeviceWhileTheKernelRunsEndsTheCapture) {
  int* first = host_alloc(16);
  const auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    const cudaError_t code = body(arguments);
    program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset);
    return code;
  };
  EXPECT_EQ(program.launch(program.increment, first, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::concurrent), 1u);
  EXPECT_TRUE(program.instances().empty());
}

// The thread that waits has no current device of the program's.
TEST_F(HostMemoryOfAProgram, IsReadWhenTheDeviceOfTheProgramIsDone) {
  program.vendor().device = program.vendor().pending_on = 1;
  int* memory = host_alloc(16);
  const auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [&](void** arguments) {
    program.vendor().pending = [&body, memory, count = *static_cast<int*>(arguments[1])]() mutable {
      void* own[] = {&memory, &count};
      body(own);
    };
    return cudaSuccess;
  };
  EXPECT_EQ(program.launch(program.increment, memory, 16), cudaSuccess);
  const Recorded state = recorded();
  ASSERT_EQ(state.regions.size(), 1u);
  EXPECT_EQ(int_at(state.prologue.regions[0], 15), 0);
  EXPECT_EQ(int_at(state.epilogue.regions[0], 15), 1);
}

TEST_F(HostMemoryOfAProgram, GoesWithTheDevice) {
  int* memory = host_alloc(100);
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  EXPECT_TRUE(program.vendor().registered.empty());
  EXPECT_EQ(free_host(memory), cudaErrorInvalidValue);
  EXPECT_EQ(host_alloc(100), memory) << "its place is free";
}

}  // namespace
}  // namespace mneme::testing
