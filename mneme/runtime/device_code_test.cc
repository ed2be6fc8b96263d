// What is found in the code that programs load.
#include "mneme/runtime/device_code.h"

#include <gtest/gtest.h>

#include "mneme/runtime/testing/device_image.h"

namespace mneme {
namespace {

constexpr std::string_view kPtx = R"(
// .global .u32 in_a_comment;
.version 8.0
.target sm_75, debug
.address_size 64
.extern .func (.param .b64 func_retval0) malloc (.param .b64 malloc_param_0);
/* .const .u32 neither; */
.visible .const .align 4 .b8 table[64];
.visible .global .align 8 .f64 bias[10][10];
.global .align 1 .b8 $str[6] = {104, 101, 108, 108, 111};
.visible .global .u32 counter = 5;
.extern .shared .align 16 .b8 scratch[];
.visible .entry plain(.param .u64 .ptr .global .align 4 words, .param .u32 count) .maxntid 256, 1, 1
{
  .reg .b32 %r<8>;
  .global .u32 inside;
  ret;
}
.visible .entry heap(.param .u64 out)
{
  call.uni (retval0), malloc, (param0);
  ret;
}
)";

TEST(ReadPtx, FindsTheVariablesOfTheModule) {
  const PtxModule module = read_ptx(kPtx, "plain");
  ASSERT_EQ(module.variables.size(), 4u);
  EXPECT_EQ(module.variables[0].name, "$str");
  EXPECT_EQ(module.variables[1].name, "bias");
  EXPECT_EQ(module.variables[1].size, 800u);
  EXPECT_EQ(module.variables[1].alignment, 8u);
  EXPECT_FALSE(module.variables[1].constant_space);
  EXPECT_EQ(module.variables[2].name, "counter");
  EXPECT_EQ(module.variables[2].size, 4u);
  EXPECT_EQ(module.variables[3].name, "table");
  EXPECT_TRUE(module.variables[3].constant_space);
}

TEST(ReadPtx, FindsEachVariableOfADeclaration) {
  const char* const text =
      ".global .align 4 .u32 first, second[3] = {1, {2, 3}}, third = 7;\n"
      ".const .attribute(.unified(1, 2)) .f64 alone;\n"
      ".global .u64 last;";
  const PtxModule module = read_ptx(text, "none");
  ASSERT_EQ(module.variables.size(), 5u);
  const auto is = [&](size_t i, const char* name, uint64_t size, bool constant) {
    EXPECT_EQ(module.variables[i].name, name);
    EXPECT_EQ(module.variables[i].size, size) << name;
    EXPECT_EQ(module.variables[i].constant_space, constant) << name;
  };
  is(0, "alone", 8, true);
  is(1, "first", 4, false);
  is(2, "last", 8, false);
  is(3, "second", 12, false);
  is(4, "third", 4, false);
}

TEST(ReadPtx, SaysWhoseCodeAllocates) {
  EXPECT_FALSE(read_ptx(kPtx, "plain").allocates);
  EXPECT_TRUE(read_ptx(kPtx, "heap").allocates);
  // Any function may be called by any kernel.
  const std::string with_function = std::string(kPtx) + ".func helper() { call malloc; ret; }";
  EXPECT_TRUE(read_ptx(with_function, "plain").allocates);
  EXPECT_TRUE(read_ptx(".entry k() { call.uni free, (p); ret; }", "k").allocates);
}

TEST(ReadPtx, SaysWhoseCodeLaunches) {
  const std::string text =
      ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 a, .param .b64 b);"
      ".entry parent() { call.uni (r), __cudaCDP2LaunchDeviceV2, (a, b); ret; } .entry child() { ret; }";
  EXPECT_TRUE(read_ptx(text, "parent").launches);
  EXPECT_FALSE(read_ptx(text, "child").launches);
}

TEST(ReadPtx, SaysWhoseCodeUsesTexturesOrSurfaces) {
  const std::string text =
      ".entry reads() { tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}]; ret; }"
      ".entry writes() { sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r3}; ret; } .entry neither() { .reg .b32 %tex; ret; }";
  EXPECT_TRUE(read_ptx(text, "reads").uses_textures);
  EXPECT_TRUE(read_ptx(text, "writes").uses_textures);
  EXPECT_FALSE(read_ptx(text, "neither").uses_textures);
  EXPECT_TRUE(read_ptx(text + ".func helper() { @%p1 suld.b.1d.b32.clamp {%r1}, [%rd1, {%r2}]; ret; }", "neither").uses_textures);
}

TEST(ReadPtx, TellsManagedVariables) {
  const PtxModule module =
      read_ptx(".visible .global .attribute(.managed) .align 4 .u32 shared_by_both; .global .u32 usual;", "k");
  ASSERT_EQ(module.variables.size(), 2u);
  EXPECT_TRUE(module.variables[0].managed);
  EXPECT_FALSE(module.variables[1].managed);
}

TEST(ReadPtx, TakesWhatIsCutOff) {
  for (size_t size = 0; size < kPtx.size(); ++size) (void)read_ptx(kPtx.substr(0, size), "heap");
}

TEST(DeviceCode, PtxIsTextWithoutItsTerminator) {
  ByteVector image(kPtx.size() + 1);
  std::memcpy(image.data(), kPtx.data(), kPtx.size());
  const auto bytes = image_at(image.data());
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->size(), kPtx.size());
  const auto code = read_device_code(image, 90, "x");
  ASSERT_TRUE(code.ok());
  EXPECT_TRUE(code->cubin.empty());
  EXPECT_EQ(code->ptx.size(), kPtx.size());
  EXPECT_EQ(code->sm, 75u);
}

TEST(DeviceCode, WhatIsNoImageIsRefused) {
  const char nothing[16] = {1, 2, 3, 4};
  EXPECT_EQ(image_at(nothing).status().to_string(),
            "unsupported: an image that begins with 0x04030201 is no cubin, no fat binary and no PTX");
  const std::string text = "hello";
  EXPECT_EQ(read_device_code(std::as_bytes(std::span(text)), 90, "x").status().to_string(),
            "unsupported: x: no cubin, no fat binary and no PTX that names its .target");
}

TEST(DeviceCode, TheFatBinaryThatAWrapperPointsToIsTheImage) {
  const ByteVector elf = testing::make_device_elf({});
  const ByteVector fat = testing::make_fat_binary({{2, 90, elf}, {2, 80, elf}});
  testing::TestWrapper wrapper;
  wrapper.fat_binary = fat.data();
  const auto bytes = image_at(&wrapper);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->data(), fat.data());
  EXPECT_EQ(bytes->size(), fat.size());
  EXPECT_EQ(image_at(fat.data())->size(), fat.size());
}

TEST(DeviceCode, TakesTheCubinThatTheDriverWouldAndThePtx) {
  const ByteVector elf = testing::make_device_elf({});
  const std::string old_text = ".target sm_70", new_text = ".target sm_100";
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return ByteVector(bytes.begin(), bytes.end());
  };
  const ByteVector fat =
      testing::make_fat_binary({{1, 70, bytes_of(old_text)}, {1, 100, bytes_of(new_text)}, {2, 90, elf}, {2, 80, elf}});
  const auto code = read_device_code(fat, 90, "x");
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_EQ(code->sm, 90u);
  EXPECT_EQ(code->cubin.size() >= elf.size(), true);
  EXPECT_EQ(code->ptx, bytes_of(old_text));
  const auto none = read_device_code(testing::make_fat_binary({{2, 80, elf}}), 90, "x");
  EXPECT_EQ(none.status().to_string(), "unsupported: x: no device code that sm_90 runs (it holds code for sm_80)");
  // Every cut is told, and none is read beyond.
  for (size_t size = 0; size < fat.size(); ++size) (void)read_device_code(ByteSpan(fat).first(size), 90, "x");
}

TEST(DeviceCode, OfTheCodeForOneArchitectureTheMostSpecificIsTaken) {
  constexpr uint64_t kUsual = 0x11, kOwn = 0x100011, kFamily = 0x200011;  // sm_100, sm_100a, sm_100f
  const auto elf = [](int number) { return testing::make_device_elf({}, {{"v", {number}}}); };
  const auto text = [](int number) { return testing::bytes_of(".target sm_100 // " + std::to_string(number)); };
  const ByteVector fat = testing::make_fat_binary({{2, 100, elf(0), kUsual},
                                                   {2, 100, elf(1), kOwn},
                                                   {2, 100, elf(2), kFamily},
                                                   {1, 100, text(0), kUsual},
                                                   {1, 100, text(1), kOwn},
                                                   {1, 100, text(2), kFamily}});
  for (const auto& [sm, cubin, ptx] : {std::tuple(100u, 1, 1), std::tuple(103u, 2, 2), std::tuple(0u, 1, 1)}) {
    const auto code = read_device_code(fat, sm, "x");
    ASSERT_TRUE(code.ok()) << code.status().to_string();
    EXPECT_EQ(ByteVector(code->cubin.begin(), code->cubin.begin() + static_cast<long>(elf(0).size())), elf(cubin)) << sm;
    EXPECT_EQ(code->ptx, text(ptx)) << sm;
    const auto found = find_device_elf(fat, sm, "x");
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(ByteVector(found->bytes.begin(), found->bytes.begin() + static_cast<long>(elf(0).size())), elf(cubin)) << sm;
  }
  // Another major version runs neither code nor what was written for one device or family.
  const auto later = read_device_code(fat, 120, "x");
  ASSERT_TRUE(later.ok());
  EXPECT_TRUE(later->cubin.empty());
  EXPECT_EQ(later->ptx, text(0));
  const ByteVector narrow = testing::make_fat_binary({{2, 90, elf(0), kOwn}, {1, 100, text(0), kFamily}});
  EXPECT_EQ(read_device_code(narrow, 103, "x")->ptx, text(0));
  EXPECT_EQ(read_device_code(narrow, 80, "x").status().to_string(),
            "unsupported: x: no device code that sm_80 runs (it holds code for sm_90a, PTX for sm_100f)");
}

TEST(DeviceCode, DamagedSizesOfCompressedEntriesAreTold) {
  ByteVector fat = testing::make_fat_binary({{2, 90, testing::make_device_elf({})}});
  const uint64_t zstd = 0x8000, some = 64, huge = uint64_t{1} << 60;
  std::memcpy(fat.data() + 16 + 40, &zstd, sizeof zstd);  // flags
  std::memcpy(fat.data() + 16 + 56, &some, sizeof some);  // the size when decompressed
  EXPECT_EQ(read_device_code(fat, 90, "x").status().code(), Code::corrupt);
  std::memcpy(fat.data() + 16 + 56, &huge, sizeof huge);
  EXPECT_EQ(read_device_code(fat, 90, "x").status().code(), Code::corrupt);
}

}  // namespace
}  // namespace mneme
