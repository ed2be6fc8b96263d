#include "mneme/cpu/cuda_runtime/testing/program.h"

namespace mneme::emulation {
namespace {

TEST(Memory, DeviceAllocationsAreCountedAndChecked) {
  size_t before = 0, during = 0, total = 0;
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&before, &total), cudaSuccess);
  void* pointer = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&pointer, 1000), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<uint64_t>(pointer) % 256, 0u);
  CUDA(cudaMemGetInfo)(&during, &total);
  EXPECT_EQ(before - during, 1000u);
  EXPECT_EQ(CUDA(cudaFree)(static_cast<char*>(pointer) + 1), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeHost)(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFree)(pointer), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFree)(nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMalloc)(nullptr, 5), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, total + 1), cudaErrorMemoryAllocation);
  void* other = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&other, 1000), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, total - 999), cudaErrorMemoryAllocation) << "together they are too much";
  EXPECT_EQ(CUDA(cudaFree)(other), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorMemoryAllocation);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaSuccess);
}

TEST(Memory, ManagedMemoryCountsAsTheDevices) {
  size_t before = 0, during = 0, after = 0, total = 0;
  void *managed = nullptr, *host = nullptr;
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&before, &total), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocManaged)(&managed, 1000, cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocHost)(&host, 1000), cudaSuccess);
  CUDA(cudaMemGetInfo)(&during, &total);
  EXPECT_EQ(before - during, 1000u) << "the host's does not";
  EXPECT_EQ(CUDA(cudaFree)(managed), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeHost)(host), cudaSuccess);
  CUDA(cudaMemGetInfo)(&after, &total);
  EXPECT_EQ(after, before);
  EXPECT_EQ(CUDA(cudaMallocManaged)(&managed, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMallocManaged)(&managed, 8, cudaMemAttachSingle), cudaErrorInvalidValue);
  CUDA(cudaGetLastError)();
}

TEST(Memory, LastErrorIsPeekedAndTaken) {
  CUDA(cudaGetLastError)();
  EXPECT_EQ(CUDA(cudaMemcpy)(nullptr, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaPeekAtLastError)(), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaPeekAtLastError)(), cudaSuccess);
}

TEST(Memory, PointersKnowWhatTheyAre) {
  void *device = nullptr, *host = nullptr, *managed = nullptr;
  int on_stack = 0;
  CUDA(cudaMalloc)(&device, 64);
  CUDA(cudaHostAlloc)(&host, 64, cudaHostAllocMapped);
  CUDA(cudaMallocManaged)(&managed, 64, cudaMemAttachGlobal);
  auto type = [](const void* pointer) {
    cudaPointerAttributes attributes;
    EXPECT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, pointer), cudaSuccess);
    return attributes.type;
  };
  EXPECT_EQ(type(static_cast<char*>(device) + 63), cudaMemoryTypeDevice);
  EXPECT_EQ(type(static_cast<char*>(device) + 64), cudaMemoryTypeUnregistered);
  EXPECT_EQ(type(host), cudaMemoryTypeHost);
  EXPECT_EQ(type(managed), cudaMemoryTypeManaged);
  EXPECT_EQ(type(&on_stack), cudaMemoryTypeUnregistered);
  // The addresses by which each side reaches it.
  const auto sides = [](void* pointer) {
    cudaPointerAttributes attributes;
    EXPECT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, pointer), cudaSuccess);
    EXPECT_EQ(attributes.device, attributes.type == cudaMemoryTypeUnregistered ? -2 : 0);
    return std::pair(attributes.devicePointer, attributes.hostPointer);
  };
  void *const nowhere = nullptr, *const own = &on_stack;
  EXPECT_EQ(sides(device), std::pair(device, nowhere));
  EXPECT_EQ(sides(host), std::pair(host, host));
  EXPECT_EQ(sides(managed), std::pair(managed, managed));
  EXPECT_EQ(sides(own), std::pair(nowhere, own));
  unsigned flags = 0;
  EXPECT_EQ(CUDA(cudaHostGetFlags)(&flags, host), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaHostAllocMapped});
  void* mapped = nullptr;
  EXPECT_EQ(CUDA(cudaHostGetDevicePointer)(&mapped, host, 0), cudaSuccess);
  EXPECT_EQ(mapped, host);
  EXPECT_EQ(CUDA(cudaHostRegister)(&on_stack, sizeof on_stack, cudaHostRegisterMapped), cudaSuccess);
  EXPECT_EQ(CUDA(cudaHostGetFlags)(&flags, &on_stack), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaHostRegisterMapped});
  EXPECT_EQ(CUDA(cudaHostRegister)(&on_stack, sizeof on_stack, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(type(&on_stack), cudaMemoryTypeHost);
  EXPECT_EQ(CUDA(cudaHostUnregister)(&on_stack), cudaSuccess);
  EXPECT_EQ(CUDA(cudaHostUnregister)(&on_stack), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(CUDA(cudaFree)(managed), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeHost)(host), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(device), cudaSuccess);
}

TEST(Memory, NoByteIsRegisteredTwice) {
  char bytes[12] = {};
  ASSERT_EQ(CUDA(cudaHostRegister)(bytes + 4, 4, 0), cudaSuccess);
  for (const auto& [begin, size] : {std::pair(0, 5), {0, 12}, {5, 2}, {7, 5}})
    EXPECT_EQ(CUDA(cudaHostRegister)(bytes + begin, static_cast<size_t>(size), 0), cudaErrorHostMemoryAlreadyRegistered) << begin;
  for (int begin : {0, 8}) EXPECT_EQ(CUDA(cudaHostRegister)(bytes + begin, 4, 0), cudaSuccess) << begin;
  for (int begin : {0, 4, 8}) EXPECT_EQ(CUDA(cudaHostUnregister)(bytes + begin), cudaSuccess) << begin;
  CUDA(cudaGetLastError)();
}

TEST(Memory, PitchedMemoryHasEveryRowOfEverySlice) {
  size_t before = 0, during = 0, total = 0, pitch = 0;
  CUDA(cudaMemGetInfo)(&before, &total);
  void* rows = nullptr;
  ASSERT_EQ(CUDA(cudaMallocPitch)(&rows, &pitch, 700, 3), cudaSuccess);
  EXPECT_EQ(pitch, 1024u);
  CUDA(cudaMemGetInfo)(&during, &total);
  EXPECT_EQ(before - during, 3u * 1024);
  EXPECT_EQ(CUDA(cudaFree)(rows), cudaSuccess);
  cudaPitchedPtr slices{};
  ASSERT_EQ(CUDA(cudaMalloc3D)(&slices, {700, 3, 5}), cudaSuccess);
  EXPECT_EQ(slices.pitch, 1024u);
  EXPECT_EQ(slices.xsize, 700u);
  EXPECT_EQ(slices.ysize, 3u);
  CUDA(cudaMemGetInfo)(&during, &total);
  ASSERT_EQ(before - during, 5u * 3 * 1024);
  EXPECT_EQ(CUDA(cudaMemset3D)(slices, 1, {700, 3, 5}), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(slices.ptr), cudaSuccess);
}

// Sizes that do not fit into 64 bits, of which nothing or little would remain.
TEST(Memory, PitchedMemoryIsNotCutShort) {
  const size_t huge = size_t{1} << 55;
  void* rows = &rows;
  size_t pitch = 0;
  for (const auto& [width, height] : {std::pair(size_t{512}, huge), {size_t{512}, huge + 1}, {~size_t{0}, size_t{2}}}) {
    EXPECT_EQ(CUDA(cudaMallocPitch)(&rows, &pitch, width, height), cudaErrorMemoryAllocation) << width;
    EXPECT_EQ(rows, nullptr);
  }
  for (const cudaExtent& extent : {cudaExtent{512, huge + 1, 1}, cudaExtent{512, huge / 2 + 1, 2}, cudaExtent{8, huge, 1 << 9}}) {
    cudaPitchedPtr slices{};
    EXPECT_EQ(CUDA(cudaMalloc3D)(&slices, extent), cudaErrorMemoryAllocation);
    EXPECT_EQ(slices.ptr, nullptr);
  }
  CUDA(cudaGetLastError)();
}

TEST(Copies, TwoAndThreeDimensions) {
  char from[12], to[12] = {};
  for (int i = 0; i < 12; ++i) from[i] = static_cast<char>('a' + i);
  // Two rows of 3 out of rows of 4, into rows of 6.
  EXPECT_EQ(CUDA(cudaMemcpy2D)(to, 6, from, 4, 3, 2, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(std::string(to, 3) + std::string(to + 6, 3), "abcefg");
  EXPECT_EQ(CUDA(cudaMemcpy2D)(to, 2, from, 4, 3, 2, cudaMemcpyDefault), cudaErrorInvalidPitchValue);
  cudaMemcpy3DParms volume{};
  volume.srcPtr = cudaPitchedPtr{from, 2, 2, 3};
  volume.srcPos = {0, 1, 0};
  volume.dstPtr = cudaPitchedPtr{to, 2, 2, 2};
  volume.extent = {2, 2, 2};
  volume.kind = cudaMemcpyDeviceToDevice;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&volume), cudaSuccess);
  EXPECT_EQ(std::string(to, 8), "cdefijkl");
  // Slices of one row are rows behind each other, too.
  cudaMemcpy3DParms narrow = volume;
  narrow.srcPos = {};
  narrow.extent = {2, 1, 2};
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&narrow), cudaSuccess);
  narrow.dstPtr.pitch = 1;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&narrow), cudaErrorInvalidPitchValue);
  CUDA(cudaGetLastError)();
  cudaArray_t array = reinterpret_cast<cudaArray_t>(to);  // which is none
  for (cudaArray_t cudaMemcpy3DParms::* of : {&cudaMemcpy3DParms::srcArray, &cudaMemcpy3DParms::dstArray}) {
    cudaMemcpy3DParms arrays = volume;
    arrays.*of = array;
    EXPECT_EQ(CUDA(cudaMemcpy3D)(&arrays), cudaErrorInvalidResourceHandle);
  }
  CUDA(cudaGetLastError)();
  // A place inside of each memory, in each dimension.
  char inner[27] = {};
  cudaMemcpy3DParms corner{};
  corner.srcPtr = cudaPitchedPtr{from, 2, 2, 2};
  corner.srcPos = {1, 0, 1};
  corner.dstPtr = cudaPitchedPtr{inner, 3, 3, 3};
  corner.dstPos = {2, 1, 1};
  corner.extent = {1, 2, 2};
  corner.kind = cudaMemcpyDefault;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&corner), cudaSuccess);
  std::string expected(27, '\0');
  expected[9 + 3 + 2] = 'f', expected[9 + 6 + 2] = 'h', expected[18 + 3 + 2] = 'j', expected[18 + 6 + 2] = 'l';
  EXPECT_EQ(std::string(inner, 27), expected);
  EXPECT_EQ(CUDA(cudaMemcpy)(to, from, 1, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
}

TEST(Copies, Fills) {
  char bytes[16] = {};
  EXPECT_EQ(CUDA(cudaMemset)(bytes, 'x', 3), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemset2D)(bytes + 4, 4, 'y', 2, 2), cudaSuccess);
  EXPECT_EQ(std::string(bytes, 3), "xxx");
  EXPECT_EQ(bytes[3], 0);
  EXPECT_EQ(std::string(bytes + 4, 2) + std::string(bytes + 8, 2), "yyyy");
  EXPECT_EQ(bytes[6], 0);
  EXPECT_EQ(CUDA(cudaMemset3D)(cudaPitchedPtr{bytes, 2, 2, 2}, 'z', {1, 2, 2}), cudaSuccess);
  EXPECT_EQ(bytes[0], 'z');
  EXPECT_EQ(bytes[6], 'z');
  // A part of each slice: the slices are as far apart as the memory's rows say.
  char slices[12] = {};
  EXPECT_EQ(CUDA(cudaMemset3D)(cudaPitchedPtr{slices, 2, 2, 3}, 's', {2, 1, 2}), cudaSuccess);
  EXPECT_EQ(std::string(slices, 12), std::string("ss\0\0\0\0ss\0\0\0\0", 12));
  EXPECT_EQ(CUDA(cudaMemset)(nullptr, 0, 1), cudaErrorInvalidValue);
}

TEST(Copies, BetweenDevicesThatAreThere) {
  int from = 5, to = 0;
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(&to, 0, &from, 1, 4), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(&to, 1, &from, 0, 4), cudaErrorInvalidDevice);
  EXPECT_EQ(to, 0);
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(&to, 0, &from, 0, 4), cudaSuccess);
  EXPECT_EQ(to, 5);
  CUDA(cudaGetLastError)();
}

TEST(Pools, AllocateInStreamOrder) {
  cudaStream_t stream = nullptr;
  cudaMemPool_t pool = nullptr;
  void* pointer = nullptr;
  CUDA(cudaStreamCreate)(&stream);
  EXPECT_EQ(CUDA(cudaMallocAsync)(&pointer, 64, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemsetAsync)(pointer, 1, 64, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, stream), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMallocAsync)(&pointer, 0, stream), cudaSuccess);
  EXPECT_EQ(pointer, nullptr) << "nothing";
  EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&pool, 0), cudaSuccess);
  uint64_t threshold = 77, read = 0;
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, cudaMemPoolAttrReleaseThreshold, &read), cudaSuccess);
  EXPECT_EQ(read, 77u);
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(pool), cudaErrorInvalidValue);
  CUDA(cudaStreamDestroy)(stream);
}

TEST(Pools, KnowHowMuchWasInUseAtMost) {
  cudaMemPool_t pool = nullptr;
  void *large = nullptr, *small = nullptr;
  uint64_t before = 0, high = 0;
  ASSERT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&pool, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrUsedMemHigh, &high), cudaSuccess) << "begins anew";
  EXPECT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, cudaMemPoolAttrUsedMemCurrent, &before), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocAsync)(&large, 5000, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(large, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocAsync)(&small, 64, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, cudaMemPoolAttrUsedMemHigh, &high), cudaSuccess);
  EXPECT_EQ(high, before + 5000);
  EXPECT_EQ(CUDA(cudaFreeAsync)(small, nullptr), cudaSuccess);
}

TEST(Pools, EachHasItsOwnAttributes) {
  const cudaMemPoolAttr flags[] = {cudaMemPoolReuseFollowEventDependencies, cudaMemPoolReuseAllowOpportunistic,
                                   cudaMemPoolReuseAllowInternalDependencies};
  cudaMemPool_t usual = nullptr, own = nullptr;
  const cudaMemPoolProps properties{};
  ASSERT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&usual, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemPoolCreate)(&own, &properties), cudaSuccess);
  const auto read = [&](cudaMemPool_t pool) {
    std::vector<int> values(3, 9);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, flags[i], &values[i]), cudaSuccess);
    return values;
  };
  for (int i = 0; i < 3; ++i) {
    std::vector<int> expected(3, 1);
    expected[i] = 0;
    for (int value : {0, 1}) {
      EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(own, flags[i], &value), cudaSuccess);
      EXPECT_EQ(read(own), value == 0 ? expected : std::vector<int>(3, 1)) << i;
      EXPECT_EQ(read(usual), std::vector<int>(3, 1));
    }
  }
  uint64_t none = 0, high = 0;
  void* pointer = nullptr;
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(usual, cudaMemPoolAttrUsedMemHigh, &none), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocFromPoolAsync)(&pointer, 5000, own, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolGetAttribute)(usual, cudaMemPoolAttrUsedMemHigh, &high), cudaSuccess);
  EXPECT_EQ(high, 0u);
  EXPECT_EQ(CUDA(cudaMemPoolGetAttribute)(own, cudaMemPoolAttrUsedMemHigh, &high), cudaSuccess);
  EXPECT_GE(high, 5000u);
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(own, cudaMemPoolAttrUsedMemCurrent, &none), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(own), cudaSuccess);
  CUDA(cudaGetLastError)();
}

TEST(Pools, ADestroyedPoolIsTheDevicesNoLonger) {
  cudaMemPool_t usual = nullptr, own = nullptr, current = nullptr;
  const cudaMemPoolProps properties{};
  ASSERT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&usual, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemPoolCreate)(&own, &properties), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetMemPool)(&current, 0), cudaSuccess);
  EXPECT_EQ(current, usual);
  EXPECT_EQ(CUDA(cudaDeviceSetMemPool)(1, own), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaDeviceGetMemPool)(&current, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&current, 1), cudaErrorInvalidDevice);
  CUDA(cudaGetLastError)();
  EXPECT_EQ(CUDA(cudaDeviceGetMemPool)(&current, 0), cudaSuccess);
  EXPECT_EQ(current, usual);
  EXPECT_EQ(CUDA(cudaDeviceSetMemPool)(0, own), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetMemPool)(&current, 0), cudaSuccess);
  EXPECT_EQ(current, own);
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(own), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetMemPool)(&current, 0), cudaSuccess);
  ASSERT_EQ(current, usual);
  void* pointer = nullptr;
  EXPECT_EQ(CUDA(cudaMallocAsync)(&pointer, 64, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, nullptr), cudaSuccess);
}

// What a GPU would keep of freed memory is told, though it is not kept.
TEST(Pools, CountWhatIsUsedAndReserved) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.maxSize = 10000;
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(CUDA(cudaMemPoolCreate)(&pool, &properties), cudaSuccess);
  const auto read = [&](cudaMemPoolAttr attribute) {
    uint64_t value = 77;
    EXPECT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, attribute, &value), cudaSuccess);
    return value;
  };
  void *a = nullptr, *b = nullptr, *c = nullptr;
  EXPECT_EQ(CUDA(cudaMallocFromPoolAsync)(&a, 6000, pool, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocFromPoolAsync)(&b, 1000, pool, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocFromPoolAsync)(&c, 3001, pool, nullptr), cudaErrorMemoryAllocation) << "more than the pool may have";
  EXPECT_EQ(read(cudaMemPoolAttrUsedMemCurrent), 7000u);
  EXPECT_EQ(read(cudaMemPoolAttrReservedMemCurrent), 7000u);
  EXPECT_EQ(CUDA(cudaFreeAsync)(b, nullptr), cudaSuccess);
  EXPECT_EQ(read(cudaMemPoolAttrReservedMemCurrent), 6000u) << "nothing is kept without a threshold";
  uint64_t all = ~uint64_t{0}, none = 0, one = 1;
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrReleaseThreshold, &all), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(a), cudaSuccess);
  EXPECT_EQ(read(cudaMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(read(cudaMemPoolAttrReservedMemCurrent), 6000u);
  EXPECT_EQ(CUDA(cudaMemPoolTrimTo)(pool, 2000), cudaSuccess);
  EXPECT_EQ(read(cudaMemPoolAttrReservedMemCurrent), 2000u);
  EXPECT_EQ(read(cudaMemPoolAttrUsedMemHigh), 7000u);
  EXPECT_EQ(read(cudaMemPoolAttrReservedMemHigh), 7000u);
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrUsedMemHigh, &one), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrUsedMemHigh, &none), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrReservedMemHigh, &none), cudaSuccess);
  EXPECT_EQ(read(cudaMemPoolAttrUsedMemHigh), 0u);
  EXPECT_EQ(read(cudaMemPoolAttrReservedMemHigh), 2000u) << "begins with what is reserved now";
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(pool), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(pool), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMallocFromPoolAsync)(&c, 8, pool, nullptr), cudaErrorInvalidValue);
  CUDA(cudaGetLastError)();
}

TEST(Pools, LeaveTheirMemoryWhenTheyAreDestroyed) {
  const cudaMemPoolProps properties{};
  cudaMemPool_t pool = nullptr;
  void* pointer = nullptr;
  ASSERT_EQ(CUDA(cudaMemPoolCreate)(&pool, &properties), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocFromPoolAsync)(&pointer, 64, pool, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(pool), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemset)(pointer, 1, 64), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, nullptr), cudaSuccess);
}

TEST(Pools, AreOfTheirPlace) {
  cudaMemPool_t device = nullptr, managed = nullptr, host = nullptr, current = nullptr;
  cudaMemLocation here{.type = cudaMemLocationTypeDevice, .id = 0}, elsewhere{.type = cudaMemLocationTypeDevice, .id = 1},
      on_host{.type = cudaMemLocationTypeHost, .id = 0};
  EXPECT_EQ(CUDA(cudaMemGetDefaultMemPool)(&device, &here, cudaMemAllocationTypePinned), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemGetDefaultMemPool)(&managed, &here, cudaMemAllocationTypeManaged), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemGetDefaultMemPool)(&host, &on_host, cudaMemAllocationTypePinned), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemGetDefaultMemPool)(&device, &elsewhere, cudaMemAllocationTypePinned), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&current, 0), cudaSuccess);
  EXPECT_EQ(current, device);
  EXPECT_EQ(CUDA(cudaDeviceSetMemPool)(0, managed), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemSetMemPool)(&here, cudaMemAllocationTypeManaged, managed), cudaSuccess);
  const auto type_of_memory_from = [](cudaMemPool_t pool) {
    void* pointer = nullptr;
    cudaPointerAttributes attributes{};
    EXPECT_EQ(CUDA(cudaMallocFromPoolAsync)(&pointer, 64, pool, nullptr), cudaSuccess);
    EXPECT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, pointer), cudaSuccess);
    EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, nullptr), cudaSuccess);
    return attributes.type;
  };
  EXPECT_EQ(type_of_memory_from(device), cudaMemoryTypeDevice);
  EXPECT_EQ(type_of_memory_from(managed), cudaMemoryTypeManaged);
  EXPECT_EQ(type_of_memory_from(host), cudaMemoryTypeHost);
  void* pinned = nullptr;
  ASSERT_EQ(CUDA(cudaMallocHost)(&pinned, 64), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(pinned, nullptr), cudaErrorInvalidValue) << "it is of no pool";
  EXPECT_EQ(CUDA(cudaFreeHost)(pinned), cudaSuccess);
  CUDA(cudaGetLastError)();
}

TEST(Pools, AreReachedByTheDeviceAlone) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&pool, 0), cudaSuccess);
  cudaMemLocation here{.type = cudaMemLocationTypeDevice, .id = 0};
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(CUDA(cudaMemPoolGetAccess)(&flags, pool, &here), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  cudaMemAccessDesc access{.location = here, .flags = cudaMemAccessFlagsProtReadWrite};
  EXPECT_EQ(CUDA(cudaMemPoolSetAccess)(pool, &access, 1), cudaSuccess);
  access.flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(CUDA(cudaMemPoolSetAccess)(pool, &access, 1), cudaErrorInvalidValue) << "the device's own pool";
  access.location.id = 1;
  EXPECT_EQ(CUDA(cudaMemPoolSetAccess)(pool, &access, 1), cudaErrorInvalidDevice);
  CUDA(cudaGetLastError)();
}

TEST(Pools, AreNotShared) {
  cudaMemPoolProps properties{};
  properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  cudaMemPool_t pool = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaMemPoolCreate)(&pool, &properties), cudaErrorNotSupported);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: warning: memory pools that other processes share are not available on the CPU device\n");
  CUDA(cudaGetLastError)();
}

}  // namespace
}  // namespace mneme::emulation
