#include <gmock/gmock.h>

#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/testing/program.h"
#include "mneme/hooks/registration_hooks.h"

namespace mneme::hip {
namespace {

using ::testing::ElementsAre;

// What was called of CUDA's slots, in its order.
std::vector<std::string>& calls() {
  static std::vector<std::string> all;
  return all;
}

// A kernel of two parameters: an int, and a double behind it.
cudaError_t parameter_of(const void*, size_t index, size_t* offset, size_t* size) {
  if (index > 1) return cudaErrorInvalidValue;
  *offset = index == 0 ? 0 : 8;
  *size = index == 0 ? 4 : 8;
  return cudaSuccess;
}

cudaError_t launched(const void*, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  calls().push_back(fmt::format("launch {}x{}x{} of {}x{}x{} with {} and {}, {} bytes, stream {}", grid.x, grid.y, grid.z,
                                block.x, block.y, block.z, *static_cast<int*>(arguments[0]), *static_cast<double*>(arguments[1]),
                                shared, reinterpret_cast<uintptr_t>(stream)));
  return cudaSuccess;
}

class Launches : public ::testing::Test {
 protected:
  void SetUp() override {
    calls().clear();
    CUDA_IS(cudaGetLastError, [] { return cudaSuccess; });
    CUDA_IS(cudaLaunchKernel, launched);
    CUDA_IS(cudaFuncGetParamInfo, parameter_of);
    CUDA_IS(cudaEventRecord, [](cudaEvent_t event, cudaStream_t stream) {
      calls().push_back(fmt::format("event {} in {}", reinterpret_cast<uintptr_t>(event), reinterpret_cast<uintptr_t>(stream)));
      return cudaSuccess;
    });
    CUDA_IS(cudaFuncSetAttribute, [](const void*, cudaFuncAttribute, int value) {
      calls().push_back(fmt::format("shared memory of {}", value));
      return cudaSuccess;
    });
  }
  int first_ = 5;
  double second_ = 0.5;
  void* arguments_[2] = {&first_, &second_};
  struct {
    int first = 6;
    double second = 1.5;
  } packed_;
  size_t packed_bytes_ = sizeof packed_;
  void* extra_[5] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed_, HIP_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes_,
                     HIP_LAUNCH_PARAM_END};
  hipFunction_t function_ = reinterpret_cast<hipFunction_t>(this);
};

using ExtendedLaunch = hipError_t (*)(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t,
                                      hipStream_t, void**, void**, hipEvent_t, hipEvent_t, uint32_t);
ExtendedLaunch extended() { return HIP_AS(hipExtModuleLaunchKernel, ExtendedLaunch); }

TEST_F(Launches, EachFamilyIsOneLaunch) {
  const auto stream = reinterpret_cast<hipStream_t>(9);
  EXPECT_EQ(HIP(hipLaunchKernel)(this, {1, 2, 3}, {4, 5, 6}, arguments_, 7, stream), hipSuccess);
  EXPECT_EQ(HIP(hipModuleLaunchKernel)(function_, 1, 2, 3, 4, 5, 6, 7, stream, arguments_, nullptr), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("launch 1x2x3 of 4x5x6 with 5 and 0.5, 7 bytes, stream 9",
                                   "launch 1x2x3 of 4x5x6 with 5 and 0.5, 7 bytes, stream 9"));
}

TEST_F(Launches, EventsAreRecordedAroundIt) {
  EXPECT_EQ(HIP(hipExtLaunchKernel)(this, {1, 1, 1}, {2, 1, 1}, arguments_, 0, reinterpret_cast<hipStream_t>(3),
                                    reinterpret_cast<hipEvent_t>(11), reinterpret_cast<hipEvent_t>(12), 0),
            hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("event 11 in 3", "launch 1x1x1 of 2x1x1 with 5 and 0.5, 0 bytes, stream 3", "event 12 in 3"));
}

TEST_F(Launches, ArgumentsMayBeInABuffer) {
  EXPECT_EQ(HIP(hipModuleLaunchKernel)(function_, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra_), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("launch 1x1x1 of 2x1x1 with 6 and 1.5, 0 bytes, stream 0"));
  packed_bytes_ = 12;
  EXPECT_EQ(HIP(hipModuleLaunchKernel)(function_, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra_), hipErrorInvalidValue)
      << "the buffer ends within the second parameter";
  void* unknown[] = {reinterpret_cast<void*>(77), nullptr, HIP_LAUNCH_PARAM_END};
  EXPECT_EQ(HIP(hipModuleLaunchKernel)(function_, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, unknown), hipErrorInvalidValue);
  EXPECT_EQ(HIP(hipModuleLaunchKernel)(nullptr, 1, 1, 1, 2, 1, 1, 0, nullptr, arguments_, nullptr), hipErrorInvalidHandle);
}

TEST_F(Launches, TheExtendedOneCountsThreads) {
  EXPECT_EQ(extended()(function_, 64, 4, 1, 32, 2, 1, 0, nullptr, arguments_, nullptr, nullptr, nullptr, 0), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("launch 2x2x1 of 32x2x1 with 5 and 0.5, 0 bytes, stream 0"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(extended()(function_, 65, 4, 1, 32, 2, 1, 0, nullptr, arguments_, nullptr, nullptr, nullptr, 0),
            hipErrorNotSupported);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "mneme: warning: hipExtModuleLaunchKernel with a last block that is smaller than the others is not available: it returns "
      "hipErrorNotSupported\n");
  EXPECT_EQ(extended()(function_, 64, 4, 1, 0, 2, 1, 0, nullptr, arguments_, nullptr, nullptr, nullptr, 0),
            hipErrorInvalidConfiguration);
}

TEST_F(Launches, InThreeCalls) {
  EXPECT_EQ(HIP(hipLaunchByPtr)(this), hipErrorMissingConfiguration);
  EXPECT_EQ(HIP(hipSetupArgument)(&first_, 4, 0), hipErrorMissingConfiguration);
  EXPECT_EQ(HIP(hipConfigureCall)({1, 1, 1}, {8, 1, 1}, 0, nullptr), hipSuccess);
  EXPECT_EQ(HIP(hipSetupArgument)(&first_, 4, 0), hipSuccess);
  EXPECT_EQ(HIP(hipSetupArgument)(&second_, 8, 8), hipSuccess);
  EXPECT_EQ(HIP(hipLaunchByPtr)(this), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("launch 1x1x1 of 8x1x1 with 5 and 0.5, 0 bytes, stream 0"));
}

TEST_F(Launches, MoreSharedMemoryNeedsNoOptIn) {
  EXPECT_EQ(HIP(hipLaunchKernel)(this, {1, 1, 1}, {2, 1, 1}, arguments_, 64 << 10, nullptr), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("shared memory of 65536", "launch 1x1x1 of 2x1x1 with 5 and 0.5, 65536 bytes, stream 0"));
}

TEST_F(Launches, NorDoesItInANodeOfAGraph) {
  hipKernelNodeParams kernel{};
  kernel.func = this;
  kernel.gridDim = {3, 1, 1};
  kernel.blockDim = {2, 1, 1};
  kernel.sharedMemBytes = 60000;
  static const auto added = [](const cudaKernelNodeParams& node) {
    calls().push_back(fmt::format("node of {} with {} bytes", node.gridDim.x, node.sharedMemBytes));
    return cudaSuccess;
  };
  CUDA_IS(cudaGraphAddKernelNode, [](cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                     const cudaKernelNodeParams* node) { return added(*node); });
  CUDA_IS(cudaGraphKernelNodeSetParams, [](cudaGraphNode_t, const cudaKernelNodeParams* node) { return added(*node); });
  CUDA_IS(cudaGraphExecKernelNodeSetParams,
          [](cudaGraphExec_t, cudaGraphNode_t, const cudaKernelNodeParams* node) { return added(*node); });
  hipGraphNode_t node = nullptr;
  EXPECT_EQ(HIP(hipGraphAddKernelNode)(&node, nullptr, nullptr, 0, &kernel), hipSuccess);
  EXPECT_EQ(HIP(hipGraphKernelNodeSetParams)(nullptr, &kernel), hipSuccess);
  EXPECT_EQ(HIP(hipGraphExecKernelNodeSetParams)(nullptr, nullptr, &kernel), hipSuccess);
  const char* const allowed = "shared memory of 60000";
  const char* const made = "node of 3 with 60000 bytes";
  EXPECT_THAT(calls(), ElementsAre(allowed, made, allowed, made, allowed, made));
  EXPECT_EQ(HIP(hipGraphAddKernelNode)(&node, nullptr, nullptr, 0, nullptr), hipErrorInvalidValue);
}

TEST_F(Launches, ArgumentsOfANodeMayBeInABuffer) {
  static const auto added = [](const cudaKernelNodeParams& node) {
    calls().push_back(fmt::format("node with {} and {}{}", *static_cast<int*>(node.kernelParams[0]),
                                  *static_cast<double*>(node.kernelParams[1]), node.extra ? ", and more" : ""));
    return cudaSuccess;
  };
  CUDA_IS(cudaGraphAddKernelNode, [](cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                     const cudaKernelNodeParams* node) { return added(*node); });
  CUDA_IS(cudaGraphKernelNodeSetParams, [](cudaGraphNode_t, const cudaKernelNodeParams* node) { return added(*node); });
  CUDA_IS(cudaGraphExecKernelNodeSetParams,
          [](cudaGraphExec_t, cudaGraphNode_t, const cudaKernelNodeParams* node) { return added(*node); });
  hipKernelNodeParams kernel{};
  kernel.func = this;
  kernel.gridDim = kernel.blockDim = {1, 1, 1};
  kernel.extra = extra_;
  hipGraphNode_t node = nullptr;
  EXPECT_EQ(HIP(hipGraphAddKernelNode)(&node, nullptr, nullptr, 0, &kernel), hipSuccess);
  packed_.first = 7;
  EXPECT_EQ(HIP(hipGraphKernelNodeSetParams)(nullptr, &kernel), hipSuccess);
  packed_.second = 2.5;
  EXPECT_EQ(HIP(hipGraphExecKernelNodeSetParams)(nullptr, nullptr, &kernel), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("node with 6 and 1.5", "node with 7 and 1.5", "node with 7 and 2.5"));
  packed_bytes_ = 12;
  EXPECT_EQ(HIP(hipGraphAddKernelNode)(&node, nullptr, nullptr, 0, &kernel), hipErrorInvalidValue)
      << "the buffer ends within the second parameter";
}

TEST_F(Launches, ThePointerToAManagedVariableIsSetBeforeTheFirst) {
  static int managed = 0;
  static void* host_pointer = nullptr;
  static int initial = 42;
  CUDA_IS(cudaMallocManaged, [](void** out, size_t, unsigned) {
    *out = &managed;
    return cudaSuccess;
  });
  CUDA_IS(cudaMemcpyToSymbol, [](const void* symbol, const void* from, size_t size, size_t, cudaMemcpyKind) {
    const bool right = symbol == &host_pointer && size == 8 && *static_cast<void* const*>(from) == &managed;
    calls().push_back(right ? "the pointer" : "something else");
    return cudaSuccess;
  });
  CUDA_IS(__cudaRegisterVar, [](void**, char*, char*, const char* name, int, size_t size, int, int) {
    calls().push_back(fmt::format("variable {} of {}", name, size));
  });
  void* registered = nullptr;
  HIP(__hipRegisterManagedVar)(&registered, &host_pointer, &initial, "seen", 4, 4);
  EXPECT_EQ(host_pointer, &managed) << "main() may use it at once";
  EXPECT_EQ(managed, 42);
  EXPECT_EQ(HIP(hipLaunchKernel)(this, {1, 1, 1}, {2, 1, 1}, arguments_, 0, nullptr), hipSuccess);
  EXPECT_EQ(HIP(hipLaunchKernel)(this, {1, 1, 1}, {2, 1, 1}, arguments_, 0, nullptr), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("variable seen of 8", "the pointer", "launch 1x1x1 of 2x1x1 with 5 and 0.5, 0 bytes, stream 0",
                                   "launch 1x1x1 of 2x1x1 with 5 and 0.5, 0 bytes, stream 0"));
}

}  // namespace
}  // namespace mneme::hip
