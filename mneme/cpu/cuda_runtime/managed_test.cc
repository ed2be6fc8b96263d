#include <vector>

#include "mneme/cpu/cuda_runtime/testing/program.h"

namespace mneme::emulation {
namespace {

constexpr size_t kBytes = 4096;
constexpr cudaMemLocation kDevice{.type = cudaMemLocationTypeDevice, .id = 0};
constexpr cudaMemLocation kHost{.type = cudaMemLocationTypeHost, .id = 0};

class Managed : public ::testing::Test {
 protected:
  void SetUp() override { allocate(); }
  void TearDown() override {
    EXPECT_EQ(CUDA(cudaFree)(pointer), cudaSuccess);
    CUDA(cudaGetLastError)();
  }
  void allocate() {
    void* memory = nullptr;
    ASSERT_EQ(CUDA(cudaMallocManaged)(&memory, kBytes, cudaMemAttachGlobal), cudaSuccess);
    pointer = static_cast<char*>(memory);
  }
  int attribute(cudaMemRangeAttribute which, size_t offset = 0, size_t count = kBytes) {
    int value = 77;
    EXPECT_EQ(CUDA(cudaMemRangeGetAttribute)(&value, sizeof value, which, pointer + offset, count), cudaSuccess);
    return value;
  }
  std::vector<int> accessors(size_t room, size_t offset = 0, size_t count = kBytes) {
    std::vector<int> ids(room, 77);
    EXPECT_EQ(
        CUDA(cudaMemRangeGetAttribute)(ids.data(), room * sizeof(int), cudaMemRangeAttributeAccessedBy, pointer + offset, count),
        cudaSuccess);
    return ids;
  }
  cudaError_t advise(cudaMemoryAdvise what, cudaMemLocation where, size_t offset = 0, size_t count = kBytes) {
    return CUDA(cudaMemAdvise)(pointer + offset, count, what, where);
  }

  char* pointer = nullptr;
};

TEST_F(Managed, IsReachedByHostAndKernels) {
  int* numbers = reinterpret_cast<int*>(pointer);
  for (int i = 0; i < 4; ++i) numbers[i] = i + 1;
  EXPECT_EQ(launch_scale(numbers, 3, 4), cudaSuccess);
  EXPECT_EQ(numbers[3], 12);
}

TEST_F(Managed, KnowsNothingAtFirst) {
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly), 0);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation), cudaInvalidDeviceId);
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), cudaInvalidDeviceId);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocationType), cudaMemLocationTypeInvalid);
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocationType), cudaMemLocationTypeInvalid);
  EXPECT_EQ(accessors(2), (std::vector{cudaInvalidDeviceId, cudaInvalidDeviceId}));
}

TEST_F(Managed, KeepsAdviceOfARange) {
  EXPECT_EQ(advise(cudaMemAdviseSetReadMostly, kDevice, 1024, 1024), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly, 1024, 1024), 1);
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly, 1023, 1025), 0) << "all of the range counts";
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly, 1024, 1025), 0);
  EXPECT_EQ(advise(cudaMemAdviseUnsetReadMostly, kDevice, 1024, 512), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly, 1024, 1024), 0);
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly, 1536, 512), 1);
}

TEST_F(Managed, KeepsThePreferredLocation) {
  EXPECT_EQ(advise(cudaMemAdviseSetPreferredLocation, kHost), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation), cudaCpuDeviceId);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocationType), cudaMemLocationTypeHost);
  EXPECT_EQ(advise(cudaMemAdviseSetPreferredLocation, kDevice, 0, 64), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation, 0, 64), 0);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocationId, 0, 64), 0);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation), cudaInvalidDeviceId) << "there are two";
  EXPECT_EQ(advise(cudaMemAdviseUnsetPreferredLocation, {}), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation, 0, 64), cudaInvalidDeviceId);
  EXPECT_EQ(advise(cudaMemAdviseSetPreferredLocation, {.type = cudaMemLocationTypeDevice, .id = 1}), cudaErrorInvalidDevice);
}

TEST_F(Managed, KeepsWhoAccessesIt) {
  EXPECT_EQ(advise(cudaMemAdviseSetAccessedBy, kHost), cudaSuccess);
  EXPECT_EQ(advise(cudaMemAdviseSetAccessedBy, kDevice, 0, 64), cudaSuccess);
  EXPECT_EQ(accessors(3, 0, 64), (std::vector{0, cudaCpuDeviceId, cudaInvalidDeviceId}));
  EXPECT_EQ(accessors(1, 0, 64), (std::vector{0}));
  EXPECT_EQ(accessors(2), (std::vector{cudaCpuDeviceId, cudaInvalidDeviceId}));
  EXPECT_EQ(advise(cudaMemAdviseUnsetAccessedBy, kHost), cudaSuccess);
  EXPECT_EQ(accessors(2, 0, 64), (std::vector{0, cudaInvalidDeviceId}));
}

TEST_F(Managed, KeepsWhereItWasPrefetchedTo) {
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(pointer, kBytes, kDevice, 0, nullptr), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), 0);
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(pointer, 64, kHost, 0, nullptr), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation, 0, 64), cudaCpuDeviceId);
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), cudaInvalidDeviceId);
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(pointer, kBytes, kDevice, 1, nullptr), cudaErrorInvalidValue) << "there are no flags";
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(pointer, kBytes + 1, kDevice, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(pointer, kBytes, {.type = cudaMemLocationTypeDevice, .id = 2}, 0, nullptr),
            cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(pointer, kBytes, {}, 0, nullptr), cudaErrorInvalidValue);
}

TEST_F(Managed, IsPrefetchedInBatches) {
  void* pieces[] = {pointer, pointer + 64, pointer + 128};
  size_t sizes[] = {64, 64, 64}, first[] = {0, 2};
  cudaMemLocation places[] = {kDevice, kHost};
  EXPECT_EQ(CUDA(cudaMemPrefetchBatchAsync)(pieces, sizes, 3, places, first, 2, 0, nullptr), cudaSuccess);
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation, 0, 128), 0);
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation, 128, 64), cudaCpuDeviceId);
  EXPECT_EQ(CUDA(cudaMemDiscardBatchAsync)(pieces, sizes, 3, 0, nullptr), cudaSuccess);
  first[1] = 3;
  EXPECT_EQ(CUDA(cudaMemPrefetchBatchAsync)(pieces, sizes, 3, places, first, 2, 0, nullptr), cudaErrorInvalidValue);
}

TEST_F(Managed, SaysSeveralThingsAtOnce) {
  EXPECT_EQ(advise(cudaMemAdviseSetReadMostly, kDevice), cudaSuccess);
  int read_mostly = 7, preferred = 7;
  void* data[] = {&read_mostly, &preferred};
  size_t sizes[] = {sizeof(int), sizeof(int)};
  cudaMemRangeAttribute which[] = {cudaMemRangeAttributeReadMostly, cudaMemRangeAttributePreferredLocation};
  EXPECT_EQ(CUDA(cudaMemRangeGetAttributes)(data, sizes, which, 2, pointer, kBytes), cudaSuccess);
  EXPECT_EQ(read_mostly, 1);
  EXPECT_EQ(preferred, cudaInvalidDeviceId);
  sizes[1] = 8;
  EXPECT_EQ(CUDA(cudaMemRangeGetAttributes)(data, sizes, which, 2, pointer, kBytes), cudaErrorInvalidValue);
}

TEST_F(Managed, NewMemoryHasNoAdvice) {
  EXPECT_EQ(advise(cudaMemAdviseSetReadMostly, kDevice), cudaSuccess);
  char* const before = pointer;
  EXPECT_EQ(CUDA(cudaFree)(pointer), cudaSuccess);
  allocate();
  if (pointer != before) GTEST_SKIP() << "the memory lies elsewhere";
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly), 0);
}

TEST_F(Managed, AdviceIsForManagedMemoryAndTheHosts) {
  void *device = nullptr, *pinned = nullptr;
  std::vector<char> pageable(64);
  ASSERT_EQ(CUDA(cudaMalloc)(&device, 64), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocHost)(&pinned, 64), cudaSuccess);
  for (void* refused : {device, pinned, static_cast<void*>(nullptr)}) {
    EXPECT_EQ(CUDA(cudaMemAdvise)(refused, 64, cudaMemAdviseSetReadMostly, kDevice), cudaErrorInvalidValue);
    EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(refused, 64, kDevice, 0, nullptr), cudaErrorInvalidValue);
  }
  EXPECT_EQ(CUDA(cudaMemAdvise)(pageable.data(), 64, cudaMemAdviseSetReadMostly, kDevice), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemAdvise)(pageable.data(), 0, cudaMemAdviseSetReadMostly, kDevice), cudaErrorInvalidValue);
  EXPECT_EQ(advise(static_cast<cudaMemoryAdvise>(99), kDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFree)(device), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeHost)(pinned), cudaSuccess);
}

TEST_F(Managed, IsAttachedToStreams) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamAttachMemAsync)(stream, pointer, 0, cudaMemAttachSingle), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamAttachMemAsync)(stream, pointer, kBytes, cudaMemAttachHost), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamAttachMemAsync)(nullptr, pointer, 0, cudaMemAttachSingle), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaStreamAttachMemAsync)(stream, pointer, 0, 9), cudaErrorInvalidValue);
  CUDA(cudaStreamDestroy)(stream);
}

TEST(ManagedDevice, SaysThatItHasManagedMemory) {
  for (cudaDeviceAttr which : {cudaDevAttrManagedMemory, cudaDevAttrConcurrentManagedAccess, cudaDevAttrPageableMemoryAccess,
                               cudaDevAttrDirectManagedMemAccessFromHost}) {
    int value = 0;
    EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, which, 0), cudaSuccess);
    EXPECT_EQ(value, 1) << which;
  }
}

}  // namespace
}  // namespace mneme::emulation
