// Textures, surfaces and arrays of a program that is recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "mneme/record/testing/fake_runtime.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme::testing {
namespace {

using Texels = std::vector<float>;

// The vendor's arrays, of floats, and how many objects there are.
struct FakeArrays {
  struct Array {
    cudaChannelFormatDesc description{32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaExtent extent{4, 2, 0};
    unsigned flags = 0;
    Texels texels = Texels(8);
  };
  std::deque<Array> arrays;
  unsigned long long objects = 4;
  cudaError_t copies = cudaSuccess;
};
FakeArrays* vendor;

cudaArray_t make_array(unsigned flags = 0) {
  vendor->arrays.push_back({.flags = flags});
  return reinterpret_cast<cudaArray_t>(&vendor->arrays.back());
}
FakeArrays::Array& array_of(const void* handle) { return *static_cast<FakeArrays::Array*>(const_cast<void*>(handle)); }

cudaError_t get_info(cudaChannelFormatDesc* description, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
  const FakeArrays::Array& found = array_of(array);
  return *description = found.description, *extent = found.extent, *flags = found.flags, cudaSuccess;
}
cudaError_t create_texture(cudaTextureObject_t* out, const cudaResourceDesc*, const cudaTextureDesc*,
                           const cudaResourceViewDesc*) {
  return *out = ++vendor->objects, cudaSuccess;
}
cudaError_t create_surface(cudaSurfaceObject_t* out, const cudaResourceDesc*) { return *out = ++vendor->objects, cudaSuccess; }
cudaError_t destroy_object(unsigned long long) { return cudaSuccess; }
// A mipmapped array is the first of its two levels.
cudaError_t malloc_mipmapped(cudaMipmappedArray_t* out, const cudaChannelFormatDesc*, cudaExtent, unsigned, unsigned) {
  *out = reinterpret_cast<cudaMipmappedArray_t>(make_array(cudaArraySurfaceLoadStore));
  vendor->arrays.push_back({.extent = {2, 1, 0}, .texels = Texels(2)});
  return cudaSuccess;
}
cudaError_t get_level(cudaArray_t* out, cudaMipmappedArray_const_t array, unsigned level) {
  const auto first = std::find_if(vendor->arrays.begin(), vendor->arrays.end(),
                                  [&](const auto& one) { return static_cast<const void*>(&one) == array; });
  return *out = reinterpret_cast<cudaArray_t>(&*(first + level)), cudaSuccess;
}
cudaError_t free_array(const void*) { return cudaSuccess; }
cudaError_t get_mapped(cudaArray_t* out, cudaGraphicsResource_t, unsigned, unsigned) { return *out = make_array(), cudaSuccess; }
cudaError_t unmap(int, cudaGraphicsResource_t*, cudaStream_t) { return cudaSuccess; }
cudaError_t copy_3d(const cudaMemcpy3DParms* copy) {
  if (vendor->copies != cudaSuccess) return vendor->copies;
  const Texels& texels = array_of(copy->srcArray).texels;
  EXPECT_EQ(copy->extent.width * copy->extent.height * copy->extent.depth, texels.size());
  return std::memcpy(copy->dstPtr.ptr, texels.data(), 4 * texels.size()), cudaSuccess;
}

class TexturesOfAProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    vendor = &arrays_;
    program_.emplace(RecordingOptions(), nullptr, [](std::vector<mneme_function>& slots) {
      const auto set = [&](mneme_call slot, auto* function) { slots[slot] = reinterpret_cast<mneme_function>(function); };
      set(MNEME_CALL_cudaArrayGetInfo, get_info);
      set(MNEME_CALL_cudaCreateTextureObject, create_texture);
      set(MNEME_CALL_cudaCreateSurfaceObject, create_surface);
      set(MNEME_CALL_cudaDestroyTextureObject, destroy_object);
      set(MNEME_CALL_cudaDestroySurfaceObject, destroy_object);
      set(MNEME_CALL_cudaMallocMipmappedArray, malloc_mipmapped);
      set(MNEME_CALL_cudaGetMipmappedArrayLevel, get_level);
      set(MNEME_CALL_cudaFreeArray, free_array);
      set(MNEME_CALL_cudaFreeMipmappedArray, free_array);
      set(MNEME_CALL_cudaGraphicsSubResourceGetMappedArray, get_mapped);
      set(MNEME_CALL_cudaGraphicsUnmapResources, unmap);
      set(MNEME_CALL_cudaMemcpy3D, copy_3d);
    });
  }

  static cudaResourceDesc resource_of(cudaArray_t array) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
  }
  uint64_t texture(const cudaResourceDesc& resource) {
    cudaTextureDesc description{};
    description.filterMode = cudaFilterModeLinear;
    description.normalizedCoords = 1;
    cudaTextureObject_t object = 0;
    program_->call<decltype(cudaCreateTextureObject)>(MNEME_CALL_cudaCreateTextureObject, &object, &resource, &description,
                                                      nullptr);
    return object;
  }
  uint64_t surface(const cudaResourceDesc& resource) {
    cudaSurfaceObject_t object = 0;
    program_->call<decltype(cudaCreateSurfaceObject)>(MNEME_CALL_cudaCreateSurfaceObject, &object, &resource);
    return object;
  }
  // Launches a kernel that uses textures, with a handle as its argument.
  void launch(uint64_t handle) {
    EXPECT_EQ(program_->launch(program_->texture_reader, reinterpret_cast<int*>(handle)), cudaSuccess);
  }
  RecordedInstance recorded(size_t number = 0) {
    const InstanceRecord instance = program_->instances().at(number);
    return *Database::open(program_->database())->load_instance(instance.static_hash, instance.dynamic_hash);
  }
  Texels contents(const MemoryState& state, size_t array) {
    const auto region = std::find_if(state.regions.begin(), state.regions.end(),
                                     [&](const Region& one) { return one.address == state.textures.arrays.at(array).copy; });
    EXPECT_EQ(region->kind, Region::Kind::array);
    auto database = Database::open(program_->database());
    const ByteVector bytes = *read_region(*database, *region);
    Texels texels(bytes.size() / sizeof(float));
    std::memcpy(texels.data(), bytes.data(), bytes.size());
    return texels;
  }

  FakeArrays arrays_;
  std::optional<FakeProgram> program_;
};

TEST_F(TexturesOfAProgram, AreRecordedWithTheirArrays) {
  const cudaArray_t array = make_array(cudaArraySurfaceLoadStore);
  const uint64_t of_texture = texture(resource_of(array)), of_surface = surface(resource_of(array));
  array_of(array).texels[3] = 5;
  launch(of_texture);
  const RecordedInstance recording = recorded();
  const TextureSet& textures = recording.prologue.textures;
  ASSERT_EQ(textures.arrays.size(), 1u);
  EXPECT_EQ(textures.arrays[0].shape, (ArrayShape{4, 2, 0, {0x20, 1}, ArrayShape::kSurface, 0}));
  ASSERT_EQ(textures.objects.size(), 2u);
  EXPECT_EQ(textures.objects[0].handle, of_texture);
  EXPECT_EQ(textures.objects[0].sampling.filter, 1u);
  EXPECT_EQ(textures.objects[0].sampling.flags, TextureSampling::kReadAsInteger | TextureSampling::kNormalizedCoordinates);
  EXPECT_EQ(textures.objects[1].handle, of_surface);
  EXPECT_EQ(textures.objects[1].kind, TextureObject::Kind::surface);
  EXPECT_EQ(contents(recording.prologue, 0)[3], 5);
  EXPECT_EQ(recording.epilogue.textures, textures);
}

TEST_F(TexturesOfAProgram, WhatALaunchWritesIsInTheEpilogue) {
  const cudaArray_t array = make_array(cudaArraySurfaceLoadStore);
  const uint64_t object = surface(resource_of(array));
  program_->vendor().kernels[program_->texture_reader] = [&](void**) { return array_of(array).texels[1] = 7, cudaSuccess; };
  launch(object);
  EXPECT_EQ(contents(recorded().prologue, 0)[1], 0);
  EXPECT_EQ(contents(recorded().epilogue, 0)[1], 7);
}

TEST_F(TexturesOfAProgram, ThatAnArgumentDoesNotNameAreRecordedToo) {
  texture(resource_of(make_array()));
  int* data = program_->allocate<int>(16);  // which may hold the handle
  EXPECT_EQ(program_->launch(program_->texture_reader, data), cudaSuccess);
  EXPECT_EQ(recorded().prologue.textures.objects.size(), 1u);
}

TEST_F(TexturesOfAProgram, AKernelWithoutThemIsRecordedWithout) {
  texture(resource_of(make_array()));
  EXPECT_EQ(program_->launch(program_->increment, program_->allocate<int>(16), 1), cudaSuccess);
  EXPECT_TRUE(recorded().prologue.textures.empty());
}

TEST_F(TexturesOfAProgram, OneArrayWithTwoObjectsIsRecordedOnce) {
  const cudaArray_t array = make_array();
  texture(resource_of(array));
  launch(texture(resource_of(array)));
  EXPECT_EQ(recorded().prologue.textures.arrays.size(), 1u);
}

TEST_F(TexturesOfAProgram, LevelsBelongToTheirMipmappedArray) {
  cudaMipmappedArray_t mipmapped = nullptr;
  const cudaChannelFormatDesc floats{32, 0, 0, 0, cudaChannelFormatKindFloat};
  program_->call<decltype(cudaMallocMipmappedArray)>(MNEME_CALL_cudaMallocMipmappedArray, &mipmapped, &floats,
                                                     cudaExtent{4, 2, 0}, 2u, unsigned{cudaArraySurfaceLoadStore});
  cudaArray_t level = nullptr;
  program_->call<decltype(cudaGetMipmappedArrayLevel)>(MNEME_CALL_cudaGetMipmappedArrayLevel, &level, mipmapped, 1u);
  array_of(level).texels[1] = 9;
  cudaResourceDesc whole{};
  whole.resType = cudaResourceTypeMipmappedArray;
  whole.res.mipmap.mipmap = mipmapped;
  texture(whole);
  launch(surface(resource_of(level)));
  const MemoryState state = recorded().prologue;
  ASSERT_EQ(state.textures.arrays.size(), 1u);
  EXPECT_EQ(state.textures.arrays[0].shape.levels, 2u);
  EXPECT_EQ(state.textures.objects[0].source, TextureObject::Source::mipmapped);
  EXPECT_EQ(state.textures.objects[1].level, 1u);
  EXPECT_EQ(contents(state, 0)[128 + 1], 9);
}

TEST_F(TexturesOfAProgram, MemoryThatATextureReadsIsReached) {
  int* data = program_->allocate<int>(16);
  data[2] = 3;
  cudaResourceDesc linear{};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = data;
  linear.res.linear.desc = {32, 0, 0, 0, cudaChannelFormatKindSigned};
  linear.res.linear.sizeInBytes = 64;
  const uint64_t object = texture(linear);
  launch(object);
  const MemoryState state = recorded().prologue;
  ASSERT_EQ(state.regions.size(), 1u);
  EXPECT_EQ(state.regions[0].address.address, reinterpret_cast<uint64_t>(data));
  EXPECT_EQ(state.textures.objects.at(0).texel, (TexelLayout{0x0a, 1}));
  // Freed memory has no texture any more.
  program_->free(data);
  launch(object);
  EXPECT_EQ(program_->count(NotRecorded::textures), 1u);
}

TEST_F(TexturesOfAProgram, AreForgottenWithTheirArrays) {
  const cudaArray_t array = make_array();
  const uint64_t object = texture(resource_of(array)), other = texture(resource_of(make_array()));
  program_->call<decltype(cudaFreeArray)>(MNEME_CALL_cudaFreeArray, array);
  launch(other);
  EXPECT_EQ(recorded().prologue.textures.objects.size(), 1u);
  program_->call<decltype(cudaDestroyTextureObject)>(MNEME_CALL_cudaDestroyTextureObject, cudaTextureObject_t{other});
  launch(object);
  EXPECT_EQ(program_->count(NotRecorded::textures), 1u) << "the program has none";
}

TEST_F(TexturesOfAProgram, OfWhatIsNotRecordedPassThrough) {
  const cudaArray_t packed = make_array(), sparse = make_array(0x40);
  array_of(packed).description = {10, 11, 11, 0, cudaChannelFormatKindFloat};
  const uint64_t object = texture(resource_of(packed)), good = texture(resource_of(make_array()));
  launch(object);
  EXPECT_EQ(program_->count(NotRecorded::textures), 1u);
  launch(good);
  EXPECT_EQ(recorded().prologue.textures.objects.size(), 1u) << "without the one that it is not given";
  // What is written through a surface must not be missed.
  surface(resource_of(sparse));
  launch(good + 100);
  EXPECT_EQ(program_->count(NotRecorded::textures), 2u);
}

// The vendor maps arrays of graphics, and takes them away again.
TEST_F(TexturesOfAProgram, OfGraphicsPassThrough) {
  cudaArray_t array = nullptr;
  auto* const resource = reinterpret_cast<cudaGraphicsResource_t>(uintptr_t{0x10});
  program_->call<decltype(cudaGraphicsSubResourceGetMappedArray)>(MNEME_CALL_cudaGraphicsSubResourceGetMappedArray, &array,
                                                                  resource, 0u, 0u);
  launch(texture(resource_of(array)));
  EXPECT_EQ(program_->count(NotRecorded::textures), 1u);
  auto* mapped = resource;
  program_->call<decltype(cudaGraphicsUnmapResources)>(MNEME_CALL_cudaGraphicsUnmapResources, 1, &mapped, cudaStream_t{});
  launch(texture(resource_of(array)));  // of another one by now
  EXPECT_EQ(program_->instances().size(), 1u);
}

TEST_F(TexturesOfAProgram, AnArrayThatCannotBeCopiedConcernsOneLaunch) {
  const uint64_t object = texture(resource_of(make_array()));
  arrays_.copies = cudaErrorInvalidValue;
  launch(object);
  EXPECT_EQ(program_->count(NotRecorded::textures), 1u);
  arrays_.copies = cudaSuccess;
  launch(object);
  EXPECT_EQ(program_->instances().size(), 1u);
}

}  // namespace
}  // namespace mneme::testing
