#include "mneme/cpu/cuda_runtime/arrays.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>

#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

constexpr size_t kMostInARow = 1 << 17;
constexpr size_t kMostSlices = 1 << 16;
constexpr unsigned kKnownFlags =
    cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather | cudaArrayColorAttachment;

// The arrays of the process. Thread-safe.
class Arrays {
 public:
  static Arrays& get() {
    static Arrays* arrays = new Arrays;
    return *arrays;
  }
  cudaArray_t add(std::shared_ptr<Array> array) {
    std::lock_guard lock(mutex_);
    cudaArray_t handle = array->handle();
    arrays_[handle] = std::move(array);
    return handle;
  }
  cudaMipmappedArray_t add(std::shared_ptr<MipmappedArray> mipmapped) {
    std::lock_guard lock(mutex_);
    auto handle = reinterpret_cast<cudaMipmappedArray_t>(mipmapped.get());
    mipmapped_[handle] = std::move(mipmapped);
    return handle;
  }
  std::shared_ptr<Array> find(cudaArray_const_t handle) const {
    std::lock_guard lock(mutex_);
    if (auto found = arrays_.find(handle); found != arrays_.end()) return found->second;
    for (const auto& [_, mipmapped] : mipmapped_)
      for (const auto& level : mipmapped->levels)
        if (level->handle() == handle) return level;
    return nullptr;
  }
  std::shared_ptr<MipmappedArray> find(cudaMipmappedArray_const_t handle) const {
    std::lock_guard lock(mutex_);
    auto found = mipmapped_.find(handle);
    return found == mipmapped_.end() ? nullptr : found->second;
  }
  bool remove(cudaArray_const_t handle) {
    std::lock_guard lock(mutex_);
    return arrays_.erase(handle) == 1;
  }
  bool remove(cudaMipmappedArray_const_t handle) {
    std::lock_guard lock(mutex_);
    return mipmapped_.erase(handle) == 1;
  }

 private:
  mutable std::mutex mutex_;
  std::map<cudaArray_const_t, std::shared_ptr<Array>> arrays_;
  std::map<cudaMipmappedArray_const_t, std::shared_ptr<MipmappedArray>> mipmapped_;
};

// Whether an array can have the extent, with flags that say what its third axis is.
bool is_possible(const cudaExtent& extent, unsigned flags) {
  if (extent.width == 0 || extent.width > kMostInARow || extent.height > kMostInARow || extent.depth > kMostSlices) return false;
  const bool layered = (flags & cudaArrayLayered) != 0;
  if ((flags & cudaArrayCubemap) != 0)
    return extent.width == extent.height && (layered ? extent.depth != 0 && extent.depth % 6 == 0 : extent.depth == 6);
  return layered ? extent.depth != 0 : extent.depth == 0 || extent.height != 0;
}

// cudaErrorMemoryAllocation: there is not enough memory.
cudaError_t make_array(const cudaChannelFormatDesc& description, const cudaExtent& extent, unsigned flags,
                       std::shared_ptr<Array>& out) {
  if (!is_possible(extent, flags)) return cudaErrorInvalidValue;
  if ((flags & ~kKnownFlags) != 0) {
    log::warning("sparse arrays and arrays that are mapped later are not available on the CPU device");
    return cudaErrorNotSupported;
  }
  const auto channels = read_channels(description);
  if (!channels) return cudaErrorNotSupported;
  Array array{description, extent, flags, *channels, {}};
  cpu::TexelGrid& grid = array.grid;
  grid.width = static_cast<uint32_t>(extent.width);
  grid.height = static_cast<uint32_t>(std::max<size_t>(extent.height, 1));
  grid.slices = static_cast<uint32_t>(std::max<size_t>(extent.depth, 1));
  grid.row_pitch = extent.width * channels->format.bytes();
  grid.slice_pitch = grid.row_pitch * grid.height;
  grid.texels = static_cast<std::byte*>(Context::get().memory().allocate(array.bytes(), {.kind = MemoryKind::device}));
  if (!grid.texels) return cudaErrorMemoryAllocation;
  out = std::shared_ptr<Array>(new Array(array), [](Array* dead) {
    Context::get().memory().free(dead->grid.texels, {MemoryKind::device});
    delete dead;
  });
  return cudaSuccess;
}

cudaError_t malloc_3d_array(cudaArray_t* out, const cudaChannelFormatDesc* description, cudaExtent extent, unsigned flags) {
  std::shared_ptr<Array> array;
  if (!out || !description) return cudaErrorInvalidValue;
  if (cudaError_t result = make_array(*description, extent, flags, array); result != cudaSuccess) return result;
  *out = Arrays::get().add(std::move(array));
  return cudaSuccess;
}
cudaError_t malloc_array(cudaArray_t* out, const cudaChannelFormatDesc* description, size_t width, size_t height,
                         unsigned flags) {
  if ((flags & (cudaArrayLayered | cudaArrayCubemap)) != 0) return cudaErrorInvalidValue;
  return malloc_3d_array(out, description, {width, height, 0}, flags);
}

// Each level has half of the last one's extent, but at least 1 where that has one.
cudaExtent level_extent(const cudaExtent& extent, unsigned level, unsigned flags) {
  const auto halved = [&](size_t size) { return size == 0 ? 0 : std::max<size_t>(size >> level, 1); };
  const bool has_layers = (flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
  return {halved(extent.width), halved(extent.height), has_layers ? extent.depth : halved(extent.depth)};
}

unsigned most_levels(const cudaExtent& extent, unsigned flags) {
  const bool has_layers = (flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
  const size_t longest = std::max({extent.width, extent.height, has_layers ? size_t{0} : extent.depth, size_t{1}});
  return static_cast<unsigned>(std::bit_width(longest));
}

cudaError_t malloc_mipmapped(cudaMipmappedArray_t* out, const cudaChannelFormatDesc* description, cudaExtent extent,
                             unsigned level_count, unsigned flags) {
  if (!out || !description || level_count == 0) return cudaErrorInvalidValue;
  auto mipmapped = std::make_shared<MipmappedArray>();
  for (unsigned level = 0; level < std::min(level_count, most_levels(extent, flags)); ++level) {
    std::shared_ptr<Array> array;
    if (cudaError_t result = make_array(*description, level_extent(extent, level, flags), flags, array); result != cudaSuccess)
      return result;
    mipmapped->levels.push_back(std::move(array));
  }
  *out = Arrays::get().add(std::move(mipmapped));
  return cudaSuccess;
}

cudaError_t get_level(cudaArray_t* out, cudaMipmappedArray_const_t handle, unsigned level) {
  const auto mipmapped = find_mipmapped_array(handle);
  if (!out || !mipmapped || level >= mipmapped->levels.size()) return cudaErrorInvalidValue;
  *out = mipmapped->levels[level]->handle();
  return cudaSuccess;
}

cudaError_t free_array(cudaArray_t array) { return !array || Arrays::get().remove(array) ? cudaSuccess : cudaErrorInvalidValue; }
cudaError_t free_mipmapped(cudaMipmappedArray_t mipmapped) {
  return !mipmapped || Arrays::get().remove(mipmapped) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t get_channels(cudaChannelFormatDesc* description, cudaArray_const_t handle) {
  const auto array = find_array(handle);
  if (!description || !array) return cudaErrorInvalidValue;
  *description = array->description;
  return cudaSuccess;
}

cudaError_t get_info(cudaChannelFormatDesc* description, cudaExtent* extent, unsigned* flags, cudaArray_t handle) {
  const auto array = find_array(handle);
  if (!array) return cudaErrorInvalidResourceHandle;
  if (description) *description = array->description;
  if (extent) *extent = array->extent;
  if (flags) *flags = array->flags;
  return cudaSuccess;
}

}  // namespace

std::optional<TexelChannels> read_channels(const cudaChannelFormatDesc& description) {
  const int bits[] = {description.x, description.y, description.z, description.w};
  TexelChannels channels;
  const auto count = static_cast<uint32_t>(std::find(std::begin(bits), std::end(bits), 0) - std::begin(bits));
  channels.format.components = count;
  channels.format.bits = static_cast<uint32_t>(bits[0]);
  const bool alike = std::all_of(bits, bits + count, [&](int each) { return each == bits[0]; }) &&
                     std::all_of(bits + count, std::end(bits), [](int each) { return each == 0; });
  const cudaChannelFormatKind kind = description.f;
  const bool is_unsigned =
      kind >= cudaChannelFormatKindUnsignedNormalized8X1 && kind <= cudaChannelFormatKindUnsignedNormalized16X4;
  const bool is_signed = kind >= cudaChannelFormatKindSignedNormalized8X1 && kind <= cudaChannelFormatKindSignedNormalized16X4;
  channels.normalized = is_unsigned || is_signed;
  if (kind == cudaChannelFormatKindUnsigned || is_unsigned) channels.format.kind = cpu::TexelKind::unsigned_integer;
  if (kind == cudaChannelFormatKindSigned || is_signed) channels.format.kind = cpu::TexelKind::signed_integer;
  const bool known_kind = kind <= cudaChannelFormatKindFloat || channels.normalized;
  const bool known_bits = bits[0] == 16 || bits[0] == 32 || (bits[0] == 8 && kind != cudaChannelFormatKindFloat);
  if (known_kind && known_bits && alike && (count == 1 || count == 2 || count == 4)) return channels;
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  if (!said.test_and_set())
    log::warning("texels of format {} with {}, {}, {} and {} bits are not available on the CPU device", static_cast<int>(kind),
                 bits[0], bits[1], bits[2], bits[3]);
  return std::nullopt;
}

std::shared_ptr<Array> find_array(cudaArray_const_t handle) { return Arrays::get().find(handle); }
std::shared_ptr<MipmappedArray> find_mipmapped_array(cudaMipmappedArray_const_t handle) { return Arrays::get().find(handle); }

void fill_arrays(Slots& slots) {
  MNEME_EMULATE(cudaMallocArray, malloc_array);
  MNEME_EMULATE(cudaMalloc3DArray, malloc_3d_array);
  MNEME_EMULATE(cudaMallocMipmappedArray, malloc_mipmapped);
  MNEME_EMULATE(cudaGetMipmappedArrayLevel, get_level);
  MNEME_EMULATE(cudaFreeArray, free_array);
  MNEME_EMULATE(cudaFreeMipmappedArray, free_mipmapped);
  MNEME_EMULATE(cudaGetChannelDesc, get_channels);
  MNEME_EMULATE(cudaArrayGetInfo, get_info);
}

}  // namespace mneme::emulation
