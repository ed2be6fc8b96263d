#include <atomic>
#include <set>
#include <thread>

#include "mneme/cpu/cuda_runtime/images.h"
#include "mneme/cpu/cuda_runtime/testing/program.h"

namespace mneme::emulation {
namespace {

TEST(Launch, RunsAKernelAndKeepsItsGlobals) {
  int* numbers = make_numbers(3);
  int before = 0, after = 0;
  EXPECT_EQ(CUDA(cudaMemcpyFromSymbol)(&before, &Program::get().state, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_GE(before, 40);  // its initial value, and the launches of other tests
  EXPECT_EQ(launch_scale(numbers, 10, 3), cudaSuccess);
  EXPECT_EQ(numbers[2], 30);
  CUDA(cudaMemcpyFromSymbol)(&after, &Program::get().state, 4, 0, cudaMemcpyDeviceToHost);
  EXPECT_EQ(after, before + 1);
  CUDA(cudaFree)(numbers);
}

TEST(Launch, ConfigurationIsPushedAndPopped) {
  auto push = reinterpret_cast<unsigned (*)(dim3, dim3, size_t, cudaStream_t)>(
      Program::get().slots[MNEME_CALL___cudaPushCallConfiguration]);
  auto pop = reinterpret_cast<cudaError_t (*)(dim3*, dim3*, size_t*, void*)>(
      Program::get().slots[MNEME_CALL___cudaPopCallConfiguration]);
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(push(dim3(2, 3, 6), dim3(4, 7, 8), 5, cudaStreamPerThread), 0u);
  EXPECT_EQ(push(dim3(9), dim3(9), 9, nullptr), 0u);
  EXPECT_EQ(pop(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ(grid.x, 9u) << "the last one first";
  EXPECT_EQ(pop(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ((Dim3{grid.x, grid.y, grid.z}), (Dim3{2, 3, 6}));
  EXPECT_EQ((Dim3{block.x, block.y, block.z}), (Dim3{4, 7, 8}));
  EXPECT_EQ(shared, 5u);
  EXPECT_EQ(stream, cudaStreamPerThread);
  EXPECT_EQ(pop(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
  CUDA(cudaGetLastError)();
}

TEST(Launch, RefusesShapesThatTheDeviceCannotRun) {
  Program& program = Program::get();
  int *data = nullptr, number = 0;
  void* arguments[] = {&data, &number, &number};
  auto launch = [&](dim3 grid, dim3 block, size_t shared) {
    return CUDA(cudaLaunchKernel)(&program.scale, grid, block, arguments, shared, nullptr);
  };
  EXPECT_EQ(launch(dim3(0), dim3(1), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1), dim3(1025), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1), dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1, 65536), dim3(1), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1, 1, 65536), dim3(1), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1, 1, 65535), dim3(1), 49152), cudaSuccess) << "the most";
  EXPECT_EQ(launch(dim3(1), dim3(1024), 0), cudaErrorLaunchOutOfResources);  // the kernel is bound to 512 threads
  EXPECT_EQ(launch(dim3(1), dim3(1), 49153), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFuncSetAttribute)(&program.scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000), cudaSuccess);
  EXPECT_EQ(launch(dim3(1), dim3(1), 49153), cudaSuccess);
  EXPECT_EQ(launch(dim3(1), dim3(1), 60000), cudaSuccess);
  EXPECT_EQ(launch(dim3(1), dim3(1), 60001), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFuncSetAttribute)(&program.scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(&data, dim3(1), dim3(1), arguments, 0, nullptr), cudaErrorInvalidDeviceFunction);
  CUDA(cudaGetLastError)();
}

TEST(Launch, RefusedKernelsAreNamedOnceWithTheReason) {
  auto launch = [](char& stub) { return CUDA(cudaLaunchKernel)(&stub, dim3(1), dim3(1), nullptr, 0, nullptr); };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(launch(Program::get().refused), cudaErrorNotSupported);
  EXPECT_EQ(launch(Program::get().refused), cudaErrorNotSupported);
  EXPECT_EQ(launch(Program::get().plain), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: error: kernel refused cannot run on the CPU device: unsupported: wgmma.mma_async\n"
            "mneme: error: kernel plain: no IR of it in its device image: compile the file that defines it with `mneme config "
            "cxxflags`\n");
  CUDA(cudaGetLastError)();
}

TEST(Launch, ByHandleAndWithAttributes) {
  Program& program = Program::get();
  cudaKernel_t kernel = nullptr;
  cudaFunction_t function = nullptr;
  int* numbers = make_numbers(2);
  int factor = 3, count = 2;
  void* arguments[] = {&numbers, &factor, &count};
  EXPECT_EQ(CUDA(cudaGetKernel)(&kernel, &program.scale), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGetFuncBySymbol)(&function, &program.scale), cudaSuccess);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(kernel, dim3(1), dim3(2), arguments, 0, nullptr), cudaSuccess);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(2);
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(CUDA(cudaLaunchKernelExC)(&config, &program.scale, arguments), cudaSuccess);
  EXPECT_EQ(CUDA(cudaLaunchCooperativeKernel)(&program.scale, dim3(1), dim3(2), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[1], 2 * 27);
  CUDA(cudaFree)(numbers);
}

TEST(Launch, ByConfigurationIsInItsStreamAndWithoutClusters) {
  Program& program = Program::get();
  int* numbers = make_numbers(2);
  int factor = 3, count = 2;
  void* arguments[] = {&numbers, &factor, &count};
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2, 2, 2);
  config.blockDim = dim3(1);
  config.attrs = &attribute;
  config.numAttrs = 1;
  const auto launch = [&](dim3 cluster) {
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    return CUDA(cudaLaunchKernelExC)(&config, &program.scale, arguments);
  };
  for (const dim3& cluster : {dim3(2), dim3(1, 2), dim3(1, 1, 2)}) EXPECT_EQ(launch(cluster), cudaErrorNotSupported);
  EXPECT_EQ(numbers[1], 2);
  config.gridDim = dim3(2);
  EXPECT_EQ(launch(dim3(1)), cudaSuccess);
  EXPECT_EQ(numbers[1], 6);
  config.stream = stream;
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(launch(dim3(1)), cudaSuccess);
  EXPECT_EQ(numbers[1], 6) << "it is captured";
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(stream, &graph), cudaSuccess);
  size_t nodes = 0;
  EXPECT_EQ(CUDA(cudaGraphGetNodes)(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1u);
  CUDA(cudaGraphDestroy)(graph);
  CUDA(cudaStreamDestroy)(stream);
  CUDA(cudaGetLastError)();
  CUDA(cudaFree)(numbers);
}

// All blocks of a cooperative launch are there at once, which has a limit; as many are no matter where they need not be.
TEST(Launch, CooperativeLaunchesHaveALimit) {
  Program& program = Program::get();
  int* numbers = make_numbers(2);
  int factor = 3, none = 0;
  void* arguments[] = {&numbers, &factor, &none};
  const dim3 grid(1 << 18), block(2);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (int cooperative : {1, 0}) {
    const cudaError_t expected = cooperative != 0 ? cudaErrorInvalidConfiguration : cudaSuccess;
    attribute.val.cooperative = cooperative;
    EXPECT_EQ(CUDA(cudaLaunchKernelExC)(&config, &program.scale, arguments), expected) << cooperative;
    EXPECT_EQ(cooperative != 0 ? CUDA(cudaLaunchCooperativeKernel)(&program.scale, grid, block, arguments, 0, nullptr)
                               : CUDA(cudaLaunchKernel)(&program.scale, grid, block, arguments, 0, nullptr),
              expected);
  }
  EXPECT_EQ(numbers[1], 2);
  CUDA(cudaGetLastError)();
  CUDA(cudaFree)(numbers);
}

TEST(Launch, FromManyThreads) {
  constexpr int kThreads = 8, kLaunches = 50;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      int* numbers = make_numbers(4);
      for (int i = 0; i < kLaunches; ++i) wrong += launch_scale(numbers, -1, 4) != cudaSuccess;
      wrong += numbers[3] != 4;
      wrong += CUDA(cudaFree)(numbers) != cudaSuccess;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Functions, AttributesAndOccupancy) {
  Program& program = Program::get();
  cudaFuncAttributes attributes;
  ASSERT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, &program.scale), cudaSuccess);
  EXPECT_EQ(attributes.sharedSizeBytes, 64u);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 512);
  EXPECT_EQ(attributes.binaryVersion, 90);
  int blocks = 0;
  EXPECT_EQ(CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, &program.scale, 512, 0), cudaSuccess);
  EXPECT_EQ(blocks, 4);
  EXPECT_EQ(CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, &program.scale, 1024, 0), cudaSuccess);
  EXPECT_EQ(blocks, 0);
  // What threads, blocks and shared memory, with the kernel's own 64 bytes, leave room for.
  int available = 0;
  ASSERT_EQ(CUDA(cudaDeviceGetAttribute)(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
  const auto room = [&](int threads, int shared) {
    EXPECT_EQ(CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, &program.scale, threads, static_cast<size_t>(shared)),
              cudaSuccess);
    return blocks;
  };
  EXPECT_EQ(room(32, 0), 32) << "no more blocks than that";
  EXPECT_EQ(room(128, 0), 16);
  EXPECT_EQ(room(128, available - 64), 1);
  EXPECT_EQ(room(128, available - 63), 0);
  EXPECT_EQ(room(128, available / 2 - 64), 2);
  size_t bytes = 0;
  EXPECT_EQ(CUDA(cudaOccupancyAvailableDynamicSMemPerBlock)(&bytes, &program.scale, 1, 32), cudaSuccess);
  EXPECT_EQ(bytes, 49152u);
  EXPECT_EQ(CUDA(cudaOccupancyAvailableDynamicSMemPerBlock)(&bytes, &program.scale, 32, 32), cudaSuccess);
  EXPECT_EQ(bytes, static_cast<size_t>(available) / 32);
  size_t offset = 0, size = 0;
  EXPECT_EQ(CUDA(cudaFuncGetParamInfo)(&program.scale, 2, &offset, &size), cudaSuccess);
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(CUDA(cudaFuncGetParamInfo)(&program.scale, 3, &offset, &size), cudaErrorInvalidValue);
  const char* name = nullptr;
  EXPECT_EQ(CUDA(cudaFuncGetName)(&name, &program.scale), cudaSuccess);
  EXPECT_STREQ(name, "scale");
  CUDA(cudaGetLastError)();
}

TEST(Functions, EachSettingStaysWhenAnotherIsMade) {
  const void* function = &Program::get().fault;
  const auto set = [&](cudaFuncAttribute attribute, int value) { return CUDA(cudaFuncSetAttribute)(function, attribute, value); };
  EXPECT_EQ(set(cudaFuncAttributePreferredSharedMemoryCarveout, 100), cudaSuccess);
  EXPECT_EQ(set(cudaFuncAttributePreferredSharedMemoryCarveout, 101), cudaErrorInvalidValue);
  EXPECT_EQ(set(cudaFuncAttributeMaxDynamicSharedMemorySize, 50000), cudaSuccess);
  EXPECT_EQ(set(cudaFuncAttributeMaxDynamicSharedMemorySize, -1), cudaErrorInvalidValue);
  int most = 0;
  ASSERT_EQ(CUDA(cudaDeviceGetAttribute)(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
  EXPECT_EQ(set(cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1), cudaErrorInvalidValue);
  EXPECT_EQ(set(cudaFuncAttributeMaxDynamicSharedMemorySize, most), cudaSuccess);
  EXPECT_EQ(set(cudaFuncAttributeMaxDynamicSharedMemorySize, 50000), cudaSuccess);
  cudaFuncAttributes attributes;
  ASSERT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, function), cudaSuccess);
  EXPECT_EQ(attributes.preferredShmemCarveout, 100);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 50000);
  EXPECT_EQ(set(cudaFuncAttributePreferredSharedMemoryCarveout, -1), cudaSuccess);
  ASSERT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, function), cudaSuccess);
  EXPECT_EQ(attributes.preferredShmemCarveout, -1);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 50000);
  CUDA(cudaGetLastError)();
}

TEST(Symbols, AVariableThatNoKernelReachesHasItsInitialValue) {
  int values[3] = {};
  EXPECT_EQ(CUDA(cudaMemcpyFromSymbol)(values, &Program::get().initial, sizeof values, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::vector(values, values + 3), (std::vector{11, 22, 33}));
}

// As a library that is closed and opened again.
TEST(Images, AreGoneWhenTheyAreUnregistered) {
  using testing::TestSegment;
  Program& program = Program::get();
  program.load();
  static char variable = 0, kernel = 0;
  ByteVector fat = testing::make_fat_binary({{2, 80, testing::make_device_elf({TestSegment{.name = "fault"}.build()})}});
  const testing::TestWrapper wrapper{.fat_binary = fat.data()};
  uint64_t places[2] = {};
  for (uint64_t& place : places) {
    void** handle = program.add_image(&wrapper);
    program.add_variable(handle, variable, "variable", 4);
    program.add_function(handle, kernel, "fault");
    void* address = nullptr;
    ASSERT_EQ(CUDA(cudaGetSymbolAddress)(&address, &variable), cudaSuccess);
    place = reinterpret_cast<uint64_t>(address);
    EXPECT_EQ(*static_cast<int*>(address), 0);
    *static_cast<int*>(address) = 5;
    cudaFuncAttributes attributes;
    EXPECT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, &kernel), cudaSuccess);
    EXPECT_EQ(attributes.binaryVersion, 90) << "of the newest code that there is";
    program.remove_image(handle);
    EXPECT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, &kernel), cudaErrorInvalidDeviceFunction);
    EXPECT_EQ(CUDA(cudaGetSymbolAddress)(&address, &variable), cudaErrorInvalidSymbol);
  }
  EXPECT_EQ(places[0], places[1]) << "its window is free again";
  CUDA(cudaGetLastError)();
}

// Of a variable of several segments the one that defines it says how large it is.
TEST(Images, PlaceVariablesAsTheirDefinitionsSay) {
  using testing::TestSegment;
  Program& program = Program::get();
  program.load();
  static char small = 0, wide = 0, common = 0;
  TestSegment uses{.kind = MNEME_SEGMENT_FUNCTION, .name = "uses"}, defines{.kind = MNEME_SEGMENT_GLOBAL, .name = "common"};
  uses.globals = {{"common", 0, MNEME_GLOBAL_DECLARATION, "", 4}, {"small", 4, 0, "", 4}, {"wide", 4, 0, "", 4096}};
  defines.globals = {{"common", 16, 0, "", 4}};
  ByteVector fat = testing::make_fat_binary({{2, 90, testing::make_device_elf({uses.build(), defines.build()})}});
  const testing::TestWrapper wrapper{.fat_binary = fat.data()};
  void** handle = program.add_image(&wrapper);
  program.add_variable(handle, small, "small", 4);
  program.add_variable(handle, wide, "wide", 4);
  program.add_variable(handle, common, "common", 16);
  size_t size = 0;
  EXPECT_EQ(CUDA(cudaGetSymbolSize)(&size, &common), cudaSuccess);
  EXPECT_EQ(size, 16u);
  std::set<uint64_t> places;
  for (char* variable : {&small, &wide, &common}) {
    void* address = nullptr;
    ASSERT_EQ(CUDA(cudaGetSymbolAddress)(&address, variable), cudaSuccess);
    places.insert(reinterpret_cast<uint64_t>(address));
    if (variable == &wide) EXPECT_EQ(reinterpret_cast<uint64_t>(address) % 4096, 0u);
  }
  EXPECT_EQ(places.size(), 3u);
  program.remove_image(handle);
}

// Behind it lie those of the next fat binary.
TEST(Images, VariablesThatDoNotFitInTheirWindowAreRefused) {
  using testing::TestSegment;
  Program& program = Program::get();
  program.load();
  static char large = 0;
  TestSegment defines{.kind = MNEME_SEGMENT_GLOBAL, .name = "large"};
  defines.globals = {{"large", GlobalWindow::kBytes.count + 1, 0, "", 4}};
  ByteVector fat = testing::make_fat_binary({{2, 90, testing::make_device_elf({defines.build()})}});
  const testing::TestWrapper wrapper{.fat_binary = fat.data()};
  void** handle = program.add_image(&wrapper);
  program.add_variable(handle, large, "large", 4);
  void* address = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaGetSymbolAddress)(&address, &large), cudaErrorMemoryAllocation);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("take 4.00 GiB, at most 4.00 GiB are possible"), std::string::npos);
  program.remove_image(handle);
  CUDA(cudaGetLastError)();
}

TEST(Images, DamageIsSaidAndHidesNothingElse) {
  using testing::TestSegment;
  Program& program = Program::get();
  static char variable = 0;
  ByteVector damaged = TestSegment{.name = "scale"}.build();
  damaged.back() ^= std::byte{1};
  ByteVector fat = testing::make_fat_binary({{2, 90, testing::make_device_elf({damaged})}});
  const testing::TestWrapper wrapper{.fat_binary = fat.data()};
  void** handle = program.add_image(&wrapper);
  program.add_variable(handle, variable, "variable", 4);
  void* address = nullptr;
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(CUDA(cudaGetSymbolAddress)(&address, &variable), cudaSuccess);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("mneme: warning: fat binary "), std::string::npos) << said;
  EXPECT_NE(said.find("the checksum is "), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  program.remove_image(handle);
}

TEST(Symbols, AddressSizeAndCopies) {
  Program& program = Program::get();
  void* address = nullptr;
  size_t size = 0;
  EXPECT_EQ(CUDA(cudaGetSymbolAddress)(&address, &program.state), cudaSuccess);
  EXPECT_EQ(address, reinterpret_cast<void*>(0x7b0000000000));
  cudaPointerAttributes attributes;
  EXPECT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, address), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(CUDA(cudaGetSymbolSize)(&size, &program.state), cudaSuccess);
  EXPECT_EQ(size, 4u);
  int value = 5, read = 0;
  EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(&program.unreached, &value, 4, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyFromSymbol)(&read, &program.unreached, 4, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(read, 5);
  EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(&program.state, &value, 4, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGetSymbolAddress)(&address, &value), cudaErrorInvalidSymbol);
  uint64_t place = 0, bytes = 0;
  EXPECT_EQ(program.table.find_global(&program.scale, "state", &place, &bytes), 0);
  EXPECT_EQ(place, 0x7b0000000000u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_NE(program.table.find_global(&program.scale, "nothing", &place, &bytes), 0);
  CUDA(cudaGetLastError)();
}

// In a process of its own: a fault leaves nothing usable behind.
TEST(FaultDeathTest, IsStickyAndSaidOnce) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        cudaError_t launched = CUDA(cudaLaunchKernel)(&Program::get().fault, dim3(1), dim3(1), nullptr, 0, nullptr);
        void* pointer = nullptr;
        bool sticky =
            CUDA(cudaGetLastError)() == cudaErrorIllegalAddress && CUDA(cudaGetLastError)() == cudaErrorIllegalAddress &&
            CUDA(cudaMalloc)(&pointer, 4) == cudaErrorIllegalAddress && CUDA(cudaDeviceSynchronize)() == cudaErrorIllegalAddress;
        std::exit(launched == cudaErrorIllegalAddress && sticky ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "mneme: error: kernel 'fault', block \\[0,0,0\\].*a write to address 0x8");
}

TEST(Launch, AKernelMayAllocateAsMuchAsTheLimitSays) {
  int* had = make_numbers(1);
  size_t limit = 0;
  ASSERT_EQ(CUDA(cudaDeviceGetLimit)(&limit, cudaLimitMallocHeapSize), cudaSuccess);
  uint64_t size = uint64_t{3} << 30;
  void* arguments[] = {&had, &size};
  const auto launch = [&] {
    EXPECT_EQ(CUDA(cudaLaunchKernel)(&Program::get().allocate, dim3(1), dim3(1), arguments, 0, nullptr), cudaSuccess);
    return *had;
  };
  EXPECT_EQ(launch(), 0);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitMallocHeapSize, size_t{4} << 30), cudaSuccess);
  EXPECT_EQ(launch(), 1);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitMallocHeapSize, limit), cudaSuccess);
  CUDA(cudaFree)(had);
}

TEST(FaultDeathTest, EachKindHasAnErrorOfItsOwn) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto launch = [](int what, cudaError_t expected) {
    void* arguments[] = {&what};
    const cudaError_t got = CUDA(cudaLaunchKernel)(&Program::get().misbehave, dim3(1), dim3(2), arguments, 0, nullptr);
    std::exit(got == expected ? 0 : 1);
  };
  EXPECT_EXIT(launch(0, cudaErrorLaunchTimeout), ::testing::ExitedWithCode(0), "mneme: error: kernel 'misbehave'");
  EXPECT_EXIT(launch(1, cudaErrorAssert), ::testing::ExitedWithCode(0), "it holds");
  EXPECT_EXIT(launch(2, cudaErrorLaunchFailure), ::testing::ExitedWithCode(0), "mneme: error: kernel 'misbehave'");
}

TEST(FaultDeathTest, OfANodeIsThatOfItsGraph) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto launch_graph = [] {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t node = nullptr;
    const cudaKernelNodeParams parameters{&Program::get().fault, dim3(1), dim3(1), 0, nullptr, nullptr};
    CUDA(cudaGraphCreate)(&graph, 0);
    CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters);
    CUDA(cudaGraphInstantiate)(&exec, graph, 0);
    std::exit(CUDA(cudaGraphLaunch)(exec, nullptr) == cudaErrorIllegalAddress ? 0 : 1);
  };
  EXPECT_EXIT(launch_graph(), ::testing::ExitedWithCode(0), "a write to address 0x8");
}

TEST(LoweringDeathTest, SaysWhatIsWrongWithTheCommand) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto first_launch = [] {
    int value = 0;
    std::exit(CUDA(cudaMemcpyFromSymbol)(&value, &Program::get().state, 4, 0, cudaMemcpyDeviceToHost) == cudaErrorUnknown ? 0
                                                                                                                          : 1);
  };
  EXPECT_EXIT((Program::get(), ::unsetenv(MNEME_ENV_COMMAND), first_launch()), ::testing::ExitedWithCode(0),
              "MNEME_COMMAND does not name the mneme command: start the program with `mneme run`");
  EXPECT_EXIT((Program::get(), ::setenv(MNEME_ENV_COMMAND, "/nowhere/mneme", 1), first_launch()), ::testing::ExitedWithCode(0),
              "running /nowhere/mneme lower: No such file or directory");
  EXPECT_EXIT((Program::get(), ::setenv("MNEME_TEST_LOWER_CRASHES", "1", 1), first_launch()), ::testing::ExitedWithCode(0),
              "lower ended with signal 6 and left no answer");
}

TEST(Unsupported, IsNamedOnce) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaArrayGetPlane)(nullptr, nullptr, 0), cudaErrorNotSupported);
  EXPECT_EQ(CUDA(cudaArrayGetPlane)(nullptr, nullptr, 0), cudaErrorNotSupported);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: warning: cudaArrayGetPlane is not available on the CPU device: it returns cudaErrorNotSupported\n");
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorNotSupported);
}

}  // namespace
}  // namespace mneme::emulation
