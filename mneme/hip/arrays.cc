// Arrays, and copies that one of them takes part in or that the driver's structures describe.
#include <map>
#include <mutex>
#include <optional>

#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

cudaStream_t to_stream(hipStream_t stream) { return std::bit_cast<cudaStream_t>(stream); }

// The driver's format of an element as the runtime's.
bool to_channels(hipArray_Format format, unsigned count, cudaChannelFormatDesc& out) {
  int bits = 0;
  switch (format) {
    case HIP_AD_FORMAT_UNSIGNED_INT8: bits = 8, out.f = cudaChannelFormatKindUnsigned; break;
    case HIP_AD_FORMAT_UNSIGNED_INT16: bits = 16, out.f = cudaChannelFormatKindUnsigned; break;
    case HIP_AD_FORMAT_UNSIGNED_INT32: bits = 32, out.f = cudaChannelFormatKindUnsigned; break;
    case HIP_AD_FORMAT_SIGNED_INT8: bits = 8, out.f = cudaChannelFormatKindSigned; break;
    case HIP_AD_FORMAT_SIGNED_INT16: bits = 16, out.f = cudaChannelFormatKindSigned; break;
    case HIP_AD_FORMAT_SIGNED_INT32: bits = 32, out.f = cudaChannelFormatKindSigned; break;
    case HIP_AD_FORMAT_HALF: bits = 16, out.f = cudaChannelFormatKindFloat; break;
    case HIP_AD_FORMAT_FLOAT: bits = 32, out.f = cudaChannelFormatKindFloat; break;
    default: return false;
  }
  if (count != 1 && count != 2 && count != 4) return false;
  out.x = bits;
  out.y = count > 1 ? bits : 0;
  out.z = out.w = count > 2 ? bits : 0;
  return true;
}

hipError_t create_mipmapped(Table& table, hipMipmappedArray_t* array, HIP_ARRAY3D_DESCRIPTOR* what, unsigned levels) {
  cudaChannelFormatDesc channels{};
  if (!array || !what || !to_channels(what->Format, what->NumChannels, channels)) return hipErrorInvalidValue;
  return to_hip(MNEME_CUDA(table, cudaMallocMipmappedArray)(reinterpret_cast<cudaMipmappedArray_t*>(array), &channels,
                                                            {what->Width, what->Height, what->Depth}, levels, what->Flags));
}

// --- what an array is, which interposers ask and HIP's runtime does not tell before ROCm 6 ------------------------------------

struct ArrayShape {
  cudaChannelFormatDesc channels{};
  cudaExtent extent{};
  unsigned flags = 0;
};

// Those that the program has made at its own runtime. Thread-safe.
class ArrayShapes {
 public:
  static ArrayShapes& get() {
    static auto* shapes = new ArrayShapes;
    return *shapes;
  }
  void add(const void* array, const ArrayShape& shape) {
    std::lock_guard lock(mutex_);
    shapes_[array] = shape;
  }
  void remove(const void* array) {
    std::lock_guard lock(mutex_);
    shapes_.erase(array);
  }
  std::optional<ArrayShape> find(const void* array) const {
    std::lock_guard lock(mutex_);
    const auto found = shapes_.find(array);
    return found == shapes_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<const void*, ArrayShape> shapes_;
};

ArrayShape shape_of(const hipChannelFormatDesc* channels, size_t width, size_t height, unsigned flags) {
  return {std::bit_cast<cudaChannelFormatDesc>(*channels), {width, height, 0}, flags};
}
ArrayShape shape_of(const hipChannelFormatDesc* channels, hipExtent extent, unsigned flags) {
  return {std::bit_cast<cudaChannelFormatDesc>(*channels), std::bit_cast<cudaExtent>(extent), flags};
}
ArrayShape shape_of(const HIP_ARRAY_DESCRIPTOR* what) {
  ArrayShape shape{.channels = {}, .extent = {what->Width, what->Height, 0}};
  to_channels(what->Format, what->NumChannels, shape.channels);
  return shape;
}
ArrayShape shape_of(const HIP_ARRAY3D_DESCRIPTOR* what) {
  ArrayShape shape{.channels = {}, .extent = {what->Width, what->Height, what->Depth}, .flags = what->Flags};
  to_channels(what->Format, what->NumChannels, shape.channels);
  return shape;
}

// A function that makes an array.
template <auto kHandler>
struct Shaped;
template <typename Handle, typename... A, hipError_t (*kHandler)(Table&, Handle*, A...)>
struct Shaped<kHandler> {
  static hipError_t call(Table& table, Handle* out, A... arguments) {
    const hipError_t code = kHandler(table, out, arguments...);
    if (code == hipSuccess && table.ends_in_runtime()) ArrayShapes::get().add(*out, shape_of(arguments...));
    return code;
  }
};
// A function that frees one.
template <auto kHandler>
struct Unshaped;
template <typename Handle, hipError_t (*kHandler)(Table&, Handle)>
struct Unshaped<kHandler> {
  static hipError_t call(Table& table, Handle array) {
    ArrayShapes::get().remove(array);
    return kHandler(table, array);
  }
};

cudaError_t end_of_get_info(Table&, cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
  const auto shape = ArrayShapes::get().find(array);
  if (!shape) return cudaErrorInvalidResourceHandle;
  if (channels) *channels = shape->channels;
  if (extent) *extent = shape->extent;
  if (flags) *flags = shape->flags;
  return cudaSuccess;
}

hipError_t create(Table& table, hipArray** array, const HIP_ARRAY_DESCRIPTOR* what) {
  if (table.ends_in_runtime()) return MNEME_REAL(table, hipArrayCreate)(array, what);
  ArrayShape shape{};
  if (!array || !what || !to_channels(what->Format, what->NumChannels, shape.channels)) return hipErrorInvalidValue;
  return to_hip(
      MNEME_CUDA(table, cudaMallocArray)(reinterpret_cast<cudaArray_t*>(array), &shape.channels, what->Width, what->Height, 0));
}
hipError_t create_3d(Table& table, hipArray** array, const HIP_ARRAY3D_DESCRIPTOR* what) {
  if (table.ends_in_runtime()) return MNEME_REAL(table, hipArray3DCreate)(array, what);
  ArrayShape shape{};
  if (!array || !what || !to_channels(what->Format, what->NumChannels, shape.channels)) return hipErrorInvalidValue;
  return to_hip(MNEME_CUDA(table, cudaMalloc3DArray)(reinterpret_cast<cudaArray_t*>(array), &shape.channels,
                                                     {what->Width, what->Height, what->Depth}, what->Flags));
}

// One end of a copy that the driver's structures describe.
struct End {
  hipMemoryType type = hipMemoryTypeHost;
  void* host = nullptr;
  void* device = nullptr;
  hipArray* array = nullptr;
  size_t x_bytes = 0, y = 0, z = 0, pitch = 0, height = 0;
};

// Positions in arrays are counted in elements; `element` is the size of one.
hipError_t set_end(Table& table, const End& end, size_t row_bytes, cudaArray_t& array, cudaPos& position, cudaPitchedPtr& pointer,
                   size_t& element) {
  if (end.type == hipMemoryTypeArray) {
    cudaChannelFormatDesc channels{};
    array = std::bit_cast<cudaArray_t>(end.array);
    if (cudaError_t code = MNEME_CUDA(table, cudaGetChannelDesc)(&channels, array); code != cudaSuccess) return to_hip(code);
    element = static_cast<size_t>(channels.x + channels.y + channels.z + channels.w) / 8;
    if (element == 0 || end.x_bytes % element != 0) return hipErrorInvalidValue;
    position = {end.x_bytes / element, end.y, end.z};
    return hipSuccess;
  }
  void* const base = end.type == hipMemoryTypeHost ? end.host : end.device;
  const size_t pitch = end.pitch != 0 ? end.pitch : row_bytes;
  pointer = {base, pitch, row_bytes, end.height != 0 ? end.height : 1};
  position = {end.x_bytes, end.y, end.z};
  return hipSuccess;
}

cudaMemcpyKind kind_of(hipMemoryType from, hipMemoryType to) {
  if (from == hipMemoryTypeUnified || to == hipMemoryTypeUnified) return cudaMemcpyDefault;
  if (from == hipMemoryTypeHost) return to == hipMemoryTypeHost ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to == hipMemoryTypeHost ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

struct DescribedCopy {
  End from, to;
  size_t row_bytes = 0, height = 0, depth = 1;
};

// Widths are counted in elements where an array takes part, else in bytes.
hipError_t to_parameters(Table& table, const DescribedCopy& copy, cudaMemcpy3DParms& out) {
  size_t element = 1;
  if (hipError_t code = set_end(table, copy.from, copy.row_bytes, out.srcArray, out.srcPos, out.srcPtr, element);
      code != hipSuccess)
    return code;
  if (hipError_t code = set_end(table, copy.to, copy.row_bytes, out.dstArray, out.dstPos, out.dstPtr, element);
      code != hipSuccess)
    return code;
  if (copy.row_bytes % element != 0) return hipErrorInvalidValue;
  out.extent = {copy.row_bytes / element, copy.height, copy.depth};
  out.kind = kind_of(copy.from.type, copy.to.type);
  return hipSuccess;
}

DescribedCopy read(const hip_Memcpy2D& from) {
  return {.from = {from.srcMemoryType, const_cast<void*>(from.srcHost), from.srcDevice, from.srcArray, from.srcXInBytes,
                   from.srcY, 0, from.srcPitch, from.srcY + from.Height},
          .to = {from.dstMemoryType, from.dstHost, from.dstDevice, from.dstArray, from.dstXInBytes, from.dstY, 0, from.dstPitch,
                 from.dstY + from.Height},
          .row_bytes = from.WidthInBytes,
          .height = from.Height};
}
DescribedCopy read(const HIP_MEMCPY3D& from) {
  return {.from = {from.srcMemoryType, const_cast<void*>(from.srcHost), from.srcDevice, from.srcArray, from.srcXInBytes,
                   from.srcY, from.srcZ, from.srcPitch, from.srcHeight != 0 ? from.srcHeight : from.srcY + from.Height},
          .to = {from.dstMemoryType, from.dstHost, from.dstDevice, from.dstArray, from.dstXInBytes, from.dstY, from.dstZ,
                 from.dstPitch, from.dstHeight != 0 ? from.dstHeight : from.dstY + from.Height},
          .row_bytes = from.WidthInBytes,
          .height = from.Height,
          .depth = from.Depth};
}

template <typename Described>
hipError_t copy_described(Table& table, const Described* copy) {
  if (!copy) return hipErrorInvalidValue;
  cudaMemcpy3DParms parameters{};
  if (hipError_t code = to_parameters(table, read(*copy), parameters); code != hipSuccess) return code;
  return to_hip(MNEME_CUDA(table, cudaMemcpy3D)(&parameters));
}
template <typename Described>
hipError_t copy_described_async(Table& table, const Described* copy, hipStream_t stream) {
  if (!copy) return hipErrorInvalidValue;
  cudaMemcpy3DParms parameters{};
  if (hipError_t code = to_parameters(table, read(*copy), parameters); code != hipSuccess) return code;
  return to_hip(MNEME_CUDA(table, cudaMemcpy3DAsync)(&parameters, to_stream(stream)));
}

hipError_t copy_to_host(Table& table, void* to, hipArray* from, size_t offset, size_t bytes) {
  return to_hip(
      MNEME_CUDA(table, cudaMemcpyFromArray)(to, std::bit_cast<cudaArray_t>(from), offset, 0, bytes, cudaMemcpyDeviceToHost));
}
hipError_t copy_from_host(Table& table, hipArray* to, size_t offset, const void* from, size_t bytes) {
  return to_hip(
      MNEME_CUDA(table, cudaMemcpyToArray)(std::bit_cast<cudaArray_t>(to), offset, 0, from, bytes, cudaMemcpyHostToDevice));
}

#define MNEME_PAIR(hip, cuda) MNEME_CALL_##hip, decltype(&::hip), MNEME_CALL_##cuda, decltype(&::cuda)
#define MNEME_SHAPED_ROW(hip, cuda) \
  RowHook<MNEME_CALL_##hip, &Shaped<&Row<MNEME_PAIR(hip, cuda)>::call>::call, Inverse<MNEME_PAIR(hip, cuda)>>
#define MNEME_UNSHAPED_ROW(hip, cuda) \
  RowHook<MNEME_CALL_##hip, &Unshaped<&Row<MNEME_PAIR(hip, cuda)>::call>::call, Inverse<MNEME_PAIR(hip, cuda)>>
using Rows = HookList<
    MNEME_SHAPED_ROW(hipMallocArray, cudaMallocArray), MNEME_SHAPED_ROW(hipMalloc3DArray, cudaMalloc3DArray),
    MNEME_UNSHAPED_ROW(hipFreeArray, cudaFreeArray), MNEME_UNSHAPED_ROW(hipArrayDestroy, cudaFreeArray),
    MNEME_ROW(hipMallocMipmappedArray, cudaMallocMipmappedArray), MNEME_ROW(hipFreeMipmappedArray, cudaFreeMipmappedArray),
    MNEME_ROW(hipMipmappedArrayDestroy, cudaFreeMipmappedArray), MNEME_ROW(hipGetMipmappedArrayLevel, cudaGetMipmappedArrayLevel),
    MNEME_ROW(hipMipmappedArrayGetLevel, cudaGetMipmappedArrayLevel), MNEME_ROW(hipGetChannelDesc, cudaGetChannelDesc),
    MNEME_ROW(hipMemcpy2DToArray, cudaMemcpy2DToArray), MNEME_ROW_SPT(hipMemcpy2DToArray, cudaMemcpy2DToArray, ptds),
    MNEME_ROW(hipMemcpy2DToArrayAsync, cudaMemcpy2DToArrayAsync), MNEME_ROW(hipMemcpy2DFromArray, cudaMemcpy2DFromArray),
    MNEME_ROW_SPT(hipMemcpy2DFromArray, cudaMemcpy2DFromArray, ptds),
    MNEME_ROW(hipMemcpy2DFromArrayAsync, cudaMemcpy2DFromArrayAsync), MNEME_ROW(hipMemcpyToArray, cudaMemcpyToArray),
    MNEME_ROW(hipMemcpyFromArray, cudaMemcpyFromArray), MNEME_OWN(hipArrayCreate, Shaped<&create>::call),
    MNEME_OWN(hipArray3DCreate, Shaped<&create_3d>::call),
    MNEME_OWN_THROUGH(hipMipmappedArrayCreate, create_mipmapped, cudaMallocMipmappedArray),
    MNEME_OWN_THROUGH(hipMemcpyAtoH, copy_to_host, cudaMemcpyFromArray),
    MNEME_OWN_THROUGH(hipMemcpyHtoA, copy_from_host, cudaMemcpyToArray),
    MNEME_OWN_THROUGH(hipMemcpyParam2D, copy_described<hip_Memcpy2D>, cudaMemcpy3D),
    MNEME_OWN_THROUGH(hipDrvMemcpy2DUnaligned, copy_described<hip_Memcpy2D>, cudaMemcpy3D),
    MNEME_OWN_THROUGH(hipMemcpyParam2DAsync, copy_described_async<hip_Memcpy2D>, cudaMemcpy3DAsync),
    MNEME_OWN_THROUGH(hipDrvMemcpy3D, copy_described<HIP_MEMCPY3D>, cudaMemcpy3D),
    MNEME_OWN_THROUGH(hipDrvMemcpy3DAsync, copy_described_async<HIP_MEMCPY3D>, cudaMemcpy3DAsync)>;

using Ends = HookList<MNEME_WRITTEN_END(hipMallocArray, cudaArrayGetInfo, end_of_get_info)>;

}  // namespace

void install_arrays(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
