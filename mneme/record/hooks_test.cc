// The calls that the recorder stands before, from the program's side: each does to the program what the vendor's does.
#include <gmock/gmock.h>

#include <type_traits>

#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

// A function of the vendor that says by which slot it was called.
mneme_call called = MNEME_CALL_COUNT;
template <mneme_call kSlot>
long says_its_slot() {
  called = kSlot;
  return 0;
}

struct Activity {
  mneme_call slot;
  mneme_function vendor;
  std::function<void(FakeProgram&)> call;
};

template <mneme_call kSlot, typename R, typename... A>
Activity activity(std::type_identity<R(A...)>) {
  return {kSlot, reinterpret_cast<mneme_function>(&says_its_slot<kSlot>),
          [](FakeProgram& program) { program.call<R(A...)>(kSlot, A{}...); }};
}
// A function whose signature is that of `like`.
#define ACTIVITY_LIKE(name, like) activity<MNEME_CALL_##name>(std::type_identity<decltype(::like)>())
#define ACTIVITY(name) ACTIVITY_LIKE(name, name)
#define ACTIVITY_PTDS(name) ACTIVITY(name), ACTIVITY_LIKE(name##_ptds, name)
#define ACTIVITY_PTSZ(name) ACTIVITY(name), ACTIVITY_LIKE(name##_ptsz, name)

#pragma clang diagnostic ignored "-Wdeprecated-declarations"
std::vector<Activity> activities() {
  return {ACTIVITY_PTDS(cudaMemcpy),         ACTIVITY_PTDS(cudaMemcpy2D),
          ACTIVITY_PTDS(cudaMemcpy3D),       ACTIVITY(cudaMemcpyPeer),
          ACTIVITY_PTSZ(cudaMemcpyAsync),    ACTIVITY_PTSZ(cudaMemcpy2DAsync),
          ACTIVITY_PTSZ(cudaMemcpy3DAsync),  ACTIVITY(cudaMemcpyPeerAsync),
          ACTIVITY_PTDS(cudaMemcpy3DPeer),   ACTIVITY_PTSZ(cudaMemcpy3DPeerAsync),
          ACTIVITY_PTDS(cudaMemcpyToSymbol), ACTIVITY_PTSZ(cudaMemcpyToSymbolAsync),
          ACTIVITY_PTDS(cudaMemset),         ACTIVITY_PTDS(cudaMemset2D),
          ACTIVITY_PTDS(cudaMemset3D),       ACTIVITY_PTSZ(cudaMemsetAsync),
          ACTIVITY_PTSZ(cudaMemset2DAsync),  ACTIVITY_PTSZ(cudaMemset3DAsync),
          ACTIVITY_PTSZ(cudaGraphLaunch)};
}

// Else what another thread writes meanwhile would look as if the kernel had written it.
TEST(Hooks, EachCallThatWritesDeviceMemoryWaitsForACapture) {
  FakeProgram program(
      {}, [](Recorder::Environment& environment) { environment.patience = std::chrono::milliseconds(1); },
      [](std::vector<mneme_function>& vendor) {
        for (const Activity& each : activities()) vendor[each.slot] = each.vendor;
      });
  for (const Activity& each : activities()) {
    called = MNEME_CALL_COUNT;
    ASSERT_TRUE(recorder()->gate().begin_capture());
    std::thread([&] { each.call(program); }).join();
    EXPECT_TRUE(recorder()->gate().disturbed()) << each.slot << " did not wait";
    EXPECT_EQ(called, each.slot) << "the program's own call is made";
    recorder()->gate().end_capture();
  }
}

class HookedLaunches : public ::testing::Test {
 protected:
  cudaError_t launch_extended(std::vector<cudaLaunchAttribute> attributes, cudaStream_t stream = nullptr,
                              mneme_call slot = MNEME_CALL_cudaLaunchKernelExC) {
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = configuration.blockDim = dim3(1);
    configuration.attrs = attributes.data();
    configuration.numAttrs = static_cast<unsigned>(attributes.size());
    configuration.stream = stream;
    int n = 1;
    void* arguments[] = {&data, &n};
    return program.call<decltype(cudaLaunchKernelExC)>(slot, &configuration, program.increment, static_cast<void**>(arguments));
  }
  static cudaLaunchAttribute attribute(cudaLaunchAttributeID id, int cooperative = 0) {
    cudaLaunchAttribute attribute{};
    attribute.id = id;
    if (id == cudaLaunchAttributeCooperative) attribute.val.cooperative = cooperative;
    return attribute;
  }
  FakeProgram program;
  int* data = program.allocate<int>(16);
};

TEST_F(HookedLaunches, AnAttributeMayBeThereAndOff) {
  EXPECT_EQ(launch_extended({attribute(cudaLaunchAttributeCooperative, 0)}), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  EXPECT_FALSE(program.instances()[0].cooperative);
}

TEST_F(HookedLaunches, EveryAttributeIsLookedAt) {
  const cudaLaunchAttribute harmless = attribute(cudaLaunchAttributePriority), ignored = attribute(cudaLaunchAttributeIgnore),
                            cluster = attribute(cudaLaunchAttributeClusterDimension);
  EXPECT_EQ(launch_extended({harmless, ignored, cluster}), cudaSuccess);
  EXPECT_EQ(launch_extended({cluster, harmless}), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::launch_attribute), 2u);
  EXPECT_EQ(launch_extended({harmless, ignored}), cudaSuccess);
  EXPECT_EQ(launch_extended({harmless, attribute(cudaLaunchAttributeCooperative, 1)}), cudaSuccess);
  const auto instances = program.instances();
  ASSERT_EQ(instances.size(), 2u);
  EXPECT_TRUE(instances[1].cooperative);
}

cudaError_t raised_limit(size_t* value, cudaLimit limit) {
  *value = limit == cudaLimitStackSize ? 65536 : 2048;
  return cudaSuccess;
}

TEST(Hooks, LimitsThatTheProgramHasRaisedAreRecordedOnAGpu) {
  const auto vendor = [](std::vector<mneme_function>& slots) {
    slots[MNEME_CALL_cudaDeviceGetLimit] = reinterpret_cast<mneme_function>(&raised_limit);
  };
  FakeProgram program({}, {}, vendor);
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 1);
  program.end_in(MNEME_TABLE_CUDA);
  program.launch(program.increment, data, 2);
  program.end_in(MNEME_TABLE_CPU);
  std::vector<std::map<std::string, std::string>> attributes;
  for (const InstanceRecord& instance : program.instances()) attributes.push_back(instance.attributes);
  const std::map<std::string, std::string> raised = {{"limit_stack_size", "65536"}};
  EXPECT_THAT(attributes, ::testing::UnorderedElementsAre(::testing::IsEmpty(), raised));
}

TEST(Hooks, ALimitThatTheDeviceDoesNotHaveLeavesNoErrorBehind) {
  const auto vendor = [](std::vector<mneme_function>& slots) {
    slots[MNEME_CALL_cudaDeviceGetLimit] =
        reinterpret_cast<mneme_function>(+[](size_t*, cudaLimit) { return fake_calls::fails(cudaErrorUnsupportedLimit); });
  };
  FakeProgram program({}, {}, vendor);
  int* data = program.allocate<int>(16);
  program.end_in(MNEME_TABLE_CUDA);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.vendor().last_error, cudaSuccess);
  program.vendor().last_error = cudaErrorInvalidPitchValue;
  program.launch(program.increment, data, 2);
  EXPECT_NE(program.vendor().last_error, cudaSuccess) << "the program has not asked for its own error yet";
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST(Hooks, EveryLaunchIsRecordedAsItWasMade) {
  RecordingOptions options;
  options.max = 16;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  int n = 1;
  void* arguments[] = {&data, &n};
  const auto plain = [&](mneme_call slot) {
    return program.call<decltype(cudaLaunchKernel)>(slot, program.increment, dim3(2, 3, 4), dim3(5, 6, 7),
                                                    static_cast<void**>(arguments), size_t{128}, cudaStream_t{});
  };
  const auto extended = [&](mneme_call slot, int cooperative) {
    cudaLaunchAttribute said{};
    said.id = cudaLaunchAttributeCooperative;
    said.val.cooperative = cooperative;
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(2, 3, 4);
    configuration.blockDim = dim3(5, 6, 7);
    configuration.dynamicSmemBytes = 128;
    configuration.attrs = &said;
    configuration.numAttrs = 1;
    return program.call<decltype(cudaLaunchKernelExC)>(slot, &configuration, program.increment, static_cast<void**>(arguments));
  };
  for (mneme_call slot :
       {MNEME_CALL_cudaLaunchKernel, MNEME_CALL_cudaLaunchKernel_ptsz, MNEME_CALL___cudaLaunchKernel,
        MNEME_CALL___cudaLaunchKernel_ptsz, MNEME_CALL_cudaLaunchCooperativeKernel, MNEME_CALL_cudaLaunchCooperativeKernel_ptsz})
    EXPECT_EQ(plain(slot), cudaSuccess) << slot;
  for (mneme_call slot : {MNEME_CALL_cudaLaunchKernelExC, MNEME_CALL_cudaLaunchKernelExC_ptsz})
    for (int cooperative : {0, 1}) EXPECT_EQ(extended(slot, cooperative), cudaSuccess) << slot;
  const std::vector<bool> expected = {false, false, false, false, true, true, false, true, false, true};
  std::vector<bool> cooperative;
  for (const InstanceRecord& instance : program.instances()) {
    EXPECT_EQ(instance.grid, (Dim3{2, 3, 4}));
    EXPECT_EQ(instance.block, (Dim3{5, 6, 7}));
    EXPECT_EQ(instance.dynamic_shared_memory, Bytes(128));
    cooperative.push_back(instance.cooperative);
  }
  EXPECT_EQ(cooperative, expected) << "in the order of the launches";
}

// An object that was linked by another Mneme numbers its calls in another way.
TEST(Hooks, ATableOfAnotherBuildIsLeftAlone) {
  FakeProgram program;
  for (auto change : {+[](mneme_call_table& table) { ++table.abi_version; }, +[](mneme_call_table& table) { --table.call_count; },
                      +[](mneme_call_table& table) { ++table.calls_digest; }}) {
    std::vector<mneme_function> slots(program.call_table().real, program.call_table().real + MNEME_CALL_COUNT);
    const std::vector<mneme_function> before = slots;
    mneme_call_table other = program.call_table();
    other.slots = slots.data();
    other.real = before.data();
    other.annotate = nullptr;
    change(other);
    EXPECT_EQ(attach_table(other).code(), Code::incompatible);
    EXPECT_EQ(slots, before);
    EXPECT_EQ(other.annotate, nullptr);
  }
}

// Code that is compiled for per-thread default streams calls functions of other names.
TEST(Hooks, WhatIsHookedIsHookedForPerThreadStreamsToo) {
  const std::vector<std::string_view> names = {
#define MNEME_NAME(function) #function,
      MNEME_CUDA_CALLS(MNEME_NAME)
#undef MNEME_NAME
  };
  FakeProgram program;
  const mneme_call_table& table = program.call_table();
  const auto is_hooked = [&](size_t slot) { return table.slots[slot] != table.real[slot]; };
  size_t twins = 0;
  for (size_t slot = 0; slot < names.size(); ++slot) {
    const std::string_view name = names[slot];
    if (!name.ends_with("_ptsz") && !name.ends_with("_ptds")) continue;
    const auto usual = std::find(names.begin(), names.end(), name.substr(0, name.size() - 5));
    if (usual == names.end()) continue;
    EXPECT_EQ(is_hooked(slot), is_hooked(static_cast<size_t>(usual - names.begin()))) << name;
    twins += is_hooked(slot);
  }
  EXPECT_GT(twins, 30u);
}

TEST_F(HookedLaunches, FunctionHandlesStandForTheirKernels) {
  // The fake runtime leaves the handle as it is.
  static char place;
  auto handle = reinterpret_cast<cudaFunction_t>(&place);
  EXPECT_EQ(program.call<decltype(cudaGetFuncBySymbol)>(MNEME_CALL_cudaGetFuncBySymbol, &handle, program.increment), cudaSuccess);
  program.vendor().kernels[handle] = program.vendor().kernels[program.increment];
  EXPECT_EQ(program.launch(handle, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST_F(HookedLaunches, HandlesThatGeneratedCodeAsksForStandForTheirKernels) {
  static char place;
  auto handle = reinterpret_cast<cudaKernel_t>(&place);
  EXPECT_EQ(program.call<decltype(cudaGetKernel)>(MNEME_CALL___cudaGetKernel, &handle, program.increment), cudaSuccess);
  program.vendor().kernels[handle] = program.vendor().kernels[program.increment];
  int n = 1;
  void* arguments[] = {&data, &n};
  EXPECT_EQ(program.call<decltype(cudaLaunchKernel)>(MNEME_CALL___cudaLaunchKernel, handle, dim3(1), dim3(1),
                                                     static_cast<void**>(arguments), size_t{0}, cudaStream_t{}),
            cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST_F(HookedLaunches, AStreamCaptureThatDidNotBeginKeepsNothingFromBeingRecorded) {
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.vendor().begin_of_capture = cudaErrorIllegalState;
  EXPECT_EQ(
      program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal),
      cudaErrorIllegalState);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::stream_capture), 0u);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST_F(HookedLaunches, AStreamCaptureIntoAGraphIsOne) {
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  const auto begin = [&] {
    return program.call<decltype(cudaStreamBeginCaptureToGraph)>(
        MNEME_CALL_cudaStreamBeginCaptureToGraph, stream, cudaGraph_t{}, static_cast<const cudaGraphNode_t*>(nullptr),
        static_cast<const cudaGraphEdgeData*>(nullptr), size_t{0}, cudaStreamCaptureModeGlobal);
  };
  program.vendor().begin_of_capture = cudaErrorIllegalState;
  EXPECT_EQ(begin(), cudaErrorIllegalState);
  EXPECT_FALSE(recorder()->in_stream_capture());
  program.vendor().begin_of_capture = cudaSuccess;
  EXPECT_EQ(begin(), cudaSuccess);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);  // in the legacy stream
  EXPECT_EQ(program.count(NotRecorded::during_capture), 1u);
  cudaGraph_t graph = nullptr;
  program.call<decltype(cudaStreamEndCapture)>(MNEME_CALL_cudaStreamEndCapture, stream, &graph);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST_F(HookedLaunches, OneWithoutAnArgumentIsTheVendorsToRefuse) {
  program.vendor().kernels[program.increment] = [](void** arguments) {
    return arguments && arguments[0] && arguments[1] ? cudaSuccess : cudaErrorInvalidValue;
  };
  void* missing[] = {&data, nullptr};
  for (void** arguments : {static_cast<void**>(missing), static_cast<void**>(nullptr)})
    EXPECT_EQ(program.call<decltype(cudaLaunchKernel)>(MNEME_CALL_cudaLaunchKernel, program.increment, dim3(1), dim3(1),
                                                       arguments, size_t{0}, cudaStream_t{}),
              cudaErrorInvalidValue);
  EXPECT_EQ(program.count(NotRecorded::launch_failed), 2u);
}

TEST_F(HookedLaunches, AKernelOfAnUnloadedImageIsForgotten) {
  static const char kernel[] = "comes and goes";
  program.vendor().kernels[kernel] = [](void**) { return cudaSuccess; };
  void** image = program.add_image({program.segment(kernel, {})}, {kernel});
  EXPECT_EQ(program.launch(kernel, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
  program.remove_image(image);
  EXPECT_EQ(program.launch(kernel, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::unknown_kernel), 1u);
  program.add_image({}, {kernel});  // another library at the same place
  EXPECT_EQ(program.launch(kernel, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::no_segment), 1u);
}

TEST(Hooks, ALaunchThatIsNotRecordedIsCountedAndMadeAndTheVendorIsAskedNothing) {
  RecordingOptions options;
  options.exclude = "increment";
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  EXPECT_EQ(program.launch(program.increment, data, 1, stream), cudaSuccess);
  const int questions = program.vendor().questions;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.increment, data, 1, stream), cudaSuccess);
  EXPECT_EQ(program.vendor().questions, questions);
  std::thread([&] { program.launch(program.increment, data, 1, stream); }).join();
  EXPECT_EQ(program.count(NotRecorded::excluded), 5u);
  EXPECT_EQ(program.report().launches, 5u);
  EXPECT_EQ(data[0], 5);
}

TEST(Hooks, ALaunchThatIsNotRecordedWaitsForACaptureToo) {
  RecordingOptions options;
  options.exclude = "increment";
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  const auto launch = [&] { EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess); };
  launch();
  ASSERT_TRUE(recorder()->gate().begin_capture());
  std::thread([&] { launch(), launch(); }).join();
  EXPECT_TRUE(recorder()->gate().disturbed()) << "it did not wait";
  recorder()->gate().end_capture();
  EXPECT_EQ(program.report().launches, 3u);
  EXPECT_EQ(data[0], 3);
}

TEST_F(HookedLaunches, WhatGoesIntoAGraphCountsInNoShapeBeyondTheMaximumEither) {
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  const auto launch = [&](int times) {
    for (int i = 0; i < times; ++i) EXPECT_EQ(program.launch(program.increment, data, 1, stream), cudaSuccess);
  };
  launch(7);  // four of which are recorded
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 3u);
  program.vendor().capturing = cudaStreamCaptureStatusActive;
  launch(2);
  program.vendor().capturing = cudaStreamCaptureStatusNone;
  launch(1);
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 6u);
  recorder()->finish();
  EXPECT_EQ(program.instances().at(0).shape_launches, (ShapeLaunches{8, std::nullopt}));
}

// As what is captured into one: each kernel counts once, when a node is given it, however often the graph runs.
TEST(Hooks, AKernelThatTheProgramPutsIntoAGraphIsCounted) {
  static cudaError_t code = cudaSuccess;
  const auto vendor = [](std::vector<mneme_function>& slots) {
    for (mneme_call call :
         {MNEME_CALL_cudaGraphAddKernelNode, MNEME_CALL_cudaGraphAddNode, MNEME_CALL_cudaGraphKernelNodeSetParams,
          MNEME_CALL_cudaGraphNodeSetParams, MNEME_CALL_cudaGraphExecKernelNodeSetParams, MNEME_CALL_cudaGraphExecNodeSetParams})
      slots[call] = reinterpret_cast<mneme_function>(+[] { return code; });
  };
  FakeProgram program({}, {}, vendor);
  int* data = program.allocate<int>(16);
  int n = 1;
  void* arguments[] = {&data, &n};
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(program.increment);
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNodeParams any{};
  any.type = cudaGraphNodeTypeKernel;
  any.kernel.func = kernel.func;
  any.kernel.gridDim = any.kernel.blockDim = dim3(1);
  any.kernel.kernelParams = arguments;
  const auto given = static_cast<const cudaKernelNodeParams*>(&kernel);
  const auto add = [&] {
    return program.call<decltype(cudaGraphAddKernelNode)>(MNEME_CALL_cudaGraphAddKernelNode,
                                                          static_cast<cudaGraphNode_t*>(nullptr), cudaGraph_t{},
                                                          static_cast<const cudaGraphNode_t*>(nullptr), size_t{0}, given);
  };
  const auto add_any = [&] {
    return program.call<decltype(cudaGraphAddNode)>(MNEME_CALL_cudaGraphAddNode, static_cast<cudaGraphNode_t*>(nullptr),
                                                    cudaGraph_t{}, static_cast<const cudaGraphNode_t*>(nullptr),
                                                    static_cast<const cudaGraphEdgeData*>(nullptr), size_t{0}, &any);
  };
  EXPECT_EQ(add(), cudaSuccess);
  EXPECT_EQ(add_any(), cudaSuccess);
  EXPECT_EQ(program.report().launches, 2u);
  EXPECT_EQ(program.count(NotRecorded::stream_capture), 2u);
  // What is captured anew to update a graph counts, and so does what is set anew.
  const auto set_all = [&] {
    EXPECT_EQ(
        program.call<decltype(cudaGraphKernelNodeSetParams)>(MNEME_CALL_cudaGraphKernelNodeSetParams, cudaGraphNode_t{}, given),
        code);
    EXPECT_EQ(program.call<decltype(cudaGraphNodeSetParams)>(MNEME_CALL_cudaGraphNodeSetParams, cudaGraphNode_t{}, &any), code);
    EXPECT_EQ(program.call<decltype(cudaGraphExecKernelNodeSetParams)>(MNEME_CALL_cudaGraphExecKernelNodeSetParams,
                                                                       cudaGraphExec_t{}, cudaGraphNode_t{}, given),
              code);
    EXPECT_EQ(program.call<decltype(cudaGraphExecNodeSetParams)>(MNEME_CALL_cudaGraphExecNodeSetParams, cudaGraphExec_t{},
                                                                 cudaGraphNode_t{}, &any),
              code);
  };
  set_all();
  EXPECT_EQ(program.report().launches, 6u);
  EXPECT_EQ(program.count(NotRecorded::stream_capture), 6u);
  any.type = cudaGraphNodeTypeEmpty;
  EXPECT_EQ(add_any(), cudaSuccess);
  code = cudaErrorInvalidValue;
  EXPECT_EQ(add(), cudaErrorInvalidValue);
  set_all();
  EXPECT_EQ(program.report().launches, 6u) << "no kernel, and none that a node was given";
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  recorder()->finish();
  ASSERT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.instances()[0].shape_launches, (ShapeLaunches{1, std::nullopt}));
}

TEST_F(HookedLaunches, WhatIsKnownOfAHandleGoesWithItsImage) {
  static const char kernel[] = "comes and goes again";
  program.vendor().kernels[kernel] = [](void**) { return cudaSuccess; };
  void** image = program.add_image({}, {kernel});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(kernel, data, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::no_segment), 3u);
  program.remove_image(image);
  program.add_image({program.segment(kernel, {})}, {kernel});  // another library at the same place
  EXPECT_EQ(program.launch(kernel, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

TEST(Hooks, MemoryOfManyDimensionsThatTheVendorGivesIsAsTheVendorSays) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  program.vendor().device = kMostAddressSpaces;
  void* rows = nullptr;
  size_t pitch = 0;
  EXPECT_EQ(program.call<decltype(cudaMallocPitch)>(MNEME_CALL_cudaMallocPitch, &rows, &pitch, size_t{700}, size_t{3}),
            cudaSuccess);
  EXPECT_EQ(pitch, 700u);
  cudaPitchedPtr volume{};
  EXPECT_EQ(program.call<decltype(cudaMalloc3D)>(MNEME_CALL_cudaMalloc3D, &volume, cudaExtent{700, 3, 2}), cudaSuccess);
  EXPECT_EQ(volume.pitch, 700u);
  EXPECT_TRUE(program.vendor().allocations.contains(volume.ptr));
  program.vendor().device = 0;
  for (void* pointer : {rows, static_cast<void*>(static_cast<char*>(volume.ptr) + 700 * 3 * 2 - 4)})
    EXPECT_EQ(program.launch(program.increment, static_cast<int*>(pointer), 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 2u);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

// As far as its owner says; where nobody does, far.
TEST(Hooks, MemoryOfOthersIsKnownToItsEnd) {
  FakeProgram program;
  program.allocate<int>(16);
  static int memory[1 << 16];
  program.vendor().foreign = memory;
  void* out = nullptr;
  program.call<decltype(cudaIpcOpenMemHandle)>(MNEME_CALL_cudaIpcOpenMemHandle, &out, cudaIpcMemHandle_t{}, 0u);
  EXPECT_EQ(program.launch(program.increment, memory + (1 << 16) - 1, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::external_memory), 1u);
  program.call<decltype(cudaIpcCloseMemHandle)>(MNEME_CALL_cudaIpcCloseMemHandle, out);
  const cudaExternalMemoryBufferDesc description{.offset = 0, .size = sizeof memory, .flags = 0, .reserved = {}};
  program.call<decltype(cudaExternalMemoryGetMappedBuffer)>(MNEME_CALL_cudaExternalMemoryGetMappedBuffer, &out,
                                                            cudaExternalMemory_t{}, &description);
  EXPECT_EQ(program.launch(program.increment, memory + (1 << 16) - 1, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::external_memory), 2u);
}

// What the program maps by the driver no function of the runtime has allocated.
TEST(Hooks, DeviceMemoryThatTheRuntimeHasNotAllocatedIsNoticed) {
  static int mapped[16];
  static FakeProgram* current = nullptr;
  const auto tell = +[](cudaPointerAttributes* attributes, const void* pointer) {
    const auto lies_in = [&](const int* memory) { return pointer >= memory && pointer <= memory + 16; };
    if (pointer == &mapped[8]) return fake_calls::fails(cudaErrorInvalidValue);
    if (lies_in(mapped) || lies_in(current->table)) attributes->type = cudaMemoryTypeDevice;
    return cudaSuccess;
  };
  RecordingOptions options;
  options.max = 16;
  FakeProgram program(options, {}, [&](std::vector<mneme_function>& slots) {
    slots[MNEME_CALL_cudaPointerGetAttributes] = reinterpret_cast<mneme_function>(tell);
  });
  current = &program;
  int* data = program.allocate<int>(16);
  EXPECT_EQ(program.launch(program.increment, mapped, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 0u) << "the CPU device has no driver";
  program.end_in(MNEME_TABLE_CUDA);
  EXPECT_EQ(program.launch(program.increment, mapped, 1), cudaSuccess);
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 1u);
  const size_t before = program.instances().size();
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.launch(program.increment, program.table, 1), cudaSuccess);
  EXPECT_EQ(program.launch(program.increment, &mapped[8], 0), cudaSuccess);
  program.vendor().kernels[program.add_table] = [](void**) { return cudaSuccess; };
  EXPECT_EQ(program.launch(program.add_table, program.table + 16), cudaSuccess) << "the end of a variable that is recorded";
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 1u);
  EXPECT_EQ(program.launch(program.increment, program.table + 16, 0), cudaSuccess) << "that of one which is not";
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 2u);
  EXPECT_EQ(program.vendor().last_error, cudaSuccess);
  EXPECT_EQ(program.instances().size(), before + 4);
  EXPECT_EQ(mapped[0], 2);
}

// The size or the hash of something may be the address of something else.
TEST(Hooks, WhatTheKernelsCodeSaysIsANumberIsNoDeviceMemory) {
  static int mapped[16];
  static const char kernel[] = "takes a number and a struct";
  const auto tell = +[](cudaPointerAttributes* attributes, const void* pointer) {
    if (pointer == mapped) attributes->type = cudaMemoryTypeDevice;
    return cudaSuccess;
  };
  RecordingOptions options;
  options.max = 16;
  FakeProgram program(options, {}, [&](std::vector<mneme_function>& slots) {
    slots[MNEME_CALL_cudaPointerGetAttributes] = reinterpret_cast<mneme_function>(tell);
  });
  program.end_in(MNEME_TABLE_CUDA);
  program.vendor().kernels[kernel] = [](void**) { return cudaSuccess; };
  struct Both {
    uint64_t number, address;
  };
  TestSegment segment;
  segment.name = kernel;
  segment.parameters = {{MNEME_PARAM_INTEGER, 0, 8, "number", "i64", 8},
                        {MNEME_PARAM_AGGREGATE, 8, 16, "both", "struct.Both", 8}};
  segment.parameter_bytes = 24;
  segment.numbers = {{0, 16}};
  segment.hash = 200;
  program.add_image({segment.build()}, {kernel});
  const auto launch = [&](uint64_t number, Both both) {
    void* arguments[] = {&number, &both};
    EXPECT_EQ(program.call<decltype(cudaLaunchKernel)>(MNEME_CALL_cudaLaunchKernel, kernel, dim3(1), dim3(1),
                                                       static_cast<void**>(arguments), size_t{0}, cudaStream_t{}),
              cudaSuccess);
  };
  const auto address = reinterpret_cast<uint64_t>(mapped);
  launch(address, {});
  launch(1, {.number = address, .address = 0});
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 0u);
  EXPECT_EQ(program.instances().size(), 2u);
  launch(2, {.number = 0, .address = address});
  EXPECT_EQ(program.count(NotRecorded::other_device_memory), 1u);
  EXPECT_EQ(program.instances().size(), 2u);
}

// What has no bytes is the vendor's to refuse, or to give.
TEST(Hooks, NothingIsAllocatedByTheVendor) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  void* nothing = nullptr;
  size_t pitch = 0;
  EXPECT_EQ(program.call<decltype(cudaMalloc)>(MNEME_CALL_cudaMalloc, &nothing, size_t{0}), cudaSuccess);
  EXPECT_TRUE(program.vendor().allocations.contains(nothing));
  EXPECT_EQ(program.call<decltype(cudaMallocPitch)>(MNEME_CALL_cudaMallocPitch, &nothing, &pitch, size_t{16}, size_t{0}),
            cudaSuccess);
  EXPECT_TRUE(program.vendor().allocations.contains(nothing));
  EXPECT_EQ(program.report().failure.get(), "");
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
}

// Kernels that may be using it end first.
TEST(Hooks, MemoryIsFreedWhenTheDeviceIsDone) {
  FakeProgram program;
  for (bool reset : {false, true}) {
    int* data = program.allocate<int>(16);
    data[0] = 7;
    int seen = 0;
    program.vendor().pending = [&] { seen = data[0]; };
    const int before = program.vendor().synchronizations;
    if (reset)
      EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
    else
      EXPECT_EQ(program.free(data), cudaSuccess);
    EXPECT_EQ(seen, 7) << reset;
    EXPECT_GT(program.vendor().synchronizations, before);
    program.vendor().pending = nullptr;
  }
}

// Each linked object has a CUDA runtime of its own, which knows its own variables only.
TEST(Hooks, AVariableIsAskedOfTheObjectThatRegisteredIt) {
  static std::vector<mneme_function> slots, real;
  static int shadow[4], place[4];
  FakeProgram program({}, {}, [](std::vector<mneme_function>& vendor) { slots = real = vendor; });
  const auto set = [&](mneme_call slot, auto* function) { slots[slot] = reinterpret_cast<mneme_function>(function); };
  set(MNEME_CALL_cudaGetSymbolAddress, +[](void** address, const void*) { return *address = place, cudaSuccess; });
  set(MNEME_CALL_cudaGetSymbolSize, +[](size_t* size, const void*) { return *size = sizeof place, cudaSuccess; });
  static mneme_call_table library;
  library = program.call_table();
  library.index = 1;
  library.slots = slots.data();
  library.real = real.data();
  library.annotate = nullptr;
  ASSERT_TRUE(attach_table(library).ok());
  const ByteVector fat = make_fat_binary({{2, 90, make_device_elf({program.segment("of the library", {{"state", 16}})})}});
  TestWrapper wrapper{.fat_binary = fat.data()};
  void** handle = reinterpret_cast<decltype(&__cudaRegisterFatBinary)>(slots[MNEME_CALL___cudaRegisterFatBinary])(&wrapper);
  reinterpret_cast<decltype(&__cudaRegisterVar)>(slots[MNEME_CALL___cudaRegisterVar])(handle, reinterpret_cast<char*>(shadow),
                                                                                      nullptr, "state", 0, sizeof shadow, 0, 0);
  program.allocate<int>(16);  // opens the device
  const mneme_annotation annotation{MNEME_I32, 1};
  ::testing::internal::CaptureStderr();
  program.call_table().annotate(&program.call_table(), place + 1, 1, &annotation);  // the program has asked the library for it
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Sizes that do not fit into 64 bits, whose remainder would be small.
TEST(Hooks, MemoryOfManyDimensionsIsNotCutShort) {
  FakeProgram program;
  program.allocate<int>(16);
  program.vendor().out_of_memory = true;
  void* rows = nullptr;
  size_t pitch = 0;
  const size_t huge = size_t{1} << 55;
  EXPECT_EQ(program.call<decltype(cudaMallocPitch)>(MNEME_CALL_cudaMallocPitch, &rows, &pitch, size_t{512}, huge + 1),
            cudaErrorMemoryAllocation);
  for (const cudaExtent& extent : {cudaExtent{512, huge + 1, 1}, cudaExtent{512, huge / 2 + 1, 2}}) {
    cudaPitchedPtr volume{};
    EXPECT_EQ(program.call<decltype(cudaMalloc3D)>(MNEME_CALL_cudaMalloc3D, &volume, extent), cudaErrorMemoryAllocation);
  }
  EXPECT_EQ(program.report().failure.get(), "");
  EXPECT_EQ(program.report().allocations, 1u) << "those that succeed are counted";
  EXPECT_EQ(program.report().loads, 2u) << "a program has two images";
}

// Nothing is freed in part while a stream is captured, either.
TEST(Hooks, OnlyAnAllocationIsFreedInAStreamCapture) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(program.free(data + 1), cudaErrorInvalidValue);
  EXPECT_EQ(program.free(data + 100'000), cudaErrorInvalidValue);
  EXPECT_EQ(program.free(data), cudaSuccess);
}

TEST(Hooks, WhatWasFreedInAStreamCaptureIsGoneWithAReset) {
  FakeProgram program;
  int* data = program.allocate<int>(16);
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(program.free(data), cudaSuccess);
  cudaGraph_t graph = nullptr;
  program.call<decltype(cudaStreamEndCapture)>(MNEME_CALL_cudaStreamEndCapture, stream, &graph);
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  ASSERT_EQ(program.allocate<int>(16), data);
  EXPECT_EQ(program.free(program.allocate<int>(16)), cudaSuccess);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  ASSERT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.instances()[0].state_bytes, Bytes(64)) << "what was allocated at its place since is there";
}

// A program on a GPU, whose launches the vendor's events time.
class HookedTiming : public ::testing::Test {
 protected:
  static RecordingOptions profiling() {
    RecordingOptions options;
    options.profile = true;
    options.max = 1;
    return options;
  }
  static void on_a_gpu(Recorder::Environment& environment) {
    environment.open_device = [](DeviceKind, int) -> Result<std::unique_ptr<Device>> {
      DeviceProperties properties = fake::FakeDevice::default_properties();
      properties.kind = DeviceKind::cuda;
      return std::unique_ptr<Device>(std::make_unique<fake::FakeDevice>(properties));
    };
  }
  void launch(mneme_call slot, cudaStream_t stream) {
    int n = 1;
    void* arguments[] = {&data, &n};
    EXPECT_EQ(program.call<decltype(cudaLaunchKernel)>(slot, program.increment, dim3(1), dim3(32), static_cast<void**>(arguments),
                                                       size_t{0}, stream),
              cudaSuccess);
  }
  void launch_extended(mneme_call slot, cudaStream_t stream) {
    int n = 1;
    void* arguments[] = {&data, &n};
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(1);
    configuration.blockDim = dim3(32);
    configuration.stream = stream;
    EXPECT_EQ(
        program.call<decltype(cudaLaunchKernelExC)>(slot, &configuration, program.increment, static_cast<void**>(arguments)),
        cudaSuccess);
  }
  RecordedTime recorded_time() {
    recorder()->finish();
    const auto instances = program.instances();
    EXPECT_EQ(instances.size(), 1u);
    return instances.empty() ? RecordedTime() : instances[0].recorded_time.value_or(RecordedTime());
  }

  FakeProgram program{profiling(), on_a_gpu};
  int* data = program.allocate<int>(16);
};

TEST_F(HookedTiming, IsInTheStreamOfTheLaunch) {
  // The first is recorded, and the next comes right after it.
  for (int i = 0; i < 2; ++i) launch(MNEME_CALL_cudaLaunchKernel, nullptr);
  const auto expect_in = [&](mneme_call slot, cudaStream_t stream, cudaStream_t expected) {
    program.vendor().event_streams.clear();
    if (slot == MNEME_CALL_cudaLaunchKernelExC || slot == MNEME_CALL_cudaLaunchKernelExC_ptsz)
      launch_extended(slot, stream);
    else
      launch(slot, stream);
    EXPECT_EQ(program.vendor().event_streams, std::vector(2, expected)) << slot;
  };
  const auto own = reinterpret_cast<cudaStream_t>(8);
  for (mneme_call slot : {MNEME_CALL_cudaLaunchKernel, MNEME_CALL_cudaLaunchCooperativeKernel, MNEME_CALL_cudaLaunchKernelExC,
                          MNEME_CALL___cudaLaunchKernel}) {
    expect_in(slot, nullptr, nullptr);
    expect_in(slot, own, own);
  }
  // Code that was compiled for a default stream of each thread.
  for (mneme_call slot : {MNEME_CALL_cudaLaunchKernel_ptsz, MNEME_CALL_cudaLaunchCooperativeKernel_ptsz,
                          MNEME_CALL_cudaLaunchKernelExC_ptsz, MNEME_CALL___cudaLaunchKernel_ptsz}) {
    expect_in(slot, nullptr, cudaStreamPerThread);
    expect_in(slot, own, own);
  }
}

TEST_F(HookedTiming, IsInNanoseconds) {
  program.vendor().milliseconds = 0.5f;
  for (int i = 0; i < 4; ++i) launch(MNEME_CALL_cudaLaunchKernel, nullptr);
  const RecordedTime time = recorded_time();
  EXPECT_EQ(time.clock_source, "cuda_event");
  EXPECT_EQ(time.others, 2u);
  EXPECT_EQ(time.others_median, 500'000);
  EXPECT_TRUE(program.vendor().events.empty());
}

// Asking for the time of a launch that has not ended is an error of the vendor's, and none of the program's.
TEST_F(HookedTiming, LeavesTheProgramsErrorAsItIs) {
  for (int i = 0; i < 3; ++i) launch(MNEME_CALL_cudaLaunchKernel, nullptr);
  recorder()->finish();
  EXPECT_EQ(program.vendor().last_error, cudaSuccess);
  program.vendor().last_error = cudaErrorInvalidPitchValue;
  recorder()->finish();
  EXPECT_NE(program.vendor().last_error, cudaSuccess) << "the program has not asked for its error yet";
}

TEST_F(HookedTiming, AnEventThatCannotBeRecordedIsDestroyed) {
  program.vendor().cannot_record_events = true;
  for (int i = 0; i < 3; ++i) launch(MNEME_CALL_cudaLaunchKernel, nullptr);
  EXPECT_TRUE(program.vendor().events.empty());
}

TEST_F(HookedTiming, IsOfThatDeviceAndOutsideOfStreamCaptures) {
  program.vendor().milliseconds = 0.5f;
  for (int i = 0; i < 3; ++i) launch(MNEME_CALL_cudaLaunchKernel, nullptr);
  program.vendor().device = 1;
  launch(MNEME_CALL_cudaLaunchKernel, nullptr);
  program.vendor().device = 0;
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeRelaxed);
  launch(MNEME_CALL_cudaLaunchKernel, nullptr);
  cudaGraph_t graph = nullptr;
  program.call<decltype(cudaStreamEndCapture)>(MNEME_CALL_cudaStreamEndCapture, stream, &graph);
  EXPECT_EQ(recorded_time().others, 1u);
  EXPECT_EQ(program.vendor().event_streams.size(), 2u);
}

}  // namespace
}  // namespace mneme::testing
