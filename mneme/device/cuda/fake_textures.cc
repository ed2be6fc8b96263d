// The tests' driver: arrays, textures and surfaces.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "mneme/device/cuda/fake_driver.h"

using mneme::cuda::fake_state;

namespace {

struct FakeArray {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  size_t row = 0, height = 1, depth = 1;
  std::vector<std::byte> texels;
};
struct FakeMipmapped {
  std::deque<FakeArray> levels;
};

struct FakeResource {
  std::unique_ptr<FakeArray> array;
  std::vector<std::byte> memory;
};

std::mutex mutex;
std::map<CUgraphicsResource, FakeResource> graphics;

FakeArray* array_of(CUarray handle) { return reinterpret_cast<FakeArray*>(handle); }

FakeArray make_array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  const size_t channel = descriptor.Format == CU_AD_FORMAT_FLOAT ? 4 : 1;
  FakeArray array{descriptor,
                  descriptor.Width * descriptor.NumChannels * channel,
                  std::max<size_t>(descriptor.Height, 1),
                  std::max<size_t>(descriptor.Depth, 1),
                  {}};
  array.texels.resize(array.row * array.height * array.depth);
  return array;
}

// Of one side of a copy: where row `y` of slice `z` begins.
std::byte* place(CUmemorytype type, CUarray array, CUdeviceptr device, const void* host, size_t pitch, size_t height, size_t y,
                 size_t z) {
  if (type == CU_MEMORYTYPE_ARRAY)
    return array_of(array)->texels.data() + (z * array_of(array)->height + y) * array_of(array)->row;
  auto* const base =
      type == CU_MEMORYTYPE_HOST ? static_cast<std::byte*>(const_cast<void*>(host)) : reinterpret_cast<std::byte*>(device);
  return base + (z * std::max<size_t>(height, 1) + y) * pitch;
}

// The lowest number that is of nothing, from the first on.
CUresult give_handle(unsigned long long* handle, const CUDA_RESOURCE_DESC& resource, bool surface) {
  std::lock_guard lock(mutex);
  auto& objects = fake_state().textures;
  unsigned long long number = fake_state().first_texture;
  while (objects.contains(number)) ++number;
  mneme::cuda::FakeTexture& object = objects[number];
  object.surface = surface;
  object.resource = resource;
  if (resource.resType == CU_RESOURCE_TYPE_ARRAY) object.texels = &array_of(resource.res.array.hArray)->texels;
  *handle = number;
  return CUDA_SUCCESS;
}

}  // namespace

#define ENTER() \
  if (CUresult result = mneme::cuda::fake_enter(__func__); result != CUDA_SUCCESS) return result

extern "C" {

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  ENTER();
  *array = reinterpret_cast<CUarray>(new FakeArray(make_array(*descriptor)));
  ++fake_state().arrays;
  return CUDA_SUCCESS;
}
CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
  ENTER();
  *descriptor = array_of(array)->descriptor;
  return CUDA_SUCCESS;
}
CUresult cuArrayDestroy(CUarray array) {
  ENTER();
  delete array_of(array);
  --fake_state().arrays;
  return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  ENTER();
  auto* const made = new FakeMipmapped;
  CUDA_ARRAY3D_DESCRIPTOR level = *descriptor;
  for (unsigned i = 0; i < levels; ++i) {
    made->levels.push_back(make_array(level));
    for (size_t* size : {&level.Width, &level.Height, &level.Depth})
      if (*size != 0) *size = std::max<size_t>(*size / 2, 1);
  }
  *array = reinterpret_cast<CUmipmappedArray>(made);
  ++fake_state().arrays;
  return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayGetLevel(CUarray* level, CUmipmappedArray array, unsigned number) {
  ENTER();
  auto& levels = reinterpret_cast<FakeMipmapped*>(array)->levels;
  if (number >= levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *level = reinterpret_cast<CUarray>(&levels[number]);
  return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  ENTER();
  delete reinterpret_cast<FakeMipmapped*>(array);
  --fake_state().arrays;
  return CUDA_SUCCESS;
}

// Resources of graphics: of each one array, of 4 x 2 floats, and one piece of memory, which are there while it is mapped.
CUresult cuGraphicsSubResourceGetMappedArray(CUarray* array, CUgraphicsResource resource, unsigned, unsigned) {
  ENTER();
  auto& mapped = graphics[resource];
  if (!mapped.array)
    mapped.array = std::make_unique<FakeArray>(
        make_array({.Width = 4, .Height = 2, .Depth = 0, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = 0}));
  *array = reinterpret_cast<CUarray>(mapped.array.get());
  return CUDA_SUCCESS;
}
CUresult cuGraphicsResourceGetMappedPointer(CUdeviceptr* pointer, size_t* size, CUgraphicsResource resource) {
  ENTER();
  auto& mapped = graphics[resource];
  mapped.memory.resize(4096);
  *pointer = reinterpret_cast<CUdeviceptr>(mapped.memory.data());
  *size = mapped.memory.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphicsUnmapResources(unsigned count, CUgraphicsResource* resources, CUstream) {
  ENTER();
  for (unsigned i = 0; i < count; ++i) graphics.erase(resources[i]);
  return CUDA_SUCCESS;
}

// Memory of another interface that is imported: one buffer and one mipmapped array of it.
CUresult cuImportExternalMemory(CUexternalMemory* memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*) {
  ENTER();
  *memory = reinterpret_cast<CUexternalMemory>(uintptr_t{0x40});
  return CUDA_SUCCESS;
}
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* pointer, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* buffer) {
  ENTER();
  auto& mapped = graphics[reinterpret_cast<CUgraphicsResource>(memory)];
  mapped.memory.resize(buffer->size);
  *pointer = reinterpret_cast<CUdeviceptr>(mapped.memory.data());
  return CUDA_SUCCESS;
}
CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray* array, CUexternalMemory,
                                                 const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* what) {
  return cuMipmappedArrayCreate(array, &what->arrayDesc, what->numLevels);
}

CUresult cuModuleGetTexRef(CUtexref* reference, CUmodule, const char*) {
  ENTER();
  *reference = reinterpret_cast<CUtexref>(uintptr_t{0x30});
  return CUDA_SUCCESS;
}

CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC*,
                           const CUDA_RESOURCE_VIEW_DESC*) {
  ENTER();
  CUDA_RESOURCE_DESC linear{};
  linear.resType = CU_RESOURCE_TYPE_LINEAR;
  return give_handle(object, resource ? *resource : linear, false);
}
CUresult cuTexObjectDestroy(CUtexObject object) {
  ENTER();
  return fake_state().textures.erase(object) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuSurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  ENTER();
  return give_handle(object, *resource, true);
}
CUresult cuSurfObjectDestroy(CUsurfObject object) {
  ENTER();
  return fake_state().textures.erase(object) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  ENTER();
  for (size_t z = 0; z < copy->Depth; ++z)
    for (size_t y = 0; y < copy->Height; ++y)
      memcpy(place(copy->dstMemoryType, copy->dstArray, copy->dstDevice, copy->dstHost, copy->dstPitch, copy->dstHeight, y, z),
             place(copy->srcMemoryType, copy->srcArray, copy->srcDevice, copy->srcHost, copy->srcPitch, copy->srcHeight, y, z),
             copy->WidthInBytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream) {
  ENTER();
  return cuMemcpy3D(copy);
}

}  // extern "C"
