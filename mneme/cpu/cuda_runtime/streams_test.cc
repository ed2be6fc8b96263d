#include <chrono>
#include <set>

#include "mneme/cpu/cuda_runtime/testing/program.h"

namespace mneme::emulation {
namespace {

TEST(Streams, HandlesAreChecked) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreateWithPriority)(&stream, cudaStreamNonBlocking, -1), cudaSuccess);
  unsigned flags = 0;
  int priority = 0;
  EXPECT_EQ(CUDA(cudaStreamGetFlags)(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  EXPECT_EQ(CUDA(cudaStreamGetPriority)(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, -1);
  std::set<unsigned long long> ids;
  cudaStream_t another = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&another), cudaSuccess);
  for (cudaStream_t known : {stream, another, cudaStream_t(nullptr), cudaStreamLegacy, cudaStreamPerThread}) {
    EXPECT_EQ(CUDA(cudaStreamSynchronize)(known), cudaSuccess);
    EXPECT_EQ(CUDA(cudaStreamQuery)(known), cudaSuccess);
    unsigned long long id = 0;
    EXPECT_EQ(CUDA(cudaStreamGetId)(known, &id), cudaSuccess);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 4u) << "null is the legacy stream";
  EXPECT_EQ(CUDA(cudaStreamDestroy)(another), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamDestroy)(stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaStreamDestroy)(stream), cudaErrorInvalidResourceHandle);
  CUDA(cudaGetLastError)();
}

TEST(Streams, WhatIsNoStreamAndNoEventIsRefused) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  EXPECT_EQ(CUDA(cudaStreamCreateWithFlags)(&stream, 2), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaEventCreateWithFlags)(&event, 0x80), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(nullptr, nullptr, 0), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaEventRecord)(nullptr, nullptr), cudaErrorInvalidResourceHandle);
  CUDA(cudaGetLastError)();
}

TEST(Streams, ACallbackIsGivenItsStream) {
  cudaStream_t stream = nullptr, given = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamAddCallback)(
                stream, [](cudaStream_t own, cudaError_t, void* data) { *static_cast<cudaStream_t*>(data) = own; }, &given, 0),
            cudaSuccess);
  EXPECT_EQ(given, stream);
  EXPECT_EQ(CUDA(cudaStreamDestroy)(stream), cudaSuccess);
}

TEST(Streams, HostFunctionsAndCallbacksRunInOrder) {
  static std::string order;
  order.clear();
  EXPECT_EQ(CUDA(cudaLaunchHostFunc)(
                nullptr, [](void* data) { order += *static_cast<char*>(data); }, const_cast<char*>("a")),
            cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamAddCallback)(
                nullptr, [](cudaStream_t, cudaError_t error, void*) { order += error == cudaSuccess ? 'b' : 'x'; }, nullptr, 0),
            cudaSuccess);
  EXPECT_EQ(order, "ab");
}

TEST(Events, ElapsedTimeNeedsTwoRecords) {
  cudaEvent_t start = nullptr, end = nullptr, silent = nullptr;
  CUDA(cudaEventCreate)(&start);
  CUDA(cudaEventCreateWithFlags)(&end, cudaEventBlockingSync);
  CUDA(cudaEventCreateWithFlags)(&silent, cudaEventDisableTiming);
  float milliseconds = -1;
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  for (cudaEvent_t event : {start, end, silent}) EXPECT_EQ(CUDA(cudaEventRecord)(event, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventSynchronize)(end), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, silent), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, silent, end), cudaErrorInvalidResourceHandle);
  for (cudaEvent_t event : {start, end, silent}) EXPECT_EQ(CUDA(cudaEventDestroy)(event), cudaSuccess);
  CUDA(cudaGetLastError)();
}

TEST(Events, ElapsedTimeIsInMilliseconds) {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<float, std::milli>;
  cudaEvent_t start = nullptr, end = nullptr;
  CUDA(cudaEventCreate)(&start);
  CUDA(cudaEventCreate)(&end);
  const auto before = Clock::now();
  EXPECT_EQ(CUDA(cudaEventRecord)(start, nullptr), cudaSuccess);
  const auto begin = Clock::now();
  while (Clock::now() - begin < std::chrono::milliseconds(3)) continue;
  const Milliseconds within = Clock::now() - begin;
  EXPECT_EQ(CUDA(cudaEventRecord)(end, nullptr), cudaSuccess);
  const Milliseconds around = Clock::now() - before;
  float milliseconds = -1, backwards = 1;
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, within.count() * 0.999f);
  EXPECT_LE(milliseconds, around.count() * 1.001f);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&backwards, end, start), cudaSuccess);
  EXPECT_EQ(backwards, -milliseconds);
  for (cudaEvent_t event : {start, end}) EXPECT_EQ(CUDA(cudaEventDestroy)(event), cudaSuccess);
}

struct Capturing : ::testing::Test {
  void SetUp() override {
    CUDA(cudaStreamCreate)(&first);
    CUDA(cudaStreamCreate)(&second);
    CUDA(cudaEventCreate)(&fork);
    CUDA(cudaEventCreate)(&join);
    ASSERT_EQ(CUDA(cudaStreamBeginCapture)(first, cudaStreamCaptureModeGlobal), cudaSuccess);
  }
  void TearDown() override {
    CUDA(cudaStreamDestroy)(first);
    CUDA(cudaStreamDestroy)(second);
    CUDA(cudaGetLastError)();
  }
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
};

TEST_F(Capturing, WorkIsDoneWhenTheGraphIsLaunched) {
  int* numbers = make_numbers(2);
  EXPECT_EQ(launch_scale(numbers, 2, 2, first), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyAsync)(numbers + 1, numbers, 4, cudaMemcpyDeviceToDevice, first), cudaSuccess);
  EXPECT_EQ(numbers[0], 1);
  cudaStreamCaptureStatus status;
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(first, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(first), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  size_t nodes = 0;
  EXPECT_EQ(CUDA(cudaGraphGetNodes)(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 2u);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, first), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, first), cudaSuccess);
  EXPECT_EQ(numbers[0], 4);
  EXPECT_EQ(numbers[1], 4);
  EXPECT_EQ(CUDA(cudaGraphExecDestroy)(exec), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(graph), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(graph), cudaErrorInvalidValue);
}

TEST_F(Capturing, OtherStreamsJoinByEvents) {
  int* numbers = make_numbers(1);
  CUDA(cudaEventRecord)(fork, first);
  CUDA(cudaStreamWaitEvent)(second, fork, 0);
  EXPECT_EQ(launch_scale(numbers, 5, 1, second), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventQuery)(fork), cudaErrorCapturedEvent);
  CUDA(cudaEventRecord)(join, second);
  CUDA(cudaStreamWaitEvent)(first, join, 0);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(second, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  size_t nodes = 0;
  CUDA(cudaGraphGetNodes)(graph, nullptr, &nodes);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(numbers[0], 1);
}

// By way of what came between, and each only once.
TEST_F(Capturing, AForkThatJoinedLongAgoIsJoined) {
  int* numbers = make_numbers(1);
  EXPECT_EQ(CUDA(cudaStreamBeginCapture)(first, cudaStreamCaptureModeGlobal), cudaErrorIllegalState) << "one is going on";
  CUDA(cudaEventRecord)(fork, first);
  CUDA(cudaStreamWaitEvent)(second, fork, 0);
  EXPECT_EQ(launch_scale(numbers, 5, 1, second), cudaSuccess);
  CUDA(cudaEventRecord)(join, second);
  for (int i = 0; i < 2; ++i) CUDA(cudaStreamWaitEvent)(first, join, 0);
  const cudaGraphNode_t* next = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status;
  size_t count = 0;
  EXPECT_EQ(CUDA(cudaStreamGetCaptureInfo)(first, &status, nullptr, &graph, &next, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launch_scale(numbers, 2, 1, first), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  // An event of a capture that is over joins nobody to it.
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(second, fork, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(second, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  CUDA(cudaGraphDestroy)(graph);
}

TEST_F(Capturing, AForkThatDoesNotJoinIsRefused) {
  int* numbers = make_numbers(1);
  CUDA(cudaEventRecord)(fork, first);
  CUDA(cudaStreamWaitEvent)(second, fork, 0);
  launch_scale(numbers, 5, 1, second);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(launch_scale(numbers, 5, 1, second), cudaSuccess);
  EXPECT_EQ(numbers[0], 5);  // the capture is over: the stream works at once
}

TEST_F(Capturing, EndsWithTheStreamThatBeganIt) {
  int* numbers = make_numbers(1);
  CUDA(cudaEventRecord)(fork, first);
  CUDA(cudaStreamWaitEvent)(second, fork, 0);
  ASSERT_EQ(CUDA(cudaStreamDestroy)(first), cudaSuccess);
  cudaStreamCaptureStatus status;
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(second, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(second, fork, 0), cudaSuccess);  // of a capture that is over
  EXPECT_EQ(launch_scale(numbers, 5, 1, second), cudaSuccess);
  EXPECT_EQ(numbers[0], 5);
  CUDA(cudaStreamCreate)(&first);
}

TEST_F(Capturing, SaysWhichCaptureItIsAndWhatComesNext) {
  int* numbers = make_numbers(1);
  cudaStreamCaptureStatus status;
  unsigned long long id = 0, same = 0, other = 0;
  cudaGraph_t graph = nullptr, ended = nullptr;
  const cudaGraphNode_t* next = nullptr;
  size_t count = 9;
  const auto ask = [&](cudaStream_t stream, unsigned long long& id) {
    EXPECT_EQ(CUDA(cudaStreamGetCaptureInfo)(stream, &status, &id, &graph, &next, nullptr, &count), cudaSuccess);
  };
  ask(first, id);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(launch_scale(numbers, 5, 1, first), cudaSuccess);
  ask(first, same);
  EXPECT_EQ(same, id);
  ASSERT_EQ(count, 1u);
  cudaGraphNode_t added = nullptr;
  size_t nodes = 1;
  EXPECT_EQ(CUDA(cudaGraphGetNodes)(graph, &added, &nodes), cudaSuccess);
  EXPECT_EQ(next[0], added);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(second, cudaStreamCaptureModeGlobal), cudaSuccess);
  ask(second, other);
  EXPECT_NE(other, id);
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(second, &ended), cudaSuccess);
  EXPECT_EQ(ended, graph);
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(first, &ended), cudaSuccess);
  ask(first, same);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
}

TEST_F(Capturing, AnEventThatIsRecordedExternallyIsANodeOfTheGraph) {
  float milliseconds = -1;
  EXPECT_EQ(CUDA(cudaEventRecord)(fork, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventRecordWithFlags)(join, first, cudaEventRecordExternal), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventQuery)(join), cudaSuccess) << "it is none of the capture";
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  size_t nodes = 1;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(graph, &node, &nodes), cudaSuccess);
  ASSERT_EQ(nodes, 1u);
  cudaEvent_t recorded = nullptr;
  EXPECT_EQ(CUDA(cudaGraphEventRecordNodeGetEvent)(node, &recorded), cudaSuccess);
  EXPECT_EQ(recorded, join);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, fork, join), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, fork, join), cudaSuccess);
  CUDA(cudaGraphExecDestroy)(exec);
  CUDA(cudaGraphDestroy)(graph);
}

TEST_F(Capturing, IsNotGivenWhatAGraphCannotHold) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&graph, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, first), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(
      CUDA(cudaStreamAddCallback)(first, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  CUDA(cudaGraphExecDestroy)(exec);
}

TEST_F(Capturing, GoesOnWithoutAStreamThatIsDestroyed) {
  int* numbers = make_numbers(1);
  CUDA(cudaEventRecord)(fork, first);
  CUDA(cudaStreamWaitEvent)(second, fork, 0);
  EXPECT_EQ(launch_scale(numbers, 5, 1, second), cudaSuccess);
  CUDA(cudaEventRecord)(join, second);
  CUDA(cudaStreamWaitEvent)(first, join, 0);
  ASSERT_EQ(CUDA(cudaStreamDestroy)(second), cudaSuccess);
  EXPECT_EQ(launch_scale(numbers, 5, 1, first), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  size_t nodes = 0;
  CUDA(cudaGraphGetNodes)(graph, nullptr, &nodes);
  EXPECT_EQ(nodes, 2u);
  CUDA(cudaStreamCreate)(&second);
}

// An event that is recorded outside of it is none of a capture any more, and joins no stream to the next.
TEST_F(Capturing, AnEventLeavesItsCaptureWhenItIsRecordedAgain) {
  CUDA(cudaEventRecord)(fork, first);
  EXPECT_EQ(CUDA(cudaEventQuery)(fork), cudaErrorCapturedEvent);
  EXPECT_EQ(CUDA(cudaEventRecord)(fork, second), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventQuery)(fork), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(second, fork, 0), cudaSuccess);
  cudaStreamCaptureStatus status;
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(second, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  CUDA(cudaGraphDestroy)(graph);
}

TEST_F(Capturing, GoesOnInAGraphThatThereIs) {
  int* numbers = make_numbers(1);
  cudaGraph_t graph = nullptr, same = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  cudaGraphNode_t before = nullptr, other = nullptr;
  CUDA(cudaGraphAddEmptyNode)(&before, graph, nullptr, 0);
  CUDA(cudaGraphAddEmptyNode)(&other, graph, nullptr, 0);
  ASSERT_EQ(CUDA(cudaStreamBeginCaptureToGraph)(first, graph, &before, nullptr, 1, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamUpdateCaptureDependencies)(first, &other, nullptr, 1, cudaStreamAddCaptureDependencies), cudaSuccess);
  EXPECT_EQ(launch_scale(numbers, 5, 1, first), cudaSuccess);
  const auto dependencies_of_last = [&] {
    cudaGraphNode_t nodes[8] = {}, found[8] = {};
    size_t count = 8, dependencies = 8;
    CUDA(cudaGraphGetNodes)(graph, nodes, &count);
    CUDA(cudaGraphNodeGetDependencies)(nodes[count - 1], found, nullptr, &dependencies);
    return std::vector<cudaGraphNode_t>(found, found + dependencies);
  };
  EXPECT_EQ(dependencies_of_last(), (std::vector{before, other}));
  EXPECT_EQ(CUDA(cudaStreamUpdateCaptureDependencies)(first, &other, nullptr, 1, cudaStreamSetCaptureDependencies), cudaSuccess);
  EXPECT_EQ(launch_scale(numbers, 5, 1, first), cudaSuccess);
  EXPECT_EQ(dependencies_of_last(), std::vector{other});
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(first, &same), cudaSuccess);
  EXPECT_EQ(same, graph);
  EXPECT_EQ(CUDA(cudaStreamUpdateCaptureDependencies)(first, &other, nullptr, 1, cudaStreamAddCaptureDependencies),
            cudaErrorIllegalState);
  CUDA(cudaGraphDestroy)(graph);
}

TEST_F(Capturing, AllocationsOfAGraphStay) {
  void* pointer = nullptr;
  ASSERT_EQ(CUDA(cudaMallocAsync)(&pointer, 4, first), cudaSuccess);
  CUDA(cudaMemsetAsync)(pointer, 7, 4, first);
  CUDA(cudaFreeAsync)(pointer, first);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(first, &graph), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(*static_cast<char*>(pointer), 7);
}

TEST(Capture, TheModeOfAThreadIsExchanged) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(CUDA(cudaThreadExchangeStreamCaptureMode)(&mode), cudaSuccess);
  const cudaStreamCaptureMode usual = mode;
  EXPECT_EQ(usual, cudaStreamCaptureModeGlobal);
  mode = usual;
  EXPECT_EQ(CUDA(cudaThreadExchangeStreamCaptureMode)(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed) << "what it was set to";
}

TEST(Capture, OfAStreamThatIsGoneIsRefused) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamDestroy)(stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  EXPECT_EQ(CUDA(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(stream, &graph), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(stream, &status), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemsetAsync)(&graph, 0, 1, stream), cudaErrorInvalidResourceHandle);
  CUDA(cudaGetLastError)();
}

TEST(Capture, OfTheLegacyStreamIsRefused) {
  EXPECT_EQ(CUDA(cudaStreamBeginCapture)(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  CUDA(cudaGetLastError)();
}

}  // namespace
}  // namespace mneme::emulation
