// Textures on the HIP backend, over the runtime made for tests.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <utility>

#include "mneme/device/gpu/testing/textures_test.h"
#include "mneme/device/held_addresses.h"
#include "mneme/device/hip/fake_hip.h"
#include "mneme/device/hip/hip_device.h"
#include "mneme/device/host_mapping.h"

namespace mneme::hip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HipTexturesTest : public gpu::TexturesTest<FakeHipState> {
 protected:
  HipTexturesTest() : TexturesTest(MNEME_FAKE_HIP_LIBRARY, "mneme_fake_hip_state") {}

  void SetUp() override {
    TexturesTest::SetUp();
    const std::string libraries[] = {MNEME_FAKE_HIP_LIBRARY};
    use(open_device(0, libraries));
    begin(3, 4);
    set.objects[0].sampling.filter = 1;
    state->calls.clear();
  }
  void TearDown() override {
    TexturesTest::TearDown();
    EXPECT_TRUE(state->objects.empty());
    EXPECT_EQ(state->pinned, pinned) << "pages that were registered";
  }

  void make() override {
    pinned = state->pinned;
    TexturesTest::make();
  }
  // The status, when nothing can be made.
  std::string refusal() {
    pinned = state->pinned;
    const std::string text = device->create_textures(set).status().to_string();
    EXPECT_EQ(state->arrays, 0);
    EXPECT_TRUE(state->objects.empty());
    EXPECT_EQ(state->pinned, pinned);
    return text;
  }
  std::string refusal(const char* function, int after = 0) {
    state->fail_function = function;
    state->fail_after = after;
    state->fail_error = kInvalidValue;
    return refusal();
  }
  // What kernels find by the handle of an object.
  const FakeObject& object(size_t i) { return *reinterpret_cast<const FakeObject*>(textures->handles().at(i)); }
  float* texels(size_t i) override { return object(i).image.texels; }

  int pinned = 0;
};

TEST_F(HipTexturesTest, AreMadeAndFreedInTheirOrder) {
  make();
  EXPECT_THAT(std::exchange(state->calls, {}),
              ElementsAre("hipDeviceGetAttribute", "hipMalloc3DArray", "hipCreateTextureObject", "hipCreateSurfaceObject"));
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  ASSERT_TRUE(textures->copy_arrays(*stream).ok());
  EXPECT_THAT(std::exchange(state->calls, {}), ElementsAre("hipMemcpy3DAsync", "hipMemcpy3DAsync"));
  textures.reset();
  EXPECT_THAT(std::exchange(state->calls, {}), ElementsAre("hipDestroyTextureObject", "hipDestroySurfaceObject", "hipFreeArray"));
}

TEST_F(HipTexturesTest, ArraysAreAskedForAsTheProgramDid) {
  set.arrays[0].shape = {4, 4, 6, {0x08, 4}, ArrayShape::kLayered | ArrayShape::kSurface, 0};
  make();
  ASSERT_EQ(state->array_requests.size(), 1u);
  const FakeArrayRequest& request = state->array_requests[0];
  EXPECT_EQ(request.flags, 3u);
  EXPECT_THAT((std::vector{request.extent.width, request.extent.height, request.extent.depth}), ElementsAre(4, 4, 6));
  const ChannelDescription& channels = request.channels;
  EXPECT_THAT((std::vector{channels.x, channels.y, channels.z, channels.w}), ElementsAre(8, 8, 8, 8));
  EXPECT_EQ(channels.kind, ChannelKind::signed_integer);
}

TEST_F(HipTexturesTest, FormatsAreBitsOfChannels) {
  struct Case {
    TexelLayout texel;
    std::vector<int> bits;
    ChannelKind kind;
  };
  const Case cases[] = {{{0x01, 1}, {8, 0, 0, 0}, ChannelKind::unsigned_integer},
                        {{0x02, 2}, {16, 16, 0, 0}, ChannelKind::unsigned_integer},
                        {{0x03, 4}, {32, 32, 32, 32}, ChannelKind::unsigned_integer},
                        {{0x09, 1}, {16, 0, 0, 0}, ChannelKind::signed_integer},
                        {{0x0a, 2}, {32, 32, 0, 0}, ChannelKind::signed_integer},
                        {{0x10, 4}, {16, 16, 16, 16}, ChannelKind::real},
                        {{0x20, 2}, {32, 32, 0, 0}, ChannelKind::real}};
  for (const Case& c : cases) {
    set.arrays[0].shape.texel = c.texel;
    make();
    const ChannelDescription& channels = state->array_requests.back().channels;
    EXPECT_EQ((std::vector{channels.x, channels.y, channels.z, channels.w}), c.bits) << c.texel.format;
    EXPECT_EQ(channels.kind, c.kind) << c.texel.format;
    textures.reset();
  }
  set.arrays[0].shape.texel = {0xc0, 1};
  EXPECT_EQ(refusal(),
            "unsupported: hipMalloc3DArray(4 x 2 x 0 texels of format 0xc0 with 1 channels, flags 0x2, 1 levels): "
            "hipErrorNotSupported (words of the runtime)");
  set.arrays.clear();
  set.objects.resize(1);
  set.objects[0].source = TextureObject::Source::linear;
  set.objects[0].texel = {0xc0, 1};
  EXPECT_EQ(refusal(), "unsupported: hipCreateTextureObject, of the recorded 0x3: hipErrorNotSupported (words of the runtime)");
}

TEST_F(HipTexturesTest, AreReadAsRecorded) {
  TextureSampling& sampling = set.objects[0].sampling;
  sampling = {.address = {0, 1, 3},
              .filter = 1,
              .flags = TextureSampling::kNormalizedCoordinates | TextureSampling::kSrgb,
              .anisotropy = 2,
              .level_filter = 1,
              .level_bias = 0.5f,
              .least_level = 1,
              .greatest_level = 10,
              .border = {1, 2, 3, 4}};
  set.objects[0].view = TextureView{0x16, 4, 2, 0, 0, 1, 2, 3};
  make();
  const TextureDescription& plain = object(0).description;
  EXPECT_THAT(plain.address, ElementsAre(0, 1, 3));
  EXPECT_THAT(plain.border, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(plain.filter, 1);
  EXPECT_EQ(plain.read, kReadAsNormalized);
  EXPECT_EQ(plain.srgb, 1);
  EXPECT_EQ(plain.normalized_coordinates, 1);
  EXPECT_EQ(plain.anisotropy, 2u);
  EXPECT_EQ(plain.greatest_level, 0) << "an array without levels has none to clamp, and the runtime refuses the clamp";
  const auto view = object(0).view;
  ASSERT_TRUE(view);
  EXPECT_EQ(view->format, 0x16);
  EXPECT_EQ(view->width, 4u);
  EXPECT_EQ(view->last_level, 1u);
  EXPECT_EQ(view->first_layer, 2u);
  EXPECT_EQ(view->last_layer, 3u);
  textures.reset();

  sampling.flags = TextureSampling::kReadAsInteger;
  set.arrays[0].shape.levels = 2;
  set.objects[0].source = TextureObject::Source::mipmapped;
  make();
  const TextureDescription& with_levels = object(0).description;
  EXPECT_EQ(with_levels.read, kReadAsElements);
  EXPECT_EQ(with_levels.srgb, 0);
  EXPECT_EQ(with_levels.normalized_coordinates, 0);
  EXPECT_EQ(with_levels.level_filter, 1);
  EXPECT_EQ(with_levels.level_bias, 0.5f);
  EXPECT_EQ(with_levels.least_level, 1);
  EXPECT_EQ(with_levels.greatest_level, 10);
}

TEST_F(HipTexturesTest, HandlesThatWereNumbersBecomePointers) {
  make();
  EXPECT_EQ(state->objects, (std::set{&object(0), &object(1)}));
  EXPECT_FALSE(object(0).surface);
  EXPECT_TRUE(object(1).surface);
  EXPECT_EQ(object(0).resource.array, object(1).resource.array);
}

// A page of addresses that is free, or becomes that.
class Page {
 public:
  Page() : begin_(static_cast<std::byte*>(mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Page() { leave(); }
  void leave() {
    if (std::exchange(there_, false)) munmap(begin_, 8192);
  }
  uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(begin_) + offset; }

 private:
  std::byte* begin_;
  bool there_ = true;
};

TEST_F(HipTexturesTest, DescriptorsAreWhereTheRecordedHandlesPointTo) {
  Page page;
  page.leave();
  // One lies over the end of a page.
  set.objects[0].handle = page.at(4096 - 40);
  set.objects[1].handle = page.at(256);
  state->late_copies = true;
  make();
  EXPECT_EQ(textures->handles(), (std::vector{page.at(4096 - 40), page.at(256)}));
  const auto made = [&](bool surface) {
    return *std::ranges::find_if(state->objects, [&](const FakeObject* one) { return one->surface == surface; });
  };
  EXPECT_EQ(memcmp(&object(0), made(false), 80), 0);
  EXPECT_EQ(object(0).sampler.filter, 1u);
  EXPECT_EQ(memcmp(&object(1), made(true), 48), 0);
  EXPECT_EQ(state->pinned, pinned + 2) << "both pages are the device's too";

  // A kernel that takes the handle from wherever it is finds the surface.
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  auto module = *device->load({DeviceKind::hip, [] {
                                 ByteVector image(64);
                                 memcpy(image.data(), "\177ELF", 4);
                                 image[18] = std::byte{224};
                                 return image;
                               }()});
  Kernel* const add = module->kernel("add_texels").value();
  ASSERT_TRUE(stream->launch(*add, {}, std::as_bytes(std::span(&set.objects[1].handle, 1))).ok());
  ASSERT_TRUE(textures->copy_arrays(*stream).ok());
  EXPECT_EQ(copied(), std::vector<float>(8, 2));
}

TEST_F(HipTexturesTest, WhatIsHeldForDescriptorsIsLentToThem) {
  Page page;
  page.leave();
  const HeldAddresses held({{DevicePtr(page.at(0)), kHostPage}});
  set.objects[1].handle = page.at(64);
  make();
  EXPECT_EQ(textures->handles()[1], page.at(64));
  textures.reset();
  make();  // and again
}

TEST_F(HipTexturesTest, AnObjectThatIsWhereTheRecordedOneWasStaysThere) {
  Page page;
  page.leave();
  static FakeObject here;  // below the page, so that it is made first
  state->next_object = &here;
  set.objects[0].handle = reinterpret_cast<uint64_t>(&here);
  set.objects[1].handle = page.at(0);
  make();
  EXPECT_EQ(&object(0), &here);
  EXPECT_EQ(textures->handles()[1], page.at(0));
  EXPECT_EQ(state->pinned, pinned + 1);
  textures.reset();
}

TEST_F(HipTexturesTest, AreRefusedWhereSomethingElseIsInThePlaceOfDescriptors) {
  const Page page;
  set.objects[1].handle = page.at(64);
  const std::string text = refusal();
  EXPECT_THAT(text, HasSubstr("unavailable: mapping the page of a recorded texture's descriptors: "));
  EXPECT_THAT(text, HasSubstr(": try again, since the system places what a process has elsewhere each time"));
}

TEST_F(HipTexturesTest, ArraysAreFilledAndWhatSurfacesWriteIsCopiedBack) {
  arrays_are_filled_and_what_surfaces_write_is_copied_back();
}

TEST_F(HipTexturesTest, AnArrayThatNoSurfaceWritesIsFilledOnce) { an_array_that_no_surface_writes_is_filled_once(); }

TEST_F(HipTexturesTest, LevelsHaveTheirPlacesInTheCopy) {
  make_with_two_levels();
  EXPECT_EQ(object(0).resource.type, ResourceType::mipmapped);
  EXPECT_EQ(state->array_requests[0].levels, 2u);
  state->calls.clear();
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_THAT(state->calls, ElementsAre("hipMemcpy3DAsync", "hipMemcpy3DAsync")) << "levels are not asked for again";
  EXPECT_EQ(texels(1)[1], 129);
}

TEST_F(HipTexturesTest, LayersAreSlicesOfTheCopy) {
  set.arrays[0].shape = {2, 2, 3, {kFloat, 1}, ArrayShape::kLayered | ArrayShape::kSurface, 0};
  std::vector<float> all(12);
  std::iota(all.begin(), all.end(), 0.0f);
  set_texels(all);
  make();
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_EQ((std::vector<float>(texels(1), texels(1) + 12)), all);
  texels(1)[11] = 50;
  ASSERT_TRUE(textures->copy_arrays(*stream).ok());
  EXPECT_EQ(copied(12)[11], 50);
  EXPECT_EQ(copied(12)[10], 10);
}

TEST_F(HipTexturesTest, ReadMemoryWhereItLies) {
  make_of_memory();
  const LinearResource& linear = object(0).resource.linear;
  EXPECT_EQ(object(0).resource.type, ResourceType::linear);
  EXPECT_EQ(reinterpret_cast<uint64_t>(linear.pointer), copy.address);
  EXPECT_EQ(linear.channels.x, 32);
  EXPECT_EQ(linear.size, 32u);
  const PitchedResource& rows = object(1).resource.pitched;
  EXPECT_EQ(object(1).resource.type, ResourceType::pitched);
  EXPECT_EQ(reinterpret_cast<uint64_t>(rows.pointer), copy.address);
  EXPECT_EQ(rows.width, 3u);
  EXPECT_EQ(rows.height, 2u);
  EXPECT_EQ(rows.pitch, 16u);
}

TEST_F(HipTexturesTest, WhatTheRuntimeRefusesLeavesNothing) {
  EXPECT_EQ(refusal("hipMalloc3DArray"),
            "invalid_argument: hipMalloc3DArray(4 x 2 x 0 texels of format 0x20 with 1 channels, flags 0x2, 1 levels): "
            "hipErrorInvalidValue (words of the runtime)");
  EXPECT_EQ(refusal("hipCreateTextureObject"),
            "invalid_argument: hipCreateTextureObject, of the recorded 0x3: hipErrorInvalidValue (words of the runtime)");
  EXPECT_EQ(refusal("hipCreateSurfaceObject"),
            "invalid_argument: hipCreateSurfaceObject, of the recorded 0x4: hipErrorInvalidValue (words of the runtime)");
  Page page;
  page.leave();
  set.objects[0].handle = page.at(0);
  set.objects[1].handle = page.at(4096);
  EXPECT_THAT(refusal("hipHostRegister", 1),
              HasSubstr("invalid_argument: mapping the page of a recorded texture's descriptors: hipHostRegister(4.00 KiB at "));
  EXPECT_THAT(refusal("hipHostGetDevicePointer"), HasSubstr("hipHostGetDevicePointer("));
  EXPECT_EQ(
      refusal("hipMemcpyDtoHAsync"),
      "invalid_argument: hipMemcpyDtoHAsync(80 B, the descriptors of a texture): hipErrorInvalidValue (words of the runtime)");
  EXPECT_EQ(refusal("hipStreamSynchronize", 1),
            "invalid_argument: hipStreamSynchronize: hipErrorInvalidValue (words of the runtime)");
  set.arrays[0].shape.levels = 2;
  EXPECT_EQ(refusal("hipMallocMipmappedArray"),
            "invalid_argument: hipMallocMipmappedArray(4 x 2 x 0 texels of format 0x20 with 1 channels, flags 0x2, 2 levels): "
            "hipErrorInvalidValue (words of the runtime)");
  EXPECT_EQ(refusal("hipGetMipmappedArrayLevel", 1),
            "invalid_argument: hipGetMipmappedArrayLevel(1): hipErrorInvalidValue (words of the runtime)");
}

TEST_F(HipTexturesTest, ACopyThatFailsSaysWhichOne) {
  make();
  state->fail_function = "hipMemcpy3DAsync";
  state->fail_after = 1;
  state->fail_error = kInvalidValue;
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_EQ(textures->copy_arrays(*stream).to_string(),
            "invalid_argument: hipMemcpy3DAsync(32 B, from an array): hipErrorInvalidValue (words of the runtime)");
}

TEST_F(HipTexturesTest, AGpuWithoutImagesSaysSo) {
  state->attributes[Attribute::image_support] = 0;
  EXPECT_EQ(
      refusal(),
      "unsupported: Fake AMD GPU (gfx90a:sramecc+:xnack-) has no instructions for images, as its runtime says: launches with "
      "textures and surfaces are for GPUs that have them (gfx1030, gfx1100 and the like), and for the CPU device (--device "
      "cpu)");
  EXPECT_THAT(state->calls, ElementsAre("hipDeviceGetAttribute"));
}

// A runtime that does not know the attribute is asked for the objects themselves.
TEST_F(HipTexturesTest, ARuntimeThatDoesNotTellIsTried) {
  state->fail_function = "hipDeviceGetAttribute";
  state->fail_error = kInvalidValue;
  make();
}

}  // namespace
}  // namespace mneme::hip
