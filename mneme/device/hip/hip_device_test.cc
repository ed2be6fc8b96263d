// The HIP backend over a runtime made for tests: every call, its order and its failures.
#include "mneme/device/hip/hip_device.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "mneme/device/address_space.h"
#include "mneme/device/gpu/testing/device_test.h"
#include "mneme/device/held_addresses.h"
#include "mneme/device/hip/code_objects.h"
#include "mneme/device/hip/error.h"
#include "mneme/device/hip/fake_hip.h"

namespace mneme::hip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFakeLibraries[] = {MNEME_FAKE_HIP_LIBRARY};

ByteVector code_object_of(size_t size) {
  ByteVector image(size);
  memcpy(image.data(), "\177ELF", 4);
  image[18] = std::byte{224};
  return image;
}

class HipDeviceTest : public gpu::DeviceTest<FakeHipState> {
 protected:
  HipDeviceTest() : DeviceTest(MNEME_FAKE_HIP_LIBRARY, "mneme_fake_hip_state") {}

  void open(int ordinal = 0) {
    use(open_device(ordinal, kFakeLibraries));
    state->calls.clear();
  }
  Kernel* load(const std::string& kernel = "work") {
    auto loaded = device->load({DeviceKind::hip, code_object_of(64)});
    EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
    module = std::move(loaded).value();
    return module->kernel(kernel).value();
  }
  void fail(const char* function, Error error, int after = 0) {
    state->fail_function = function;
    state->fail_after = after;
    state->fail_error = error;
  }
  // What was called since the last time.
  std::vector<std::string> calls() { return std::exchange(state->calls, {}); }

  std::unique_ptr<Module> module;
};

TEST(HipDriver, MissingLibrarySaysWhatToDo) {
  const std::string libraries[] = {"libamdhip64-that-is-not-there.so.7", "libamdhip64-that-is-not-there.so.6"};
  EXPECT_EQ(
      open_driver(libraries).status().to_string(),
      "unavailable: opening the HIP runtime: libamdhip64-that-is-not-there.so.7: cannot open shared object file: No such file "
      "or directory; install ROCm's hip-runtime-amd (libamdhip64), which must be where the loader looks, or choose another "
      "device (--device cpu)");
}

TEST(HipDriver, TheFirstLibraryThatOpensIsTaken) {
  const std::string libraries[] = {"libamdhip64-that-is-not-there.so.7", MNEME_FAKE_HIP_LIBRARY};
  auto driver = open_driver(libraries);
  ASSERT_TRUE(driver.ok()) << driver.status().to_string();
  EXPECT_EQ((*driver)->library, MNEME_FAKE_HIP_LIBRARY);
  EXPECT_EQ((*driver)->properties_layout.architecture, kPropertiesSince6.architecture);
  EXPECT_NE((*driver)->launch_cooperative, nullptr);
  EXPECT_THAT(std::vector(runtime_libraries().begin(), runtime_libraries().end()),
              ElementsAre("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"));
}

// A program that is recorded has its memory of the runtime that it was linked with, whichever is newer.
TEST(HipDriver, TheLibraryThatTheProcessHasComesFirst) {
  ASSERT_NE(::dlopen(MNEME_FAKE_HIP_LIBRARY, RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  if (::dlopen(MNEME_TEST_ROCM_RUNTIME, RTLD_NOW | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "another test has loaded both";
  const std::string libraries[] = {MNEME_TEST_ROCM_RUNTIME, MNEME_FAKE_HIP_LIBRARY};
  auto driver = open_driver(libraries);
  ASSERT_TRUE(driver.ok()) << driver.status().to_string();
  EXPECT_EQ((*driver)->library, MNEME_FAKE_HIP_LIBRARY);
}

TEST(HipDriver, LibraryThatLacksAFunctionSaysWhich) {
  const std::string libraries[] = {"libm.so.6"};
  EXPECT_EQ(open_driver(libraries).status().to_string(),
            "unavailable: opening the HIP runtime: libm.so.6 has no function hipInit; install ROCm 5.2 or newer");
}

// The runtime that Mneme was built beside has every function that is needed.
TEST(HipDriver, TheInstalledRuntimeHasAllFunctions) {
  const std::string libraries[] = {MNEME_TEST_ROCM_RUNTIME};
  auto driver = open_driver(libraries);
  ASSERT_TRUE(driver.ok()) << driver.status().to_string();
  EXPECT_NE((*driver)->properties, nullptr);
}

TEST(HipDriver, NothingIsOpenedWithoutTheKernelDriver) {
  EXPECT_EQ(
      find_driver("/dev/kfd-that-is-not-there").to_string(),
      "unavailable: looking for AMD GPUs: there is no /dev/kfd-that-is-not-there; install AMD's kernel driver (amdgpu), start a "
      "container with --device /dev/kfd-that-is-not-there --device /dev/dri, or choose another device (--device cpu)");
}

TEST(HipErrors, EachErrorHasItsCode) {
  const std::pair<Error, Code> kCodes[] = {
      {0, Code::ok},
      {kInvalidValue, Code::invalid_argument},
      {kInvalidConfiguration, Code::invalid_argument},
      {kLaunchOutOfResources, Code::invalid_argument},
      {kCooperativeLaunchTooLarge, Code::invalid_argument},
      {kOutOfMemory, Code::exhausted},
      {kRuntimeMemory, Code::exhausted},
      {kNotFound, Code::not_found},
      {kNotSupported, Code::unsupported},
      {kUnsupportedLimit, Code::unsupported},
      {kStreamCaptureUnsupported, Code::unsupported},
      {kStreamCaptureImplicit, Code::unsupported},
      {kInvalidImage, Code::incompatible},
      {kNoBinaryForGpu, Code::incompatible},
      {kInvalidKernelFile, Code::incompatible},
      {kInvalidSource, Code::incompatible},
      {kSharedObjectSymbolNotFound, Code::incompatible},
      {kSharedObjectInitFailed, Code::incompatible},
      {kNotInitialized, Code::unavailable},
      {kDeinitialized, Code::unavailable},
      {kInsufficientDriver, Code::unavailable},
      {kNoDevice, Code::unavailable},
      {kInvalidDevice, Code::unavailable},
      {kOperatingSystem, Code::unavailable},
      {kUnknown, Code::internal},
      {kRuntimeOther, Code::internal},
  };
  for (const auto& [result, code] : kCodes) {
    EXPECT_EQ(code_of(result), code) << result;
    EXPECT_FALSE(is_fault(result)) << result;
  }
  for (Error fault :
       {kEccNotCorrectable, kIllegalState, kIllegalAddress, kLaunchTimeOut, kContextIsDestroyed, kAssert, kLaunchFailure}) {
    EXPECT_TRUE(is_fault(fault)) << fault;
    EXPECT_EQ(code_of(fault), Code::device_fault) << fault;
  }
}

TEST_F(HipDeviceTest, CountsTheDevices) {
  state->devices = 3;
  EXPECT_EQ(*count_devices(kFakeLibraries), 3);
  state->devices = 0;
  EXPECT_EQ(*count_devices(kFakeLibraries), 0) << "the runtime has an error for that";
  fail("hipGetDeviceCount", kUnknown);
  EXPECT_EQ(count_devices(kFakeLibraries).status().code(), Code::internal);
}

TEST_F(HipDeviceTest, NoDeviceIsUnavailable) {
  fail("hipInit", kNoDevice);
  EXPECT_EQ(open_device(0, kFakeLibraries).status().to_string(),
            "unavailable: starting the HIP driver: hipInit(0): hipErrorNoDevice (words of the runtime)");
  for (int ordinal : {-1, 1, 7})
    EXPECT_EQ(open_device(ordinal, kFakeLibraries).status().to_string(),
              fmt::format("unavailable: opening HIP device {}: the runtime shows 1 device; HIP_VISIBLE_DEVICES or "
                          "ROCR_VISIBLE_DEVICES selects which",
                          ordinal));
}

TEST_F(HipDeviceTest, AnErrorThatTheRuntimeCannotNameKeepsItsNumber) {
  fail("hipInit", 12345);
  EXPECT_EQ(open_device(0, kFakeLibraries).status().to_string(),
            "internal: starting the HIP driver: hipInit(0): HIP error 12345");
}

TEST_F(HipDeviceTest, EachFailureOfOpeningIsTold) {
  for (const char* function : {"hipInit", "hipGetDeviceCount", "hipDeviceGet", "hipGetDevicePropertiesR0600", "hipDeviceGetName",
                               "hipDeviceTotalMem", "hipDeviceGetPCIBusId", "hipMemGetAllocationGranularity"}) {
    fail(function, kOutOfMemory);
    const Status status = open_device(0, kFakeLibraries).status();
    EXPECT_EQ(status.code(), Code::exhausted) << function;
    EXPECT_THAT(status.message(), HasSubstr(std::string(function))) << function;
  }
  for (int attribute = 0; attribute < 13; ++attribute) {
    fail("hipDeviceGetAttribute", kOutOfMemory, attribute);
    EXPECT_THAT(open_device(0, kFakeLibraries).status().to_string(), HasSubstr("exhausted: hipDeviceGetAttribute(")) << attribute;
  }
  EXPECT_EQ(state->streams + state->modules + state->allocations, 0);
}

TEST_F(HipDeviceTest, PropertiesComeFromTheRuntime) {
  state->attributes = {{Attribute::warp_size, 33},
                       {Attribute::multiprocessors, 34},
                       {Attribute::max_threads_per_block, 35},
                       {Attribute::max_block_x, 36},
                       {Attribute::max_block_y, 37},
                       {Attribute::max_block_z, 38},
                       {Attribute::max_grid_x, 39},
                       {Attribute::max_grid_y, 40},
                       {Attribute::max_grid_z, 41},
                       {Attribute::shared_memory_per_block, 42},
                       {Attribute::l2_cache, 43},
                       {Attribute::max_threads_per_multiprocessor, 44}};
  open();
  const DeviceProperties& properties = device->properties();
  EXPECT_EQ(properties.kind, DeviceKind::hip);
  EXPECT_EQ(properties.name, "Fake AMD GPU");
  EXPECT_EQ(properties.architecture, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(properties.warp_size, 33u);
  EXPECT_EQ(properties.multiprocessors, 34u);
  EXPECT_EQ(properties.max_threads_per_block, 35u);
  EXPECT_EQ(properties.max_block, (Dim3{36, 37, 38}));
  EXPECT_EQ(properties.max_grid, (Dim3{39, 40, 41}));
  EXPECT_EQ(properties.max_shared_memory_per_block, Bytes(42));
  EXPECT_EQ(properties.l2_cache, Bytes(43));
  EXPECT_EQ(properties.max_threads_per_multiprocessor, 44u);
  EXPECT_EQ(properties.total_memory, Bytes(1 << 30));
  EXPECT_EQ(properties.allocation_granularity, 4_KiB);
  EXPECT_EQ(properties.reservation_granularity, 4_KiB);
  EXPECT_EQ(properties.hardware_id, "0000:c1:00.0");
  EXPECT_FALSE(properties.clusters);
}

TEST_F(HipDeviceTest, AGpuWithoutANameHasOne) {
  state->name = "";
  state->attributes[Attribute::l2_cache] = -1;
  open();
  EXPECT_EQ(device->properties().name, "AMD GPU");
  EXPECT_EQ(device->properties().l2_cache, Bytes(0));
}

// HIP's headers over CUDA.
TEST_F(HipDeviceTest, AnotherPlatformIsRefused) {
  state->architecture = "";
  EXPECT_EQ(
      open_device(0, kFakeLibraries).status().to_string(),
      "unsupported: hipGetDevicePropertiesR0600(0): '' is no architecture of AMD's: HIP programs of this runtime are for another "
      "platform");
}

TEST_F(HipDeviceTest, WithoutVirtualMemoryThereIsNoReservedRange) {
  state->attributes[Attribute::virtual_memory_management] = 0;
  open();
  EXPECT_EQ(device->properties().allocation_granularity, Bytes(0));
  EXPECT_EQ(device->reserve(kDefaultAddressSpaceBase, 64_MiB).status().to_string(),
            "unsupported: reserving 64.0 MiB of device addresses at 0x7a0000000000: the device has no virtual memory management");
  EXPECT_EQ(device->allocate_shared(1_MiB).status().code(), Code::unsupported);
  // ROCm 5.2 does not know what is asked.
  fail("hipDeviceGetAttribute", kInvalidValue, 12);
  auto opened = open_device(0, kFakeLibraries);
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ((*opened)->properties().allocation_granularity, Bytes(0));
}

TEST_F(HipDeviceTest, TheOrderOfCallsIsThis) {
  open();
  Kernel* kernel = load();
  EXPECT_THAT(calls(), ElementsAre("hipModuleLoadData", "hipModuleGetFunction", "hipFuncGetAttribute", "hipFuncGetAttribute",
                                   "hipFuncGetAttribute", "hipFuncGetAttribute", "hipFuncGetAttribute"));
  ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_THAT(calls(), ElementsAre("hipModuleLaunchKernel", "hipStreamSynchronize"));
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_THAT(calls(), ElementsAre("hipEventCreateWithFlags", "hipEventCreateWithFlags", "hipEventRecord",
                                   "hipModuleLaunchKernel", "hipEventRecord"));
  EXPECT_THAT(*stream->take_times(), ElementsAre(Nanoseconds(250000)));
  EXPECT_THAT(calls(), ElementsAre("hipStreamSynchronize", "hipEventElapsedTime"));
  auto space = device->reserve(kDefaultAddressSpaceBase, 64_MiB);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  ASSERT_TRUE((*space)->allocate(Bytes(4096)).ok());
  EXPECT_THAT(calls(), ElementsAre("hipMemAddressReserve", "hipMemCreate", "hipMemMap", "hipMemRelease", "hipMemSetAccess"));
  ASSERT_TRUE((*space)->free((*space)->base()).ok());
  *space = nullptr;
  EXPECT_THAT(calls(), ElementsAre("hipMemUnmap", "hipMemAddressFree"));
  const DevicePtr memory = *device->allocate(1_MiB);
  std::vector<std::byte> bytes(1 << 20);
  ASSERT_TRUE(stream->copy_to_device(memory, bytes).ok());
  ASSERT_TRUE(stream->copy(memory, memory + Bytes(4096), Bytes(4096)).ok());
  ASSERT_TRUE(stream->fill(memory, std::byte{1}, Bytes(4096)).ok());
  ASSERT_TRUE(stream->copy_to_host(bytes, memory).ok());
  ASSERT_TRUE(device->free(memory).ok());
  EXPECT_THAT(calls(), ElementsAre("hipMalloc", "hipMemcpyHtoDAsync", "hipStreamSynchronize", "hipMemcpyDtoDAsync",
                                   "hipMemsetD8Async", "hipMemcpyDtoHAsync", "hipStreamSynchronize", "hipFree"));
  ASSERT_TRUE(device->map_host(kHostMemoryBase, 64_KiB).ok());
  ASSERT_TRUE(device->allocate_pinned(64_KiB).ok());
  EXPECT_THAT(calls(),
              ElementsAre("hipHostRegister", "hipHostGetDevicePointer", "hipHostUnregister", "hipHostMalloc", "hipHostFree"));
  stream.reset();
  module.reset();
  EXPECT_THAT(calls(),
              ElementsAre("hipStreamSynchronize", "hipEventDestroy", "hipEventDestroy", "hipStreamDestroy", "hipModuleUnload"));
}

TEST_F(HipDeviceTest, EverythingIsGivenBack) {
  open();
  load();
  everything_is_given_back(std::move(module));
}

TEST_F(HipDeviceTest, ResourcesOfAKernelAreTheRuntimes) {
  open();
  Kernel* kernel = load();
  EXPECT_EQ(kernel->resources().registers, 37u);
  EXPECT_EQ(kernel->resources().local_memory, Bytes(16));
  EXPECT_EQ(kernel->resources().constant_memory, Bytes(8));
  EXPECT_EQ(kernel->resources().static_shared_memory, Bytes(128));
  EXPECT_EQ(kernel->resources().max_threads_per_block, 512u);
  const LaunchShape shape{.grid = {1, 1, 1}, .block = {64, 2, 1}, .dynamic_shared_memory = Bytes(100)};
  EXPECT_EQ(kernel->active_blocks(shape).value(), 2048u / 128 + 100);
  EXPECT_EQ(module->kernel("missing").status().to_string(),
            "not_found: hipModuleGetFunction(missing): hipErrorNotFound (words of the runtime)");
  EXPECT_EQ(module->global("table")->address, DevicePtr(0x1000));
  EXPECT_EQ(module->global("table")->size, Bytes(24));
  EXPECT_EQ(module->global("missing").status().to_string(),
            "not_found: hipModuleGetGlobal(missing): hipErrorNotFound (words of the runtime)");
}

TEST_F(HipDeviceTest, LaunchPassesTheShapeAndThePackedParameters) {
  open();
  Kernel* kernel = load();
  const std::vector<std::byte> parameters = {std::byte{1}, std::byte{2}, std::byte{3}};
  const LaunchShape shape{.grid = {5, 6, 7}, .block = {8, 4, 2}, .dynamic_shared_memory = Bytes(1000)};
  ASSERT_TRUE(stream->launch(*kernel, shape, parameters).ok());
  const FakeLaunch& launch = state->last_launch;
  EXPECT_EQ(launch.kernel, "work");
  EXPECT_THAT(launch.grid, ElementsAre(5, 6, 7));
  EXPECT_THAT(launch.block, ElementsAre(8, 4, 2));
  EXPECT_EQ(launch.shared_bytes, 1000u);
  EXPECT_FALSE(launch.cooperative);
  EXPECT_EQ(launch.parameters, parameters);
  ASSERT_TRUE(stream->launch(*kernel, shape, {}).ok());
  EXPECT_TRUE(state->last_launch.parameters.empty());
  fail("hipModuleLaunchKernel", kLaunchOutOfResources);
  EXPECT_EQ(
      stream->launch(*kernel, shape, parameters).to_string(),
      "invalid_argument: hipModuleLaunchKernel(work, grid 5x6x7, block 8x4x2, 1000 bytes of dynamic shared memory, 3 bytes of "
      "parameters): hipErrorLaunchOutOfResources (words of the runtime)");
}

// They take no packed parameters, so that it must be known where the arguments lie.
TEST_F(HipDeviceTest, ACooperativeLaunchHasItsArgumentsOneByOne) {
  open();
  Kernel* kernel = load();
  std::vector<std::byte> parameters(12);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i] = std::byte(i + 1);
  const LaunchShape shape{.grid = {5, 6, 7}, .block = {8, 4, 2}, .cooperative = true};
  EXPECT_EQ(
      stream->launch(*kernel, shape, parameters).to_string(),
      "invalid_argument: hipModuleLaunchCooperativeKernel(work, grid 5x6x7, block 8x4x2, 0 bytes of dynamic shared memory, 12 "
      "bytes of parameters, cooperative): hipErrorInvalidValue (words of the runtime)");
  const PackedPlace places[] = {{0, 8}, {8, 4}};
  ASSERT_TRUE(kernel->expect_arguments(places).ok());
  ASSERT_TRUE(stream->launch(*kernel, shape, parameters).ok());
  EXPECT_TRUE(state->last_launch.cooperative);
  EXPECT_EQ(state->last_launch.parameters, parameters);
  EXPECT_EQ(stream->launch(*kernel, shape, std::span(parameters).first(11)).code(), Code::invalid_argument);
  state->parameters.clear();
  ASSERT_TRUE(kernel->expect_arguments({}).ok());
  EXPECT_TRUE(stream->launch(*kernel, shape, {}).ok());
}

TEST_F(HipDeviceTest, ClustersAreRefused) {
  open();
  EXPECT_EQ(stream->launch(*load(), {.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}}, {}).code(), Code::unsupported);
}

TEST_F(HipDeviceTest, TheClockIsOfEvents) {
  open();
  auto clock = device->clock();
  ASSERT_TRUE(clock.ok());
  EXPECT_EQ(clock->source, "hip_event");
  EXPECT_EQ(clock->remark, "the HIP runtime was in the process before rocprofiler-sdk could be");
  EXPECT_EQ(device->launch_observer(), nullptr);
  EXPECT_FALSE(device->read_clocks().has_value());
}

TEST_F(HipDeviceTest, ImagesThatDoNotLoadSayWhy) {
  open();
  EXPECT_EQ(device->load({DeviceKind::cuda, {}}).status().to_string(),
            "incompatible: loading a code image made for cuda on Fake AMD GPU, a hip device");
  EXPECT_EQ(device->load({DeviceKind::hip, ByteVector(7)}).status().to_string(),
            "incompatible: loading a code image: 7 bytes that are neither a code object nor a bundle of them");
  ByteVector image = code_object_of(64);
  image[18] = std::byte{190};
  EXPECT_EQ(device->load({DeviceKind::hip, image}).status().to_string(),
            "incompatible: loading a code image: an ELF file for machine 190, where a code object (machine 224) is wanted");
  EXPECT_EQ(device->load({DeviceKind::hip, code_object_of(20)}).status().to_string(),
            "corrupt: loading a code object: 20 bytes, fewer than its header has");
  image = code_object_of(64);
  image[40] = image[58] = std::byte{64};  // where sections are described, and how large a description is
  image[60] = std::byte{3};               // of how many
  EXPECT_EQ(device->load({DeviceKind::hip, image}).status().to_string(),
            "corrupt: loading a code object: its header names 192 bytes at offset 64, past its end at 64");
  fail("hipModuleLoadData", kNoBinaryForGpu);
  EXPECT_EQ(device->load({DeviceKind::hip, code_object_of(64)}).status().to_string(),
            "incompatible: hipModuleLoadData(a code object of 64 bytes): hipErrorNoBinaryForGpu (words of the runtime)");
  ByteVector bundle(64);
  memcpy(bundle.data(), "__CLANG_OFFLOAD_BUNDLE__", 24);
  EXPECT_TRUE(device->load({DeviceKind::hip, bundle}).ok());
  memcpy(bundle.data(), "CCOB", 4);
  EXPECT_TRUE(device->load({DeviceKind::hip, bundle}).ok());
}

TEST_F(HipDeviceTest, ComparesHashesCopiesAndFindsByItsOwnKernels) {
  open();
  std::vector<std::byte> bytes(100000, std::byte{7});
  const DevicePtr a = *device->allocate(Bytes(bytes.size())), b = *device->allocate(Bytes(bytes.size()));
  ASSERT_TRUE(stream->copy_to_device(a, bytes).ok());
  bytes[77777] = bytes[99999] = std::byte{8};
  ASSERT_TRUE(stream->copy_to_device(b, bytes).ok());
  auto compared = stream->compare(a, b, Bytes(bytes.size()));
  ASSERT_TRUE(compared.ok()) << compared.status().to_string();
  EXPECT_EQ(compared->differing_bytes, 2u);
  EXPECT_EQ(compared->first_difference, 77777u);
  auto elements =
      stream->compare_elements(a, b, Bytes(100000), {ElementType::u8, 0.0, ErrorKind::absolute, Norm::none, NanPolicy::none});
  ASSERT_TRUE(elements.ok()) << elements.status().to_string();
  std::vector<uint64_t> of_a(25), of_b(25);
  ASSERT_TRUE(stream->hash_pages(of_a, a, Bytes(bytes.size()), Bytes(4096)).ok());
  ASSERT_TRUE(stream->hash_pages(of_b, b, Bytes(bytes.size()), Bytes(4096)).ok());
  for (size_t page = 0; page < of_a.size(); ++page) EXPECT_EQ(of_a[page] == of_b[page], page != 18 && page != 24) << page;
  ASSERT_TRUE(stream->compare_later(a, b, Bytes(77777)).ok());
  EXPECT_EQ(stream->take_comparisons()->at(0).differing_bytes, 0u);
  // The code object is that of the device's processor, whatever its settings.
  ASSERT_FALSE(state->images.empty());
  EXPECT_EQ(memcmp(state->images[0].data(), "\177ELF", 4), 0);
  EXPECT_TRUE(device->free(a).ok() && device->free(b).ok());
}

TEST_F(HipDeviceTest, AnArchitectureWithoutKernelsOfOursIsRefusedWhereTheyAreNeeded) {
  state->architecture = "gfx9999";
  open();
  EXPECT_TRUE(stream->synchronize().ok());
  const DevicePtr memory = *device->allocate(Bytes(64));
  EXPECT_THAT(stream->compare(memory, memory, Bytes(64)).status().to_string(),
              testing::MatchesRegex(
                  "unsupported: loading Mneme's memory kernels: Mneme's own kernels are not compiled for gfx9999, but for "
                  "gfx.*: build Mneme with -DMNEME_HIP_ARCHITECTURES=\"...;gfx9999\""));
  EXPECT_TRUE(device->free(memory).ok());
}

TEST_F(HipDeviceTest, CopiesArriveWholeHoweverLateTheBusIs) {
  open();
  copies_arrive_whole_however_late_the_bus_is();
}

TEST_F(HipDeviceTest, EachFailureOfAStreamNamesItsCall) {
  open();
  Kernel* kernel = load();
  const DevicePtr memory = *device->allocate(64_KiB);
  std::vector<std::byte> bytes(64 << 10);
  const auto expect = [&](const char* function, auto&& call) {
    fail(function, kOutOfMemory);
    const Status status = call();
    EXPECT_EQ(status.code(), Code::exhausted) << function;
    EXPECT_THAT(status.message(), HasSubstr(std::string(function))) << function;
  };
  expect("hipStreamCreateWithFlags", [&] { return device->create_stream().status(); });
  expect("hipStreamSynchronize", [&] { return stream->synchronize(); });
  expect("hipMemcpyHtoDAsync", [&] { return stream->copy_to_device(memory, bytes); });
  expect("hipMemcpyHtoDAsync", [&] { return stream->copy_to_device_later(memory, bytes); });
  expect("hipMemcpyDtoHAsync", [&] { return stream->copy_to_host(bytes, memory); });
  expect("hipMemcpyDtoDAsync", [&] { return stream->copy(memory, memory + Bytes(64), Bytes(64)); });
  expect("hipMemsetD8Async", [&] { return stream->fill(memory, std::byte{1}, Bytes(64)); });
  expect("hipMalloc", [&] { return device->allocate(Bytes(64)).status(); });
  expect("hipFree", [&] { return device->free(memory); });
  expect("hipHostMalloc", [&] { return device->allocate_pinned(Bytes(64)).status(); });
  expect("hipHostRegister", [&] { return device->map_host(kHostMemoryBase, 64_KiB).status(); });
  expect("hipHostGetDevicePointer", [&] { return device->map_host(kHostMemoryBase, 64_KiB).status(); });
  expect("hipEventCreateWithFlags", [&] { return stream->launch_timed(*kernel, {}, {}); });
  expect("hipEventRecord", [&] { return stream->launch_timed(*kernel, {}, {}); });
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  expect("hipEventElapsedTime", [&] { return stream->take_times().status(); });
  expect("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", [&] { return kernel->active_blocks({}).status(); });
  for (int attribute = 0; attribute < 5; ++attribute) {
    fail("hipFuncGetAttribute", kOutOfMemory, attribute);
    EXPECT_EQ(module->kernel(fmt::format("other{}", attribute)).status().code(), Code::exhausted);
  }
  EXPECT_TRUE(device->free(memory).ok());
  EXPECT_EQ(state->pinned, 0);
}

TEST_F(HipDeviceTest, SharedMemoryIsImportedForReadingOnly) {
  open();
  for (const int version : {50'221'153, 70'051'831, 70'100'000}) {
    state->runtime_version = version;
    shared_memory_is_imported_for_reading_only([&](const auto& descriptor) {
      fail("hipRuntimeGetVersion", kOutOfMemory);
      EXPECT_EQ(device->import_shared(descriptor, 3_MiB).status().code(), Code::exhausted);
    });
  }
  for (const char* function : {"hipMemCreate", "hipMemAddressReserve", "hipMemMap", "hipMemSetAccess"}) {
    fail(function, kOutOfMemory);
    EXPECT_EQ(device->allocate_shared(2_MiB).status().code(), Code::exhausted) << function;
    EXPECT_EQ(state->mappings + state->reservations + state->memory_handles, 0) << function;
  }
}

TEST_F(HipDeviceTest, AddressSpaceMapsUnderAllocationsOnly) {
  state->granularity = 2 << 20;
  open();
  auto space = device->reserve(kDefaultAddressSpaceBase, 256_MiB);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  EXPECT_EQ((*space)->base(), kDefaultAddressSpaceBase);
  EXPECT_EQ(state->mappings, 0);
  const DevicePtr first = *(*space)->allocate(Bytes(5 << 20));    // granules 0, 1, 2
  const DevicePtr second = *(*space)->allocate(Bytes(31 << 20));  // shares granule 2, ends in 17
  EXPECT_EQ(state->mappings, 3 + 3);
  ASSERT_TRUE(stream->fill(second, std::byte{2}, Bytes(31 << 20)).ok());
  ASSERT_TRUE((*space)->free(first).ok());
  ASSERT_TRUE((*space)->free(second).ok());
  EXPECT_EQ(state->mappings, 0);
  for (const char* function : {"hipMemCreate", "hipMemMap", "hipMemSetAccess"}) {
    fail(function, kOutOfMemory, std::string_view(function) == "hipMemSetAccess" ? 0 : 2);
    EXPECT_THAT((*space)->allocate(Bytes(40 << 20)).status().to_string(), HasSubstr(std::string(function) + "("));
    EXPECT_EQ(state->mappings, 0) << function;
  }
}

TEST_F(HipDeviceTest, ARangeThatIsTakenIsRefusedWithItsOwner) {
  open();
  a_range_that_is_taken_is_refused_with_its_owner("the runtime");
}

// ROCm places what is its own where the process has room: what a replay needs is therefore held also while the runtime starts.
TEST_F(HipDeviceTest, WhatIsHeldStaysHeldWhileTheRuntimeStarts) {
  const MemoryRange range{DevicePtr(0x7a8000000000), 32_MiB};
  const HeldAddresses held({range});
  state->watched_address = range.address.address;
  open();
  EXPECT_TRUE(state->mapped_at_start);
  const AddressLoan loan(range);
  auto space = device->reserve(range.address, range.size);
  EXPECT_TRUE(space.ok()) << space.status().to_string();
}

TEST_F(HipDeviceTest, HostMemoryThatTheDeviceSeesElsewhereIsRefused) {
  open();
  host_memory_that_the_device_sees_elsewhere_is_refused();
}

TEST_F(HipDeviceTest, AnotherDeviceIsLeftCurrentAndNotWorkedIn) {
  state->devices = 2;
  open(1);
  std::thread([&] {
    ASSERT_EQ(state->calls.size(), 0u);
    const DevicePtr memory = *device->allocate(Bytes(64));
    EXPECT_THAT(calls(), ElementsAre("hipSetDevice", "hipMalloc", "hipSetDevice"));
    EXPECT_EQ(state->current, 0) << "as it was before";
    EXPECT_TRUE(stream->compare(memory, memory, Bytes(64)).ok());
    EXPECT_TRUE(device->free(memory).ok());
  }).join();
  fail("hipSetDevice", kOutOfMemory);
  EXPECT_EQ(device->allocate(Bytes(64)).status().to_string(),
            "exhausted: hipSetDevice: hipErrorOutOfMemory (words of the runtime)");
}

TEST_F(HipDeviceTest, AFaultPoisonsTheDevice) {
  open();
  ASSERT_TRUE(stream->launch(*load("trap"), {}, {}).ok());
  EXPECT_EQ(stream->synchronize().to_string(),
            "device_fault: hipStreamSynchronize: hipErrorIllegalAddress (an illegal memory access was encountered)");
  state->fault = 0;  // it is not the runtime that refuses from here on
  for (const Status& status : {stream->synchronize(), device->allocate(1_MiB).status(), device->create_stream().status()}) {
    EXPECT_EQ(status.code(), Code::device_fault);
    EXPECT_THAT(status.message(), HasSubstr("the device was lost by an earlier fault, and only a new process can use it again"));
  }
}

}  // namespace
}  // namespace mneme::hip
