// The CUDA backend over a driver made for tests, since it must be right also where there is no GPU to try it on.
#include "mneme/device/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "mneme/device/address_space.h"
#include "mneme/device/cuda/error.h"
#include "mneme/device/cuda/fake_driver.h"
#include "mneme/device/cuda/memory_kernels.h"
#include "mneme/device/cuda/nvml.h"
#include "mneme/device/gpu/gpu_address_space.h"
#include "mneme/device/gpu/testing/device_test.h"
#include "mneme/device/held_addresses.h"
#include "mneme/device/launch_limits.h"

namespace mneme::cuda {
namespace {

using gpu::mapping_in;
using testing::HasSubstr;

constexpr const char* kFakeLibrary = MNEME_FAKE_CUDA_LIBRARY;
const Libraries kFakeLibraries = {kFakeLibrary, {}, "libnvidia-ml-that-is-not-there.so"};

class CudaDeviceTest : public gpu::DeviceTest<FakeDriverState> {
 protected:
  CudaDeviceTest() : DeviceTest(kFakeLibrary, "mneme_fake_driver_state") {}

  void open() { use(open_device(0, kFakeLibraries)); }

  std::unique_ptr<Module> load(const std::string& ptx = ".version 8.0\n") {
    CodeImage image{DeviceKind::cuda, {}};
    for (char c : ptx) image.bytes.push_back(static_cast<std::byte>(c));
    auto module = device->load(image);
    EXPECT_TRUE(module.ok()) << module.status().to_string();
    return module.ok() ? std::move(module).value() : nullptr;
  }

  void fail(const char* function, CUresult result, int after = 0) {
    state->fail_function = function;
    state->fail_after = after;
    state->fail_result = result;
  }

  static LaunchShape with_shared(uint64_t bytes) {
    LaunchShape shape;
    shape.dynamic_shared_memory = Bytes(bytes);
    return shape;
  }
};

TEST(CudaDriver, MissingLibrarySaysWhatToDo) {
  auto driver = open_driver("libcuda-that-is-not-there.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::unavailable);
  EXPECT_EQ(driver.status().message(),
            "opening the CUDA driver: libcuda-that-is-not-there.so.1: cannot open shared object file: No such file or directory; "
            "install the "
            "NVIDIA driver, whose library must be where the loader looks, or choose another device (--device cpu)");
}

TEST(CudaDriver, LibraryThatLacksAFunctionSaysWhich) {
  auto driver = open_driver("libm.so.6");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::unavailable);
  EXPECT_EQ(driver.status().message(),
            "opening the CUDA driver: libm.so.6 has no function cuGetErrorName; install an NVIDIA driver for CUDA 11.8 or newer");
}

TEST(CudaErrors, EachResultHasItsCode) {
  EXPECT_EQ(code_of(CUDA_SUCCESS), Code::ok);
  EXPECT_EQ(code_of(CUDA_ERROR_OUT_OF_MEMORY), Code::exhausted);
  EXPECT_EQ(code_of(CUDA_ERROR_INVALID_VALUE), Code::invalid_argument);
  EXPECT_EQ(code_of(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES), Code::invalid_argument);
  EXPECT_EQ(code_of(CUDA_ERROR_NO_DEVICE), Code::unavailable);
  EXPECT_EQ(code_of(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH), Code::unavailable);
  EXPECT_EQ(code_of(CUDA_ERROR_NO_BINARY_FOR_GPU), Code::incompatible);
  EXPECT_EQ(code_of(CUDA_ERROR_NOT_FOUND), Code::not_found);
  EXPECT_EQ(code_of(CUDA_ERROR_NOT_SUPPORTED), Code::unsupported);
  EXPECT_EQ(code_of(CUDA_ERROR_UNKNOWN), Code::internal);
  for (CUresult fault : {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ASSERT, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT,
                         CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_PC,
                         CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ECC_UNCORRECTABLE,
                         CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTEXT_IS_DESTROYED}) {
    EXPECT_TRUE(is_fault(fault)) << fault;
    EXPECT_EQ(code_of(fault), Code::device_fault) << fault;
  }
  // A launch that cannot be is the configuration's; one that a device that is gone refuses is not.
  const std::pair<CUresult, Code> kOthers[] = {
      {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, Code::invalid_argument},
      {CUDA_ERROR_INVALID_CLUSTER_SIZE, Code::invalid_argument},
      {CUDA_ERROR_INVALID_PTX, Code::incompatible},
      {CUDA_ERROR_INVALID_IMAGE, Code::incompatible},
      {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, Code::incompatible},
      {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, Code::unavailable},
      {CUDA_ERROR_DEVICE_UNAVAILABLE, Code::unavailable},
      {CUDA_ERROR_OPERATING_SYSTEM, Code::unavailable},
      {CUDA_ERROR_TIMEOUT, Code::timeout},
  };
  for (const auto& [result, code] : kOthers) {
    EXPECT_FALSE(is_fault(result)) << result;
    EXPECT_EQ(code_of(result), code) << result;
  }
}

TEST(ThrottleReasons, EachBitHasItsName) {
  const std::pair<unsigned long long, const char*> kReasons[] = {
      {0x04, "power cap"},        {0x08, "hardware slowdown"},         {0x10, "sync boost"},
      {0x20, "thermal slowdown"}, {0x40, "hardware thermal slowdown"}, {0x80, "power brake"},
  };
  for (const auto& [bit, name] : kReasons) EXPECT_THAT(throttle_reasons(bit), testing::ElementsAre(name));
  EXPECT_THAT(throttle_reasons(0x1 | 0x2 | 0x100), testing::IsEmpty()) << "idle, or set by somebody";
}

TEST_F(CudaDeviceTest, SharedMemoryIsImportedForReadingOnly) {
  open();
  shared_memory_is_imported_for_reading_only([](const auto&) {});
}

TEST_F(CudaDeviceTest, SharedMemoryThatCannotBeHadIsGivenBack) {
  open();
  for (const char* function : {"cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    fail(function, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(device->allocate_shared(2_MiB).status().code(), Code::exhausted) << function;
    EXPECT_EQ(state->mappings, 0) << function;
    EXPECT_EQ(state->reservations, 0) << function;
    EXPECT_EQ(state->memory_handles, 0) << function;
  }
  fail("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(device->allocate_shared(3_MiB).status().message(),
            "cuMemCreate(4.00 MiB), to be shared as a file descriptor: CUDA_ERROR_OUT_OF_MEMORY (words of the driver)");
  EXPECT_EQ(device->import_shared(Descriptor(), 2_MiB).status().code(), Code::invalid_argument);
}

TEST_F(CudaDeviceTest, AFaultIsReportedByTheComparisonsThatAreWaitedFor) {
  open();
  auto memory = device->allocate(64_KiB);
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(stream->compare_later(*memory, *memory, 64_KiB).ok());
  state->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(stream->take_comparisons().status().code(), Code::device_fault);
  state->fault = CUDA_SUCCESS;
}

TEST_F(CudaDeviceTest, EachComparisonThatIsWaitedForBeginsAnew) {
  open();
  auto a = device->allocate(64_KiB), b = device->allocate(64_KiB);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(stream->fill(*a, std::byte{1}, 64_KiB).ok());
  ASSERT_TRUE(stream->fill(*b, std::byte{1}, 64_KiB).ok());
  ASSERT_TRUE(stream->fill(*b + Bytes(1000), std::byte{2}, Bytes(10)).ok());
  for (uint64_t from : {1000, 1005, 1010}) {
    ASSERT_TRUE(stream->compare_later(*a + Bytes(from), *b + Bytes(from), Bytes(1000)).ok());
    auto found = stream->take_comparisons();
    ASSERT_TRUE(found.ok() && found->size() == 1) << found.status().to_string();
    EXPECT_EQ((*found)[0].differing_bytes, 1010 - from);
    EXPECT_EQ((*found)[0].first_difference, from == 1010 ? std::nullopt : std::optional<uint64_t>(0));
  }
  EXPECT_TRUE(device->free(*a).ok() && device->free(*b).ok());
}

TEST_F(CudaDeviceTest, CountsTheDevices) {
  EXPECT_EQ(*count_devices(std::string(kFakeLibrary)), 1);
  fail("cuInit", CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(count_devices(std::string(kFakeLibrary)).status().code(), Code::unavailable);
}

TEST_F(CudaDeviceTest, NoDeviceIsUnavailable) {
  fail("cuInit", CUDA_ERROR_NO_DEVICE);
  auto opened = open_device(0, kFakeLibraries);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().to_string(),
            "unavailable: starting the CUDA driver: cuInit(0): CUDA_ERROR_NO_DEVICE (words of the driver)");

  opened = open_device(7, kFakeLibraries);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().to_string(),
            "unavailable: opening CUDA device 7: the driver shows 1 device; CUDA_VISIBLE_DEVICES selects which");
}

TEST_F(CudaDeviceTest, ResultThatTheDriverCannotNameKeepsItsNumber) {
  fail("cuInit", static_cast<CUresult>(12345));
  auto opened = open_device(0, kFakeLibraries);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().to_string(), "internal: starting the CUDA driver: cuInit(0): CUDA driver error 12345");
}

TEST_F(CudaDeviceTest, PropertiesComeFromTheDriver) {
  open();
  const DeviceProperties& properties = device->properties();
  EXPECT_EQ(properties.kind, DeviceKind::cuda);
  EXPECT_EQ(properties.name, "Fake GPU");
  EXPECT_EQ(properties.architecture, "sm_90");
  EXPECT_EQ(properties.multiprocessors, 2u);
  EXPECT_EQ(properties.max_shared_memory_per_block, Bytes(232448));
  EXPECT_EQ(properties.allocation_granularity, 2_MiB);
  EXPECT_EQ(properties.l2_cache, 50_MiB);
  EXPECT_TRUE(properties.clusters);
  EXPECT_EQ(properties.max_threads_per_multiprocessor, 2048u);
  EXPECT_EQ(properties.hardware_id, "0000:1b:00.0");
}

TEST_F(CudaDeviceTest, EachPropertyIsOfItsOwnAttribute) {
  state->attributes = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 12},
                       {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1},
                       {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 33},
                       {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 34},
                       {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 35},
                       {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 36},
                       {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 37},
                       {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 38},
                       {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 39},
                       {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 40},
                       {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 41},
                       {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 42},
                       {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 43},
                       {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 44},
                       {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 45}};
  open();
  const DeviceProperties& properties = device->properties();
  EXPECT_EQ(properties.architecture, "sm_121");
  EXPECT_EQ(properties.warp_size, 33u);
  EXPECT_EQ(properties.multiprocessors, 34u);
  EXPECT_EQ(properties.max_threads_per_block, 35u);
  EXPECT_EQ(properties.max_block, (Dim3{36, 37, 38}));
  EXPECT_EQ(properties.max_grid, (Dim3{39, 40, 41}));
  EXPECT_EQ(properties.max_shared_memory_per_block, Bytes(43));
  EXPECT_EQ(properties.l2_cache, Bytes(44));
  EXPECT_EQ(properties.max_threads_per_multiprocessor, 45u);
  EXPECT_EQ(properties.total_memory, Bytes(1 << 30));
  EXPECT_EQ(properties.reservation_granularity, 32_MiB);
  state->attributes = {{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0},
                       {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0},
                       {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0}};
  stream.reset();
  device.reset();
  open();
  EXPECT_EQ(device->properties().max_shared_memory_per_block, Bytes(49152)) << "no opt-in";
  EXPECT_EQ(device->properties().allocation_granularity, Bytes(0));
  EXPECT_FALSE(device->properties().clusters);
}

TEST_F(CudaDeviceTest, EverythingIsGivenBackAndTheThreadLeftAsItWas) {
  open();
  auto module = load();
  ASSERT_TRUE(module->kernel("work").ok());
  everything_is_given_back(std::move(module));
  EXPECT_EQ(state->contexts, 0);
  EXPECT_LE(state->open_to_signals.size(), 1u) << "only this one";
}

TEST_F(CudaDeviceTest, CopiesOfEverySizeArriveWhole) {
  open();
  for (size_t size : {size_t{1}, size_t{4096}, size_t{8} << 20, (size_t{8} << 20) + 1, (size_t{70} << 20) + 12345})
    a_copy_arrives_whole(size, 1);
}

TEST_F(CudaDeviceTest, CopiesArriveWholeHoweverLateTheBusIs) {
  open();
  copies_arrive_whole_however_late_the_bus_is();
}

// What was under way when a copy failed is waited for, and is none of the next one's.
TEST_F(CudaDeviceTest, ACopyThatFailsLeavesNothingToTheNext) {
  open();
  std::vector<std::byte> target(64 << 20);
  auto memory = device->allocate(Bytes(target.size()));
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(stream->fill(*memory, std::byte{1}, Bytes(target.size())).ok());
  state->late_copies = true;
  fail("cuMemcpyDtoHAsync_v2", CUDA_ERROR_INVALID_VALUE, 10);
  EXPECT_EQ(stream->copy_to_host(target, *memory).code(), Code::invalid_argument);
  std::fill(target.begin(), target.end(), std::byte{0});
  const auto first = std::span(target).first(20 << 20);
  ASSERT_TRUE(stream->copy_to_host(first, *memory).ok());
  EXPECT_EQ(std::count(target.begin(), target.end(), std::byte{1}), static_cast<ptrdiff_t>(first.size()));
  ASSERT_TRUE(device->free(*memory).ok());
}

TEST_F(CudaDeviceTest, FailureInTheMiddleOfALargeCopyEndsIt) {
  open();
  std::vector<std::byte> bytes(64 << 20);
  auto memory = device->allocate(Bytes(bytes.size()));
  ASSERT_TRUE(memory.ok());
  fail("cuMemcpyHtoDAsync_v2", CUDA_ERROR_INVALID_VALUE, 5);
  Status copied = stream->copy_to_device(*memory, bytes);
  EXPECT_EQ(copied.code(), Code::invalid_argument);
  EXPECT_THAT(copied.message(), HasSubstr("cuMemcpyHtoDAsync(4.00 MiB to 0x"));
  EXPECT_TRUE(stream->copy_to_device(*memory, bytes).ok());
  ASSERT_TRUE(device->free(*memory).ok());
}

TEST_F(CudaDeviceTest, ComparesAndHashesByItsOwnKernels) {
  open();
  std::vector<std::byte> bytes(100000, std::byte{7});
  auto a = device->allocate(Bytes(bytes.size())), b = device->allocate(Bytes(bytes.size()));
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(stream->copy_to_device(*a, bytes).ok());
  bytes[77777] = std::byte{8};
  bytes[99999] = std::byte{8};
  ASSERT_TRUE(stream->copy_to_device(*b, bytes).ok());

  auto compared = stream->compare(*a, *b, Bytes(bytes.size()));
  ASSERT_TRUE(compared.ok()) << compared.status().to_string();
  EXPECT_EQ(compared->differing_bytes, 2u);
  EXPECT_EQ(compared->first_difference, 77777u);
  compared = stream->compare(*a, *b, Bytes(77777));
  EXPECT_EQ(compared->differing_bytes, 0u);
  EXPECT_FALSE(compared->first_difference.has_value());
  EXPECT_EQ(stream->compare(*a, *b, Bytes(0))->differing_bytes, 0u);

  std::vector<uint64_t> of_a(25), of_b(25);
  ASSERT_TRUE(stream->hash_pages(of_a, *a, Bytes(bytes.size()), Bytes(4096)).ok());
  ASSERT_TRUE(stream->hash_pages(of_b, *b, Bytes(bytes.size()), Bytes(4096)).ok());
  for (size_t page = 0; page < of_a.size(); ++page) EXPECT_EQ(of_a[page] == of_b[page], page != 18 && page != 24) << page;
  EXPECT_EQ(of_a[0], of_a[1]);

  Status wrong = stream->hash_pages(of_a, *a, Bytes(bytes.size()), Bytes(5000));
  EXPECT_EQ(wrong.code(), Code::invalid_argument);
  EXPECT_THAT(wrong.message(), HasSubstr("room for 25 hashes, which does not fit pages of 5000 bytes"));
  ASSERT_TRUE(device->free(*a).ok() && device->free(*b).ok());
}

TEST_F(CudaDeviceTest, LaunchPassesTheShapeAndThePackedParameters) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  EXPECT_EQ(kernel->resources().registers, 37u);
  EXPECT_EQ(kernel->resources().local_memory, Bytes(16));
  EXPECT_EQ(kernel->resources().constant_memory, Bytes(8));
  EXPECT_EQ(kernel->resources().static_shared_memory, Bytes(0));
  EXPECT_EQ(kernel->resources().max_threads_per_block, 512u);
  std::vector<std::byte> parameters = {std::byte{1}, std::byte{2}, std::byte{3}};
  LaunchShape shape{.grid = {5, 6, 7}, .block = {8, 4, 2}, .dynamic_shared_memory = Bytes(1000), .cooperative = true};
  ASSERT_TRUE(stream->launch(*kernel, shape, parameters).ok());
  const FakeLaunch& launch = state->last_launch;
  EXPECT_EQ(launch.kernel, "work");
  EXPECT_THAT(launch.grid, testing::ElementsAre(5, 6, 7));
  EXPECT_THAT(launch.block, testing::ElementsAre(8, 4, 2));
  EXPECT_EQ(launch.shared_bytes, 1000u);
  EXPECT_TRUE(launch.cooperative);
  EXPECT_EQ(launch.parameters, parameters);
  EXPECT_EQ(state->dynamic_shared_limit, 0);

  shape.cooperative = false;
  ASSERT_TRUE(stream->launch(*kernel, shape, {}).ok());
  EXPECT_FALSE(state->last_launch.cooperative);
  EXPECT_TRUE(state->last_launch.parameters.empty());
}

// A struct of alignment 64 behind a pointer, and a word: the code for one architecture has the struct at 64, as the IR does, and
// that for another at 48.
TEST_F(CudaDeviceTest, ArgumentsAreMovedToWhereTheCodeHasThem) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  std::vector<std::byte> given(132), moved(116);
  const auto fill = [](std::vector<std::byte>& bytes, uint64_t offset, uint64_t size, int first) {
    for (uint64_t i = 0; i < size; ++i) bytes[offset + i] = std::byte(first + static_cast<int>(i));
  };
  const PackedPlace places[] = {{0, 8}, {64, 64}, {128, 4}};
  const uint64_t own[] = {0, 48, 112};
  state->parameters["work"] = {{own[0], 8}, {own[1], 64}, {own[2], 4}};
  for (int i = 0; i < 3; ++i) {
    fill(given, places[i].offset, places[i].size, 1 + 80 * i);
    fill(moved, own[i], places[i].size, 1 + 80 * i);
  }
  ASSERT_TRUE(stream->launch(*kernel, {}, given).ok());
  EXPECT_EQ(state->last_launch.parameters, given) << "nothing was said of them";
  ASSERT_TRUE(kernel->expect_arguments(places).ok());
  ASSERT_TRUE(stream->launch(*kernel, {}, given).ok());
  EXPECT_EQ(state->last_launch.parameters, moved);
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, given).ok());
  EXPECT_EQ(state->last_launch.parameters, moved);
  const std::vector<std::byte> few(given.begin(), given.begin() + 131);
  ASSERT_TRUE(stream->launch(*kernel, {}, few).ok());
  EXPECT_EQ(state->last_launch.parameters, few) << "the driver refuses them";

  state->parameters["work"] = {{0, 8}, {64, 64}, {128, 4}};
  ASSERT_TRUE(kernel->expect_arguments(places).ok());
  ASSERT_TRUE(stream->launch(*kernel, {}, given).ok());
  EXPECT_EQ(state->last_launch.parameters, given) << "they lie so already";
  state->parameters["work"] = {{0, 8}, {48, 64}};
  ASSERT_TRUE(kernel->expect_arguments(places).ok());
  ASSERT_TRUE(stream->launch(*kernel, {}, given).ok());
  EXPECT_EQ(state->last_launch.parameters, given) << "the code takes other arguments";
}

TEST_F(CudaDeviceTest, ThatArgumentsCannotBeAskedForIsToldWithTheKernel) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  state->fail_function = "cuFuncGetParamInfo";
  state->fail_result = CUDA_ERROR_INVALID_HANDLE;
  const Status refused = kernel->expect_arguments({});
  EXPECT_THAT(refused.message(), testing::HasSubstr("cuFuncGetParamInfo(work, 0)"));
  EXPECT_TRUE(kernel->expect_arguments({}).ok());
}

TEST_F(CudaDeviceTest, ALaunchHasItsClusters) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  LaunchShape shape{.grid = {8, 6, 4}, .block = {32, 1, 1}, .cooperative = true, .cluster = {2, 3, 1}};
  ASSERT_TRUE(stream->launch(*kernel, shape, {}).ok());
  EXPECT_THAT(state->last_launch.cluster, testing::ElementsAre(2, 3, 1));
  EXPECT_TRUE(state->last_launch.cooperative);
  EXPECT_EQ(state->large_clusters, 0);
  shape.cooperative = false;
  ASSERT_TRUE(stream->launch_timed(*kernel, shape, {}).ok());
  EXPECT_THAT(state->last_launch.cluster, testing::ElementsAre(2, 3, 1));
  EXPECT_FALSE(state->last_launch.cooperative);
  shape.cluster = kNoCluster;
  ASSERT_TRUE(stream->launch(*kernel, shape, {}).ok());
  EXPECT_THAT(state->last_launch.cluster, testing::ElementsAre(0, 0, 0));
  shape.cluster = {2, 3, 1};
  fail("cuLaunchKernelEx", CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(stream->launch(*kernel, shape, {}).to_string(),
            "invalid_argument: cuLaunchKernelEx(work, grid 8x6x4, block 32x1x1, 0 bytes of dynamic shared memory, 0 bytes of "
            "parameters, clusters of 2x3x1): CUDA_ERROR_INVALID_VALUE (words of the driver)");
}

// More than 8 blocks are not portable, and must be asked for.
TEST_F(CudaDeviceTest, LargeClustersAreOptedInToOnce) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  LaunchShape shape{.grid = {32, 1, 1}, .block = {32, 1, 1}, .cluster = {8, 1, 1}};
  ASSERT_TRUE(stream->launch(*kernel, shape, {}).ok());
  EXPECT_EQ(state->large_clusters, 0);
  shape.cluster = {16, 1, 1};
  fail("cuFuncSetAttribute", CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(stream->launch(*kernel, shape, {}).to_string(),
            "invalid_argument: cuFuncSetAttribute(work, NON_PORTABLE_CLUSTER_SIZE_ALLOWED), for clusters of 16x1x1 blocks: "
            "CUDA_ERROR_INVALID_VALUE (words of the driver)");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(stream->launch(*kernel, shape, {}).ok());
  EXPECT_EQ(state->large_clusters, 1);
  EXPECT_THAT(state->last_launch.cluster, testing::ElementsAre(16, 1, 1));
}

TEST_F(CudaDeviceTest, LargeDynamicSharedMemoryIsOptedInToOnce) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  ASSERT_TRUE(stream->launch(*kernel, with_shared(100000), {}).ok());
  EXPECT_EQ(state->dynamic_shared_limit, 100000);
  fail("cuFuncSetAttribute", CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(stream->launch(*kernel, with_shared(90000), {}).ok());
  Status refused = stream->launch(*kernel, with_shared(200000), {});
  EXPECT_EQ(refused.to_string(),
            "invalid_argument: cuFuncSetAttribute(work, MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000), beside 0 bytes of static shared "
            "memory: "
            "CUDA_ERROR_INVALID_VALUE (words of the driver)");
}

TEST_F(CudaDeviceTest, WithoutCuptiTimedLaunchesHaveTheEventsDifference) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
    auto times = stream->take_times();
    ASSERT_TRUE(times.ok()) << times.status().to_string();
    EXPECT_THAT(*times, testing::ElementsAre(Nanoseconds(250000), Nanoseconds(250000), Nanoseconds(250000)));
  }
  EXPECT_EQ(state->events, 6);  // used again
  EXPECT_TRUE(stream->take_times()->empty());
  auto clock = device->clock();
  ASSERT_TRUE(clock.ok());
  EXPECT_EQ(clock->source, "cuda_event");
  EXPECT_EQ(clock->remark,
            "opening CUPTI: no place to look in; install the CUDA toolkit's libcupti, or set CUDA_HOME to where it is");
  EXPECT_EQ(device->launch_observer(), nullptr);
  EXPECT_FALSE(device->read_clocks().has_value());
}

TEST_F(CudaDeviceTest, ATimedLaunchThatFailsHasNoTime) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  fail("cuLaunchKernelEx", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  ASSERT_FALSE(stream->launch_timed(*kernel, {}, {}).ok());
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  auto times = stream->take_times();
  ASSERT_TRUE(times.ok()) << times.status().to_string();
  EXPECT_EQ(times->size(), 2u);
}

TEST_F(CudaDeviceTest, OccupancyIsTheDrivers) {
  open();
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  const LaunchShape shape{.grid = {5, 6, 7}, .block = {8, 4, 2}, .dynamic_shared_memory = Bytes(100000)};
  EXPECT_EQ(kernel->active_blocks(shape).value(), 3u);
  EXPECT_EQ(state->occupancy_threads, 64);
  EXPECT_EQ(state->occupancy_shared_bytes, 100000u);
  EXPECT_EQ(state->dynamic_shared_limit, 100000) << "more than a kernel has without asking";
}

TEST_F(CudaDeviceTest, EachResourceIsOfItsOwnAttribute) {
  open();
  state->static_shared_bytes = 4096;
  auto module = load();
  Kernel* kernel = module->kernel("work").value();
  EXPECT_EQ(kernel->resources().static_shared_memory, Bytes(4096));
  // Up to what is left of the usual 48 KiB nobody need be asked.
  ASSERT_TRUE(stream->launch(*kernel, with_shared(49152 - 4096), {}).ok());
  EXPECT_EQ(state->dynamic_shared_limit, 0);
  ASSERT_TRUE(stream->launch(*kernel, with_shared(49152 - 4095), {}).ok());
  EXPECT_EQ(state->dynamic_shared_limit, 49152 - 4095);
}

TEST_F(CudaDeviceTest, ReadingThroughTheCacheChangesNothing) {
  open();
  std::vector<std::byte> bytes(100000, std::byte{7}), back(bytes.size());
  auto memory = device->allocate(Bytes(bytes.size()));
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(stream->copy_to_device(*memory, bytes).ok());
  ASSERT_TRUE(stream->read_through(*memory, Bytes(bytes.size())).ok());
  ASSERT_TRUE(stream->copy_to_host(back, *memory).ok());
  EXPECT_TRUE(bytes == back);
  ASSERT_TRUE(device->free(*memory).ok());
}

TEST_F(CudaDeviceTest, AFaultPoisonsTheDevice) {
  open();
  auto module = load();
  ASSERT_TRUE(stream->launch(*module->kernel("trap").value(), {}, {}).ok());
  Status fault = stream->synchronize();
  EXPECT_EQ(fault.to_string(),
            "device_fault: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)");
  std::string refusal =
      "the device was lost by an earlier fault, and only a new process can use it again: cuStreamSynchronize: "
      "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)";
  state->fault = CUDA_SUCCESS;  // it is not the driver that refuses from here on
  std::byte byte{};
  for (Status status :
       {stream->synchronize(), device->allocate(1_MiB).status(), stream->copy_to_device(DevicePtr(1), std::span(&byte, 1)),
        device->reserve(kDefaultAddressSpaceBase, 64_MiB).status(), module->kernel("other").status(),
        stream->compare(DevicePtr(1), DevicePtr(2), Bytes(1)).status(), device->create_stream().status()}) {
    EXPECT_EQ(status.code(), Code::device_fault);
    EXPECT_THAT(status.message(), HasSubstr(refusal));
  }
}

TEST_F(CudaDeviceTest, WorksFromAnyThread) {
  open();
  std::thread([&] {
    auto memory = device->allocate(1_MiB);
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    EXPECT_TRUE(stream->fill(*memory, std::byte{3}, 1_MiB).ok());
    EXPECT_TRUE(device->free(*memory).ok());
  }).join();
}

TEST_F(CudaDeviceTest, ModulesThatDoNotLoadSayWhy) {
  open();
  auto module = load();
  EXPECT_EQ(module->kernel("missing").status().to_string(),
            "not_found: cuModuleGetFunction(missing): CUDA_ERROR_NOT_FOUND (words of the driver)");
  EXPECT_EQ(module->global("missing").status().code(), Code::not_found);
  EXPECT_EQ(module->global("table")->address, DevicePtr(0x1000));
  EXPECT_EQ(module->global("table")->size, Bytes(24));

  fail("cuModuleLoadDataEx", CUDA_ERROR_INVALID_PTX);
  state->jit_log = "ptxas application ptx input, line 1; fatal   : Missing .version directive\n";
  std::byte text[] = {std::byte{'x'}};
  EXPECT_EQ(device->load({DeviceKind::cuda, {text, text + 1}}).status().to_string(),
            "incompatible: cuModuleLoadDataEx(PTX of 2 bytes): ptxas application ptx input, line 1; fatal   : Missing .version "
            "directive: "
            "CUDA_ERROR_INVALID_PTX (words of the driver)");

  EXPECT_EQ(device->load({DeviceKind::cpu, {}}).status().to_string(),
            "incompatible: loading a code image made for cpu on Fake GPU, a cuda device");

  ByteVector cubin(64);
  memcpy(cubin.data(), "\177ELF", 4);
  EXPECT_EQ(device->load({DeviceKind::cuda, cubin}).status().to_string(),
            "incompatible: loading a code image: an ELF file for machine 0, where a cubin (machine 190) is wanted");
  cubin[18] = std::byte{190};
  cubin[40] = std::byte{64};  // e_shoff
  cubin[58] = std::byte{64};  // e_shentsize
  cubin[60] = std::byte{3};   // e_shnum
  EXPECT_EQ(device->load({DeviceKind::cuda, cubin}).status().to_string(),
            "corrupt: loading a cubin: its header names 192 bytes at offset 64, past its end at 64");
  cubin.resize(20);
  EXPECT_EQ(device->load({DeviceKind::cuda, cubin}).status().to_string(),
            "corrupt: loading a cubin: 20 bytes, fewer than its header has");
}

TEST_F(CudaDeviceTest, TheDriverIsToldHowToAssemble) {
  open();
  CodeImage image{DeviceKind::cuda, ByteVector(1), {}};
  ASSERT_TRUE(device->load(image).ok());
  EXPECT_TRUE(state->jit_options.empty());
  image.jit = {.level = 1, .max_registers = 32, .load_cache = JitOptions::LoadCache::cg};
  ASSERT_TRUE(device->load(image).ok());
  EXPECT_EQ(state->jit_options,
            (std::map<CUjit_option, uint64_t>{
                {CU_JIT_OPTIMIZATION_LEVEL, 1}, {CU_JIT_MAX_REGISTERS, 32}, {CU_JIT_CACHE_MODE, CU_JIT_CACHE_OPTION_CG}}));
  image.jit = {.load_cache = JitOptions::LoadCache::ca};
  ASSERT_TRUE(device->load(image).ok());
  EXPECT_EQ(state->jit_options, (std::map<CUjit_option, uint64_t>{{CU_JIT_CACHE_MODE, CU_JIT_CACHE_OPTION_CA}}));
}

TEST_F(CudaDeviceTest, AddressSpaceMapsUnderAllocationsOnly) {
  open();
  auto space = device->reserve(kDefaultAddressSpaceBase, 256_MiB);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  EXPECT_EQ(state->mappings, 0);
  auto first = (*space)->allocate(Bytes(5 << 20));  // granules 0, 1, 2
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*first, kDefaultAddressSpaceBase);
  auto second = (*space)->allocate(Bytes(31 << 20));  // shares granule 2, ends in 17
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_EQ(state->mappings, 3 + 3);
  ASSERT_TRUE(stream->fill(*first, std::byte{1}, Bytes(5 << 20)).ok());
  ASSERT_TRUE(stream->fill(*second, std::byte{2}, Bytes(31 << 20)).ok());
  ASSERT_TRUE((*space)->free(*first).ok());
  std::byte back[2];
  ASSERT_TRUE(stream->copy_to_host(std::span(back, 1), *second).ok());
  EXPECT_EQ(back[0], std::byte{2});
  ASSERT_TRUE((*space)->allocate_at(*first, Bytes(5 << 20)).ok());
  ASSERT_TRUE((*space)->free(*second).ok());
  ASSERT_TRUE((*space)->free(*first).ok());
  EXPECT_EQ(state->mappings, 0);
}

TEST_F(CudaDeviceTest, AnAllocationIsExportedAsTheMappingsThatItLiesIn) {
  open();
  auto space = device->reserve(kDefaultAddressSpaceBase, Bytes(uint64_t{1} << 30));
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  const DevicePtr plain = *(*space)->allocate(Bytes(1000));
  EXPECT_EQ((*space)->export_allocation(plain).status().code(), Code::unsupported) << "nobody has asked for that yet";
  EXPECT_FALSE((*space)->can_export(plain));
  ASSERT_TRUE((*space)->free(plain).ok());
  (*space)->make_exportable();
  const DevicePtr before = *(*space)->allocate(Bytes(1000)), large = *(*space)->allocate(11_MiB);
  ASSERT_TRUE((*space)->allocate(Bytes(1000)).ok());
  const auto mappings = (*space)->export_allocation(large);
  ASSERT_TRUE(mappings.ok()) << mappings.status().to_string();
  ASSERT_LE(mappings->size(), AddressSpace::kMostExportedMappings);
  for (const ExportedMapping& one : *mappings) EXPECT_EQ(::fcntl(one.descriptor.number(), F_GETFD), FD_CLOEXEC);
  EXPECT_TRUE((*space)->can_export(large));
  EXPECT_FALSE((*space)->can_export(large + Bytes(4)));
  EXPECT_LE(mappings->front().range.address, large);
  EXPECT_GE(mappings->back().range.end(), large + 11_MiB);
  for (size_t i = 1; i < mappings->size(); ++i) EXPECT_EQ((*mappings)[i].range.address, (*mappings)[i - 1].range.end());
  EXPECT_EQ((*space)->export_allocation(large + Bytes(4)).status().code(), Code::invalid_argument);
  // What the one next to it holds too.
  const auto neighbours = (*space)->export_allocation(before);
  ASSERT_TRUE(neighbours.ok());
  EXPECT_EQ(neighbours->front().range, mappings->front().range);
  EXPECT_GT(state->memory_handles, 0);
  (*space).reset();
  EXPECT_EQ(state->memory_handles, 0);
}

TEST_F(CudaDeviceTest, WhereNoMemoryCanBeExportedItIsMadeAsWithoutThat) {
  open();
  auto space = device->reserve(kDefaultAddressSpaceBase, Bytes(uint64_t{1} << 30));
  ASSERT_TRUE(space.ok());
  (*space)->make_exportable();
  fail("cuMemCreate", CUDA_ERROR_NOT_SUPPORTED);
  const auto memory = (*space)->allocate(Bytes(1000));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_EQ((*space)->export_allocation(*memory).status().code(), Code::unsupported);
  EXPECT_EQ(state->memory_handles, 0);
  // Memory that has run out is no reason to stop that.
  fail("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ((*space)->allocate(16_MiB).status().code(), Code::exhausted);
}

TEST_F(CudaDeviceTest, MemoryThatRunsOutInTheMiddleLeavesNothingMapped) {
  open();
  auto space = device->reserve(kDefaultAddressSpaceBase, 256_MiB);
  ASSERT_TRUE(space.ok());
  for (const char* function : {"cuMemCreate", "cuMemMap", "cuMemSetAccess"}) {
    fail(function, CUDA_ERROR_OUT_OF_MEMORY, std::string_view(function) == "cuMemSetAccess" ? 0 : 2);
    auto refused = (*space)->allocate(Bytes(40 << 20));
    EXPECT_EQ(refused.status().code(), Code::exhausted);
    EXPECT_THAT(refused.status().message(), HasSubstr(std::string(function) + "("));
    EXPECT_THAT(refused.status().message(), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
    EXPECT_EQ(state->mappings, 0);
  }
  EXPECT_TRUE((*space)->allocate(Bytes(40 << 20)).ok());
}

TEST_F(CudaDeviceTest, ASmallRangeThatTheDriverPlacesElsewhereIsReservedWithinALargerOne) {
  open();
  state->elsewhere_below = uint64_t{100} << 30;
  auto space = device->reserve(kDefaultAddressSpaceBase, 64_MiB);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  EXPECT_EQ((*space)->base(), kDefaultAddressSpaceBase);
  EXPECT_EQ((*space)->size(), 64_MiB);
  EXPECT_EQ(state->reservations, 1);
  EXPECT_TRUE((*space)->allocate(1_MiB).ok());
}

TEST_F(CudaDeviceTest, ARangeThatIsTakenIsRefusedWithItsOwner) {
  open();
  a_range_that_is_taken_is_refused_with_its_owner("the driver");
}

TEST_F(CudaDeviceTest, WhatIsHeldWhenTheDriverStartsCanBeReservedAfterwards) {
  const MemoryRange range{DevicePtr(0x7a8000000000), 32_MiB};
  const HeldAddresses held({range});
  open();
  EXPECT_EQ(mapping_in(range.address, range.size), "0x7a8000000000-0x7a8002000000 anonymous memory") << "it is held again";
  const AddressLoan loan(range);
  auto space = device->reserve(range.address, range.size);
  EXPECT_TRUE(space.ok()) << space.status().to_string();
}

TEST_F(CudaDeviceTest, WhatWasMappedWhenTheDriverStartedCannotBeReserved) {
  void* taken =
      mmap(reinterpret_cast<void*>(0x7a8000000000), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_NE(taken, MAP_FAILED);
  open();
  munmap(taken, 4096);
  EXPECT_THAT(
      device->reserve(DevicePtr(0x7a8000000000), 32_MiB).status().message(),
      testing::MatchesRegex("reserving 32.0* MiB of device addresses at 0x7a8000000000: the driver gave 0x[0-9a-f]+ instead"));
}

TEST_F(CudaDeviceTest, HostMemoryIsPinnedAtItsAddress) {
  open();
  {
    auto mapping = device->map_host(kHostMemoryBase, 64_KiB);
    ASSERT_TRUE(mapping.ok()) << mapping.status().to_string();
    EXPECT_EQ(state->pinned, 1);
    EXPECT_EQ((*mapping)->address(), kHostMemoryBase);
    reinterpret_cast<char*>(kHostMemoryBase.address)[65535] = 1;
    auto again = device->map_host(kHostMemoryBase + 4_KiB, 4_KiB);
    ASSERT_FALSE(again.ok());
    EXPECT_THAT(
        again.status().to_string(),
        HasSubstr("unavailable: mapping 4.00 KiB of host memory at 0x7c0000001000: the range is taken in this process by "));
  }
  EXPECT_EQ(state->pinned, 0);
  EXPECT_EQ(device->map_host(kHostMemoryBase, Bytes(100)).status().to_string(),
            "invalid_argument: mapping 100 B of host memory at 0x7c0000000000: address and size must be multiples of 4.00 KiB");
}

TEST_F(CudaDeviceTest, MemoryForCopiesIsPinnedAsLongAsItsBufferLives) {
  open();
  state->late_copies = true;
  auto stream = device->create_stream();
  auto to = device->allocate(64_KiB);
  {
    auto buffer = device->allocate_pinned(64_KiB);
    ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
    EXPECT_EQ(state->pinned, 1);
    std::ranges::fill((*buffer)->bytes(), std::byte{1});
    ASSERT_TRUE((*stream)->copy_to_device_later(*to, (*buffer)->bytes()).ok());
    std::ranges::fill((*buffer)->bytes(), std::byte{2});  // it was not waited for
    ASSERT_TRUE((*stream)->synchronize().ok());
    EXPECT_EQ(*reinterpret_cast<const std::byte*>(to->address), std::byte{2});
  }
  EXPECT_EQ(state->pinned, 0);
  fail("cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(device->allocate_pinned(64_KiB).status().to_string(),
            "exhausted: cuMemHostAlloc(64.0 KiB): CUDA_ERROR_OUT_OF_MEMORY (words of the driver)");
}

TEST_F(CudaDeviceTest, HostMemoryThatTheDeviceSeesElsewhereIsRefused) {
  open();
  host_memory_that_the_device_sees_elsewhere_is_refused();
  fail("cuMemHostRegister_v2", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(device->map_host(kHostMemoryBase, 64_KiB).status().code(), Code::exhausted);
}

TEST_F(CudaDeviceTest, ARangeThatIsNotWholeGranulesIsRefused) {
  open();
  auto refused = device->reserve(kDefaultAddressSpaceBase, Bytes(4096));
  EXPECT_EQ(refused.status().to_string(),
            "invalid_argument: reserving 4.00 KiB of device addresses at 0x7a0000000000: base and size must be multiples of the "
            "device's "
            "granularity, 2.00 MiB");
  EXPECT_EQ(device->reserve(kDefaultAddressSpaceBase + Bytes(4096), 2_MiB).status().code(), Code::invalid_argument);
  EXPECT_EQ(device->reserve(kDefaultAddressSpaceBase, Bytes(0)).status().code(), Code::invalid_argument);
  EXPECT_EQ(state->reservations, 0);
}

TEST(MemoryKernelsImage, IsPtxWithTheKernels) {
  std::string_view ptx = memory_kernels_ptx();
  EXPECT_EQ(ptx.data()[ptx.size()], '\0');
  for (const char* part : {".target sm_70", ".entry mneme_compare(", ".entry mneme_hash_pages(", ".entry mneme_find_pointers("})
    EXPECT_THAT(ptx, HasSubstr(part));
}

// More than there is room for before their results are fetched.
TEST_F(CudaDeviceTest, EachOfManyComparisonsHasItsOwnResult) {
  open();
  auto a = device->allocate(64_KiB), b = device->allocate(64_KiB);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(stream->fill(*a, std::byte{1}, 64_KiB).ok());
  ASSERT_TRUE(stream->fill(*b, std::byte{1}, 64_KiB).ok());
  ASSERT_TRUE(stream->fill(*b + Bytes(1000), std::byte{2}, Bytes(600)).ok());
  for (int round = 0; round < 2; ++round) {
    constexpr uint64_t kCount = 600;
    for (uint64_t i = 0; i < kCount; ++i)
      ASSERT_TRUE(stream->compare_later(*a + Bytes(1000 + i), *b + Bytes(1000 + i), Bytes(2000)).ok());
    auto found = stream->take_comparisons();
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    ASSERT_EQ(found->size(), kCount);
    for (uint64_t i = 0; i < kCount; ++i) EXPECT_EQ((*found)[i].differing_bytes, kCount - i) << round;
  }
  EXPECT_TRUE(device->free(*a).ok() && device->free(*b).ok());
}

TEST_F(CudaDeviceTest, PagesBehindThoseThatAreHashedAtOnceHaveTheirOwnHash) {
  open();
  constexpr uint64_t kPages = (1 << 20) + 3, kPage = 16, kSize = kPages * kPage - 1;
  auto memory = device->allocate(Bytes(kSize + 1));
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(stream->fill(*memory, std::byte{1}, Bytes(kSize + 1)).ok());
  ASSERT_TRUE(stream->fill(*memory + Bytes(kSize - 20), std::byte{2}, Bytes(1)).ok());
  std::vector<uint64_t> hashes(kPages);
  ASSERT_TRUE(stream->hash_pages(hashes, *memory, Bytes(kSize), Bytes(kPage)).ok());
  EXPECT_EQ(hashes[kPages - 3], hashes[0]);
  EXPECT_NE(hashes[kPages - 2], hashes[0]);
  EXPECT_NE(hashes[kPages - 1], hashes[0]) << "the last one is shorter";
  EXPECT_TRUE(device->free(*memory).ok());
}

TEST_F(CudaDeviceTest, RangesAreHashedTogetherAsFarAsTheirHashesHaveRoom) {
  open();
  constexpr uint64_t kPage = 16, kPages = (1 << 20) - 1;
  auto memory = device->allocate(Bytes(kPages * kPage));
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(stream->fill(*memory, std::byte{1}, Bytes(kPages * kPage)).ok());
  const std::vector<MemoryRange> ranges(3, {*memory, Bytes(kPages * kPage)});
  std::vector<uint64_t> hashes(3 * kPages);
  const int waits = state->waits;
  ASSERT_TRUE(stream->hash_ranges(std::span(hashes).first(kPages), std::span(ranges).first(1), Bytes(kPage)).ok());
  const int waits_of_one = state->waits - waits;
  ASSERT_TRUE(stream->hash_ranges(hashes, ranges, Bytes(kPage)).ok());
  EXPECT_EQ(state->waits - waits - waits_of_one, 3 * waits_of_one);
  EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), 1u);
  const std::vector<MemoryRange> small(100, {*memory, Bytes(kPage)});
  ASSERT_TRUE(stream->hash_ranges(std::span(hashes).first(100), small, Bytes(kPage)).ok());
  EXPECT_EQ(state->waits - waits - waits_of_one, 3 * waits_of_one + 1);
  EXPECT_TRUE(device->free(*memory).ok());
}

TEST_F(CudaDeviceTest, WhatRunsOutOfMemoryMeanwhileGivesBackWhatItHas) {
  open();
  auto memory = device->allocate(64_KiB);
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE(stream->compare(*memory, *memory, 64_KiB).ok());
  std::vector<uint64_t> hashes(1024);
  fail("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(stream->hash_pages(hashes, *memory, 64_KiB, Bytes(64)).code(), Code::exhausted) << "more results than before";
  auto compared = stream->compare(*memory, *memory, 64_KiB);
  ASSERT_TRUE(compared.ok()) << compared.status().to_string();
  EXPECT_EQ(compared->differing_bytes, 0u);

  const int allocations = state->allocations;
  fail("cuMemcpyHtoDAsync_v2", CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(stream->compare_later(*memory, *memory, 64_KiB).code(), Code::invalid_argument);
  EXPECT_EQ(state->allocations, allocations);

  auto module = load();
  fail("cuEventCreate", CUDA_ERROR_OUT_OF_MEMORY, 1);
  const int events = state->events;
  EXPECT_EQ(stream->launch_timed(*module->kernel("work").value(), {}, {}).code(), Code::exhausted);
  EXPECT_EQ(state->events, events);
  EXPECT_TRUE(device->free(*memory).ok());
  stream.reset();
  EXPECT_EQ(state->allocations, 0);
}

TEST_F(CudaDeviceTest, TheOneBehindTheLastDeviceIsUnavailable) {
  EXPECT_THAT(open_device(1, kFakeLibraries).status().to_string(),
              HasSubstr("unavailable: opening CUDA device 1: the driver shows 1 device; "));
}

TEST(CudaAddressSpaceOwner, IsNoNeighbour) {
  constexpr uint64_t kPage = 4096, kBase = kDefaultAddressSpaceBase.address;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  for (uint64_t page : {kBase, kBase + 2 * kPage})
    ASSERT_NE(mmap(reinterpret_cast<void*>(page), kPage, PROT_NONE, kFlags, -1, 0), MAP_FAILED);
  EXPECT_EQ(mapping_in(DevicePtr(kBase + kPage), Bytes(kPage)), "");
  EXPECT_NE(mapping_in(DevicePtr(kBase + kPage), Bytes(kPage + 1)), "");
  EXPECT_NE(mapping_in(DevicePtr(kBase + kPage - 1), Bytes(kPage)), "");
  for (uint64_t page : {kBase, kBase + 2 * kPage}) munmap(reinterpret_cast<void*>(page), kPage);
}

ByteVector cubin_of(size_t size) {
  ByteVector cubin(size);
  memcpy(cubin.data(), "\177ELF", 4);
  cubin[18] = std::byte{190};
  return cubin;
}

// The driver takes no size: it would read past the end.
TEST_F(CudaDeviceTest, ACubinThatIsCutShortIsRefusedWhereverItIsCut) {
  open();
  EXPECT_TRUE(device->load({DeviceKind::cuda, cubin_of(64)}).ok());
  for (const auto& [offset, entry, count] : {std::array{40, 58, 60}, std::array{32, 54, 56}}) {  // of sections, of segments
    ByteVector cubin = cubin_of(64 + 3 * 64);
    cubin[offset] = std::byte{64};
    cubin[entry] = std::byte{64};
    cubin[count] = std::byte{3};
    EXPECT_TRUE(device->load({DeviceKind::cuda, cubin}).ok());
    cubin.pop_back();
    EXPECT_EQ(device->load({DeviceKind::cuda, cubin}).status().code(), Code::corrupt);
    cubin = cubin_of(64);
    cubin[offset + 1] = std::byte{1};  // an empty table behind the end
    EXPECT_EQ(device->load({DeviceKind::cuda, cubin}).status().code(), Code::corrupt);
  }
}

TEST_F(CudaDeviceTest, WhatIsAssembledAlreadyIsNotToldHowToBe) {
  open();
  ByteVector fat_binary(64);
  const uint32_t magic = 0xba55ed50;
  memcpy(fat_binary.data(), &magic, sizeof magic);
  for (const ByteVector& bytes : {cubin_of(64), fat_binary}) {
    CodeImage image{DeviceKind::cuda, bytes, {}};
    image.jit.level = 1;
    ASSERT_TRUE(device->load(image).ok());
    EXPECT_TRUE(state->jit_options.empty());
  }
  fail("cuModuleLoadDataEx", CUDA_ERROR_INVALID_PTX);
  state->jit_log = "words \n \n";
  EXPECT_EQ(device->load({DeviceKind::cuda, ByteVector(1)}).status().message(),
            "cuModuleLoadDataEx(PTX of 1 bytes): words: CUDA_ERROR_INVALID_PTX (words of the driver)");
}

TEST_F(CudaDeviceTest, ThereIsNoDeviceBeforeTheFirst) {
  EXPECT_EQ(open_device(-1, kFakeLibraries).status().code(), Code::unavailable);
}

TEST_F(CudaDeviceTest, ACacheOfNoKnownSizeIsNone) {
  state->attributes[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = -1;
  open();
  EXPECT_EQ(device->properties().l2_cache, Bytes(0));
}

TEST_F(CudaDeviceTest, MemoryOfNothingHasAnAddress) {
  open();
  const auto one = device->allocate(Bytes(0)), other = device->allocate(Bytes(0));
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(*one, *other);
  for (DevicePtr memory : {*one, *other}) EXPECT_TRUE(device->free(memory).ok());
}

// As of a program that uses another device.
TEST_F(CudaDeviceTest, AnotherContextIsLeftCurrentAndNotWorkedIn) {
  open();
  const Driver& driver = **open_driver(kFakeLibrary);
  CUcontext current = nullptr;
  driver.cuCtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
  const auto others = reinterpret_cast<CUcontext>(&current);
  driver.cuCtxPushCurrent(others);
  const DevicePtr memory = *device->allocate(Bytes(64));
  EXPECT_TRUE(stream->compare(memory, memory, Bytes(64)).ok());
  EXPECT_NE(state->current, others) << "in the midst of it";
  EXPECT_TRUE(device->free(memory).ok());
  driver.cuCtxGetCurrent(&current);
  EXPECT_EQ(current, others);
  driver.cuCtxPopCurrent(&current);
}

TEST_F(CudaDeviceTest, LimitsAreRaisedAndNeverLowered) {
  open();
  EXPECT_TRUE(mneme::raise_limits(*device, {}).ok());
  EXPECT_TRUE(mneme::raise_limits(*device, {kUsualDeviceStack, kUsualPendingLaunches}).ok());
  EXPECT_TRUE(state->limits.empty());
  const std::map<CUlimit, size_t> raised = {{CU_LIMIT_STACK_SIZE, 65536}, {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 4096}};
  for (const LaunchLimits& limits : {LaunchLimits{Bytes(65536), 4096}, LaunchLimits{Bytes(2048), 4000}, LaunchLimits()}) {
    EXPECT_TRUE(mneme::raise_limits(*device, limits).ok());
    EXPECT_EQ(state->limits, raised);
  }
  fail("cuCtxSetLimit", CUDA_ERROR_OUT_OF_MEMORY);
  const Status full = mneme::raise_limits(*device, {1_MiB, 0});
  EXPECT_EQ(full.code(), Code::exhausted);
  EXPECT_THAT(full.message(), HasSubstr("cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1048576)"));
}

TEST_F(CudaDeviceTest, AFaultWhileARangeIsReservedIsOne) {
  open();
  fail("cuMemAddressReserve", CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(device->reserve(kDefaultAddressSpaceBase, 64_MiB).status().code(), Code::device_fault);
}

TEST_F(CudaDeviceTest, SharedMemoryHasTheSizeThatWasAskedFor) {
  open();
  const auto memory = device->allocate_shared(Bytes(100));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_EQ((*memory)->size(), Bytes(100));
  const auto imported = device->import_shared(*(*memory)->share(), Bytes(100));
  ASSERT_TRUE(imported.ok()) << imported.status().to_string();
  EXPECT_EQ((*imported)->size(), Bytes(100));
}

TEST_F(CudaDeviceTest, AShortLastPageHasTheHashOfItsBytes) {
  open();
  std::vector<std::byte> bytes(8192);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  const DevicePtr memory = *device->allocate(Bytes(bytes.size())), hashes = *device->allocate(Bytes(16));
  ASSERT_TRUE(stream->copy_to_device(memory, bytes).ok());
  std::array<uint64_t, 2> two{};
  std::array<uint64_t, 1> last{};
  ASSERT_TRUE(stream->hash_pages(two, memory, Bytes(5000), Bytes(4096)).ok());
  ASSERT_TRUE(stream->hash_pages(last, memory + Bytes(4096), Bytes(904), Bytes(4096)).ok());
  EXPECT_EQ(two[1], last[0]);
  for (int i = 0; i < 2; ++i) {
    std::array<uint64_t, 2> again{};
    ASSERT_TRUE(stream->hash_pages_to(hashes, memory, Bytes(5000), Bytes(4096)).ok());
    ASSERT_TRUE(stream->copy_to_host(std::as_writable_bytes(std::span(again)), hashes).ok());
    EXPECT_EQ(again, two) << "whatever was there before";
  }
  for (DevicePtr one : {memory, hashes}) EXPECT_TRUE(device->free(one).ok());
}

TEST_F(CudaDeviceTest, PagesAreHashedByOneOperation) {
  open();
  const DevicePtr memory = *device->allocate(1_MiB), hashes = *device->allocate(Bytes(128));
  ASSERT_TRUE(stream->hash_pages_to(hashes, memory, 1_MiB, 64_KiB).ok());
  const int before = state->operations;
  ASSERT_TRUE(stream->hash_pages_to(hashes, memory, 1_MiB, 64_KiB).ok());
  EXPECT_EQ(state->operations - before, 1);
  for (DevicePtr one : {memory, hashes}) EXPECT_TRUE(device->free(one).ok());
}

TEST_F(CudaDeviceTest, PagesAreHashedAndComparedByOneKernel) {
  open();
  const DevicePtr memory = *device->allocate(1_MiB), hashes = *device->allocate(Bytes(128)),
                  expected = *device->allocate(Bytes(128));
  const MemoryRange range{memory, 1_MiB};
  ASSERT_TRUE(stream->fill(memory, std::byte{0}, 1_MiB).ok());
  ASSERT_TRUE(stream->hash_pages_to(expected, memory, 1_MiB, 64_KiB).ok());
  ASSERT_TRUE(stream->compare_hashes_later(hashes, expected, {&range, 1}, 64_KiB).ok());
  EXPECT_EQ(stream->take_comparisons()->at(0).differing_bytes, 0u);
  const int before = state->operations;
  ASSERT_TRUE(stream->compare_hashes_later(hashes, expected, {&range, 1}, 64_KiB).ok());
  EXPECT_EQ(state->operations - before, 2) << "nothing was found yet, and the kernel";
  EXPECT_EQ(stream->take_comparisons()->size(), 1u);
  EXPECT_EQ(state->operations - before, 2) << "the kernel tells the result itself";
  ASSERT_TRUE(stream->compare_hashes_later(hashes, expected, {&range, 1}, 64_KiB).ok());
  fail("cuLaunchKernelEx", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(stream->compare_hashes_later(hashes, expected, {&range, 1}, 64_KiB).code(), Code::invalid_argument);
  EXPECT_EQ(stream->take_comparisons()->size(), 1u) << "one that was not started has no result";
  // One of which a part was started neither, whatever that has found.
  ASSERT_TRUE(stream->fill(memory + Bytes(5), std::byte{1}, Bytes(1)).ok());
  const std::array<MemoryRange, 2> halves = {MemoryRange{memory, 512_KiB}, MemoryRange{memory + 512_KiB, 512_KiB}};
  fail("cuLaunchKernelEx", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 1);
  EXPECT_EQ(stream->compare_hashes_later(hashes, expected, halves, 64_KiB).code(), Code::invalid_argument);
  ASSERT_TRUE(stream->fill(memory + Bytes(5), std::byte{0}, Bytes(1)).ok());
  ASSERT_TRUE(stream->compare_hashes_later(hashes, expected, halves, 64_KiB).ok());
  auto found = stream->take_comparisons();
  ASSERT_TRUE(found.ok() && found->size() == 1u);
  EXPECT_EQ(found->at(0).differing_bytes, 0u);
  for (DevicePtr one : {memory, hashes, expected}) EXPECT_TRUE(device->free(one).ok());
}

// Memory is equal only where a kernel has said so.
TEST_F(CudaDeviceTest, AComparisonThatWasNotMadeIsNoResult) {
  open();
  const DevicePtr memory = *device->allocate(64_KiB), hashes = *device->allocate(Bytes(8));
  const MemoryRange range{memory, 64_KiB};
  ASSERT_TRUE(stream->hash_pages_to(hashes, memory, 64_KiB, 64_KiB).ok());
  const auto compared = [&] { return stream->compare_later(memory, memory, 64_KiB); };
  const auto hashed = [&] { return stream->compare_hashes_later(hashes, hashes, {&range, 1}, 64_KiB); };
  for (const std::function<Status()>& start : {std::function<Status()>(compared), std::function<Status()>(hashed)}) {
    ASSERT_TRUE(start().ok());
    EXPECT_EQ(stream->take_comparisons()->at(0).differing_bytes, 0u);
    ASSERT_TRUE(start().ok());
    state->own_kernels_do_nothing = true;
    ASSERT_TRUE(start().ok());
    EXPECT_EQ(stream->take_comparisons().status().to_string(),
              "internal: comparing memory: the device was waited for, and has told no result");
    state->own_kernels_do_nothing = false;
    ASSERT_TRUE(start().ok());
    EXPECT_EQ(stream->take_comparisons()->size(), 1u);
  }
  for (DevicePtr one : {memory, hashes}) EXPECT_TRUE(device->free(one).ok());
}

TEST_F(CudaDeviceTest, WorkBehindTheComparisonsIsNotWaitedFor) {
  open();
  const DevicePtr memory = *device->allocate(64_KiB);
  auto pinned = device->allocate_pinned(Bytes(8));
  ASSERT_TRUE(pinned.ok());
  std::fill((*pinned)->bytes().begin(), (*pinned)->bytes().end(), std::byte{5});
  ASSERT_TRUE(stream->fill(memory, std::byte{0}, 64_KiB).ok());
  const auto there = [&] { return *reinterpret_cast<const std::byte*>(memory.address); };
  ASSERT_TRUE(stream->compare_later(memory, memory, 64_KiB).ok());
  ASSERT_TRUE(stream->end_comparisons().ok());
  const int waits = state->waits, operations = state->operations;
  state->late_copies = true;
  ASSERT_TRUE(stream->copy_to_device_later(memory, (*pinned)->bytes()).ok());
  EXPECT_EQ(stream->take_comparisons()->size(), 1u);
  EXPECT_EQ(there(), std::byte{0});
  EXPECT_EQ(state->waits, waits);
  EXPECT_EQ(state->operations - operations, 1) << "the copy";
  // The next time everything is.
  EXPECT_TRUE(stream->take_comparisons()->empty());
  EXPECT_EQ(there(), std::byte{5});
  // Comparisons behind it are.
  ASSERT_TRUE(stream->compare_later(memory, memory, 64_KiB).ok());
  ASSERT_TRUE(stream->end_comparisons().ok());
  ASSERT_TRUE(stream->compare_later(memory, memory, 64_KiB).ok());
  EXPECT_EQ(stream->take_comparisons()->size(), 2u);
  EXPECT_EQ(state->waits, waits + 2);
  // A fault that the stream has is told.
  ASSERT_TRUE(stream->compare_later(memory, memory, 64_KiB).ok());
  ASSERT_TRUE(stream->end_comparisons().ok());
  state->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(stream->take_comparisons().status().code(), Code::device_fault);
  state->fault = CUDA_SUCCESS;
}

TEST_F(CudaDeviceTest, ResultsThatCouldNotBeTakenAreNobodysLater) {
  open();
  const DevicePtr memory = *device->allocate(Bytes(64));
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(stream->compare_later(memory, memory, Bytes(64)).ok());
  fail("cuStreamSynchronize", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(stream->take_comparisons().status().code(), Code::exhausted);
  ASSERT_TRUE(stream->compare_later(memory, memory, Bytes(64)).ok());
  EXPECT_EQ(stream->take_comparisons()->size(), 1u);
  EXPECT_TRUE(device->free(memory).ok());
}

TEST_F(CudaDeviceTest, SharedMemoryIsAskedForWhereTheStaticPartLeavesNone) {
  open();
  state->static_shared_bytes = 50'000;
  auto module = load();
  ASSERT_TRUE(stream->launch(**module->kernel("work"), with_shared(1000), {}).ok());
  EXPECT_EQ(state->dynamic_shared_limit, 1000);
}

TEST_F(CudaDeviceTest, ClocksAreReadThoughTheGpuDoesNotSayWhatKeepsThemLow) {
  const auto reading = [&](const char* function) {
    auto opened = open_device(0, {kFakeLibrary, {}, kFakeLibrary});
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    fail(function, CUDA_ERROR_UNKNOWN);
    return (*opened)->read_clocks();
  };
  const auto without_reasons = reading("nvmlDeviceGetCurrentClocksEventReasons");
  ASSERT_TRUE(without_reasons.has_value());
  EXPECT_EQ(without_reasons->sm_mhz, 1980u);
  EXPECT_FALSE(reading("nvmlInit_v2").has_value());
  EXPECT_FALSE(reading("nvmlDeviceGetClockInfo").has_value());
}

TEST(CudaErrors, WhatIsContainedIsAFault) { EXPECT_EQ(code_of(CUDA_ERROR_CONTAINED), Code::device_fault); }

}  // namespace
}  // namespace mneme::cuda
