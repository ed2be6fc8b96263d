#include "mneme/runtime/code_bundle.h"

#include <gtest/gtest.h>

#include <fstream>

#include "mneme/runtime/registry.h"
#include "mneme/runtime/segments.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme {
namespace {

using testing::bytes_of;
using testing::make_bundle;
using testing::make_code_object;
using testing::TestSegment;

const std::string kHost = "host-x86_64-unknown-linux-gnu-";
std::string gfx(const std::string& target) { return "hipv4-amdgcn-amd-amdhsa--" + target; }

ByteVector read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return bytes_of(text);
}

std::string text_of(const Result<DeviceElf>& found) {
  return found.ok() ? std::string(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size())
                    : found.status().message();
}

TEST(CodeBundle, GivesTheCodeObjectThatADeviceRuns) {
  const ByteVector bundle = make_bundle({{kHost, {}},
                                         {gfx("gfx90a"), bytes_of("plain")},
                                         {gfx("gfx90a:xnack+"), bytes_of("with xnack")},
                                         {"hip-amdgcn-amd-amdhsa--gfx1100", bytes_of("eleven")}});
  EXPECT_EQ(text_of(find_code_object(bundle, "gfx1100", "b")), "eleven");
  EXPECT_EQ(text_of(find_code_object(bundle, "gfx90a:sramecc+:xnack-", "b")), "plain");
  EXPECT_EQ(text_of(find_code_object(bundle, "gfx90a:sramecc+:xnack+", "b")), "with xnack");
  EXPECT_EQ(find_code_object(bundle, "gfx90a:xnack+", "b")->architecture, "gfx90a:xnack+");
  EXPECT_EQ(text_of(find_code_object(bundle, "", "b")), "plain");
  EXPECT_EQ(text_of(find_code_object(bundle, "x86-64-v3", "b")), "plain");
  EXPECT_EQ(
      text_of(find_code_object(bundle, "gfx942", "b")),
      "b: no device code that gfx942 runs (it holds code for gfx90a, code for gfx90a:xnack+, code for gfx1100): compile with "
      "--offload-arch");
}

TEST(CodeBundle, WithoutCodeObjectsSaysSo) {
  EXPECT_EQ(text_of(find_code_object(make_bundle({{kHost, {}}}), "", "b")),
            "b: no device code (it holds nothing): compile with --offload-arch");
}

TEST(CodeBundle, EveryCutIsAnError) {
  const ByteVector bundle = make_bundle({{kHost, {}}, {gfx("gfx90a"), bytes_of("code")}});
  ASSERT_TRUE(find_code_object(bundle, "gfx90a", "b").ok());
  for (size_t size = 0; size < bundle.size(); ++size) {
    const Result<DeviceElf> found = find_code_object(ByteSpan(bundle).first(size), "gfx90a", "b");
    ASSERT_FALSE(found.ok()) << size;
    EXPECT_EQ(found.status().code(), Code::corrupt) << size;
  }
  EXPECT_EQ(text_of(find_code_object(bytes_of("something else"), "", "b")),
            "b: bundle offset 0: no bundle of code objects starts here (wrong magic)");
  EXPECT_EQ(text_of(find_code_object(ByteSpan(bundle).first(bundle.size() - 1), "", "b")),
            "b: bundle offset 141: the code object for gfx90a reaches beyond its end");
}

TEST(CodeBundle, DamagedNumbersAreErrors) {
  ByteVector bundle = make_bundle({{gfx("gfx90a"), bytes_of("code")}});
  const auto damaged = [&](size_t at, uint64_t value) {
    ByteVector copy = bundle;
    std::memcpy(copy.data() + at, &value, sizeof value);
    return text_of(find_code_object(copy, "", "b"));
  };
  EXPECT_EQ(damaged(24, ~0ull), "b: bundle offset 24: 18446744073709551615 entries are too many");
  EXPECT_EQ(damaged(24, 2), "b: bundle offset 87: it ends within its table");
  EXPECT_EQ(damaged(48, ~0ull), "b: bundle offset 32: an entry's name is damaged");
  EXPECT_EQ(damaged(32, ~0ull), "b: bundle offset 18446744073709551615: the code object for gfx90a reaches beyond its end");
  EXPECT_EQ(damaged(40, ~0ull), "b: bundle offset 87: the code object for gfx90a reaches beyond its end");
}

class CompiledBundle : public ::testing::TestWithParam<const char*> {};

// What clang makes of testing/kernels.hip: plain, and compressed by zstd and by zlib.
TEST_P(CompiledBundle, HasTheSegmentsOfEachArchitecture) {
  const ByteVector bundle = read_file(GetParam());
  for (const std::string architecture : {"gfx90a", "gfx942", "gfx1100"}) {
    const auto elf = find_code_object(bundle, architecture, "bundle");
    ASSERT_TRUE(elf.ok()) << elf.status().message();
    EXPECT_EQ(elf->architecture, architecture);
    const auto table = read_segments(elf->bytes, "bundle");
    ASSERT_TRUE(table.ok()) << table.status().message();
    EXPECT_TRUE(table->damaged.empty());
    ASSERT_EQ(table->segments.size(), 2u);
    const auto segment = table->find("_Z3addPi4Pairi");
    ASSERT_TRUE(segment.ok()) << segment.status().message();
    EXPECT_EQ((*segment)->target, MNEME_TARGET_AMDGCN);
    EXPECT_EQ((*segment)->arch, architecture);
    ASSERT_EQ((*segment)->parameters.size(), 3u);
    EXPECT_EQ((*segment)->parameters[1].kind, MNEME_PARAM_AGGREGATE);
    EXPECT_EQ((*segment)->parameters[1].name, "pair");
    EXPECT_EQ((*segment)->parameter_bytes, 28u);
    ASSERT_EQ((*segment)->globals.size(), 1u);
    EXPECT_EQ((*segment)->globals[0].name, "counter");
    const auto bitcode = segment_bitcode(**segment);
    ASSERT_TRUE(bitcode.ok()) << bitcode.status().message();
    EXPECT_EQ(std::memcmp(bitcode->data(), "BC\xC0\xDE", 4), 0);
    const ByteSpan initial = find_initial_value(elf->bytes, "counter");
    ASSERT_EQ(initial.size(), 4u);
    EXPECT_EQ(initial[0], std::byte{5});
  }
}

TEST_P(CompiledBundle, IsFoundByItsWrapper) {
  ByteVector bundle = read_file(GetParam());
  const size_t size = bundle.size();
  bundle.resize(size + 4096);  // what stands behind it in a program
  const testing::TestBundleWrapper wrapper{.bundle = bundle.data()};
  const auto found = bundle_of_wrapper(&wrapper);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->size(), size);

  Registry registry;
  int key = 0;
  void** handle = reinterpret_cast<void**>(&key);
  registry.set_architecture("gfx1100");
  const auto image = registry.add_image(handle, 0, &wrapper);
  registry.add_function(handle, &key, "_Z5clearPi");
  const auto segment = registry.find_kernel(&key)->segment();
  ASSERT_TRUE(segment.ok()) << segment.status().message();
  EXPECT_EQ((*segment)->arch, "gfx1100");
  EXPECT_EQ(image->device_elf()->architecture, "gfx1100");
}

TEST_P(CompiledBundle, EveryDamagedByteIsAnErrorOrHarmless) {
  const ByteVector bundle = read_file(GetParam());
  for (size_t at = 0; at < bundle.size(); at += at < 512 ? 1 : 997) {
    ByteVector copy = bundle;
    copy[at] ^= std::byte{0x55};
    const auto elf = find_code_object(copy, "gfx90a", "bundle");
    if (elf.ok()) (void)read_segments(elf->bytes, "bundle");
  }
}

std::string compression_of(const ::testing::TestParamInfo<const char*>& instance) {
  constexpr const char* kNames[] = {"Plain", "Zstd", "Zlib"};
  return kNames[instance.index];
}
INSTANTIATE_TEST_SUITE_P(Each, CompiledBundle,
                         ::testing::Values(MNEME_TEST_BUNDLE, MNEME_TEST_BUNDLE_ZSTD, MNEME_TEST_BUNDLE_ZLIB), compression_of);

TEST(CodeBundle, CompressedOnesAreChecked) {
  const ByteVector bundle = read_file(MNEME_TEST_BUNDLE_ZSTD);
  const auto damaged = [&](size_t at, auto value) {
    ByteVector copy = bundle;
    std::memcpy(copy.data() + at, &value, sizeof value);
    return text_of(find_code_object(copy, "gfx90a", "b"));
  };
  EXPECT_EQ(damaged(4, uint16_t{1}),
            "b: its code objects were compressed by a clang before 19: compile again, or without --offload-compress");
  EXPECT_EQ(damaged(4, uint16_t{9}), "b: a compressed bundle of version 9, which is not known");
  EXPECT_EQ(damaged(6, uint16_t{7}), "b: its code objects are compressed by method 7, which is not known");
  EXPECT_EQ(damaged(6, uint16_t{0}), "b: decompressing its code objects: the zlib data is damaged");
  EXPECT_EQ(damaged(8, uint64_t{31}), "b: bundle offset 8: its size is damaged");
  EXPECT_EQ(damaged(8, uint64_t{1} << 40), "b: bundle offset 8: it reaches beyond its end");
  EXPECT_EQ(damaged(16, uint64_t{1} << 50),
            fmt::format("b: a bundle of {} bytes cannot hold 1125899906842624", bundle.size() - 32));
  EXPECT_EQ(text_of(find_code_object(bytes_of("CCOB"), "", "b")), "b: bundle offset 4: it ends within its header");
}

TEST(CodeBundle, AnotherWrapperIsAnError) {
  const testing::TestBundleWrapper wrapper{.magic = 7};
  EXPECT_EQ(bundle_of_wrapper(&wrapper).status().message(),
            "a bundle was registered whose wrapper has magic 0x7, 0x48495046 expected");
}

// Behind a damaged segment the next one is found.
TEST(CodeObject, ADamagedSegmentDoesNotHideTheOthers) {
  ByteVector broken = TestSegment{.name = "broken"}.build();
  broken[sizeof(mneme_segment_header) + 3] ^= std::byte{1};
  const ByteVector elf = make_code_object({TestSegment{.name = "first"}.build(), broken, TestSegment{.name = "last"}.build()});
  const auto table = read_segments(elf, "image");
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table->segments.size(), 2u);
  EXPECT_EQ(table->segments[0].name, "first");
  EXPECT_EQ(table->segments[1].name, "last");
  ASSERT_EQ(table->damaged.size(), 1u);
  EXPECT_TRUE(table->damaged[0].message().starts_with("image: segment offset 24: the checksum is "))
      << table->damaged[0].message();
}

TEST(CodeObject, OfAnotherMachineIsRefused) {
  ByteVector elf = make_code_object({});
  const uint16_t x86 = 62;
  std::memcpy(elf.data() + 18, &x86, sizeof x86);
  EXPECT_EQ(read_segments(elf, "image").status().message(),
            "image: a device ELF for machine 62, 190 (CUDA) or 224 (AMD GPU) expected");
}

TEST(CodeObject, WithoutSegmentsNamesTheOptionsOfHip) {
  const ByteVector bundle = make_bundle({{gfx("gfx90a"), make_code_object({})}});
  const testing::TestBundleWrapper wrapper{.bundle = bundle.data()};
  Registry registry;
  int key = 0;
  void** handle = reinterpret_cast<void**>(&key);
  registry.add_image(handle, 0, &wrapper);
  registry.add_function(handle, &key, "k");
  EXPECT_EQ(
      registry.find_kernel(&key)->segment().status().message(),
      "kernel k: its device image holds no recorded IR: compile the file that defines it with `mneme config --hip cxxflags`");
}

}  // namespace
}  // namespace mneme
