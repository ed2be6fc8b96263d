// Mneme's own kernels (memory_kernels.cu, element_kernels.cu) as they are compiled for AMD GPUs, with waves of 64 and of 32: run
// on the CPU device, they do what the same sources do on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "mneme/cpu/lower/testing/cpu_image_test.h"
#include "mneme/device/element_comparison.h"
#include "mneme/device/gpu/element_kernels_host.h"
#include "mneme/ir/module.h"

namespace mneme::cpu::amdgcn {
namespace {

namespace host = gpu::host;
using host::u64;
using host::u8;

constexpr unsigned kThreads = 256, kBlocks = 3;

class OwnKernels : public CpuImageTest, public testing::WithParamInterface<const char*> {
 protected:
  void load(const char* source, const std::string& kernel) {
    const std::string path = fmt::format("{}{}.{}.bc", MNEME_TEST_OWN_KERNELS, source, GetParam());
    std::ifstream file(path, std::ios::binary);
    const std::string bitcode{std::istreambuf_iterator<char>(file), {}};
    auto module = ir::Module::parse(std::as_bytes(std::span(bitcode)), path);
    ASSERT_OK(module.status());
    auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
    ASSERT_OK(compiler.status());
    CompileOptions options;
    options.kernels = {kernel};
    options.passes = "default<O1>";
    ASSERT_NO_FATAL_FAILURE(load_code((*compiler)->compile(*module, options)));
  }

  template <typename... Args>
  Status launch(const std::string& kernel, Args... args) {
    return run(kernel, {.grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}}, args...);
  }
};

std::vector<u8> random_bytes(size_t size, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::vector<u8> bytes(size);
  for (u8& byte : bytes) byte = static_cast<u8>(generator());
  return bytes;
}

TEST_P(OwnKernels, CompareCountsAndPlacesDifferences) {
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_compare"));
  for (size_t size : {size_t{1}, size_t{100}, size_t{20011}}) {
    for (unsigned shift : {0, 3}) {
      const std::vector<u8> a = random_bytes(size + 16);
      std::vector<u8> b = a;
      for (size_t at : {size - 1, size / 2, size / 3}) b[shift + at] ^= 0x10;
      u64 result[] = {0, ~0ull}, expected[] = {0, ~0ull};
      host::run(kBlocks, kThreads, [&] { host::mneme_compare(a.data() + shift, b.data() + shift, size, expected, nullptr); });
      ASSERT_OK(
          launch("mneme_compare", address(a.data() + shift), address(b.data() + shift), u64{size}, address(result), u64{0}));
      EXPECT_EQ(result[0], expected[0]) << size << " at " << shift;
      EXPECT_EQ(result[1], expected[1]) << size << " at " << shift;
    }
  }
}

TEST_P(OwnKernels, WhatWasFoundIsToldByTheLastBlock) {
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_compare"));
  const std::vector<u8> a = random_bytes(20000);
  u64 gathered[] = {0, ~0ull, 0};
  for (size_t differing : {3, 0, 1}) {
    std::vector<u8> b = a;
    for (size_t i = 0; i < differing; ++i) b[100 + 9000 * i] ^= 0x10;
    u64 told[] = {77, 77};
    ASSERT_OK(launch("mneme_compare", address(a.data()), address(b.data()), u64{a.size()}, address(gathered), address(told)));
    EXPECT_EQ(told[0], differing);
    EXPECT_EQ(told[1], differing == 0 ? ~0ull : 100);
    EXPECT_TRUE(gathered[0] == 0 && gathered[1] == ~0ull && gathered[2] == 0) << differing;
  }
}

TEST_P(OwnKernels, HashesAreTheHosts) {
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_hash_pages"));
  const std::vector<u8> bytes = random_bytes(40000);
  for (unsigned shift : {0, 5}) {
    const u64 page = 4096, size = bytes.size() - shift, pages = (size + page - 1) / page;
    std::vector<u64> hashes(pages, 1), expected(pages);
    host::run(kBlocks, kThreads, [&] {
      host::mneme_hash_pages(expected.data(), bytes.data() + shift, size, page, pages, 0, nullptr, nullptr, nullptr);
    });
    ASSERT_OK(launch("mneme_hash_pages", address(hashes.data()), address(bytes.data() + shift), size, page, pages, u64{0}, u64{0},
                     u64{0}, u64{0}));
    EXPECT_EQ(hashes, expected) << shift;
  }
}

TEST_P(OwnKernels, HashesAreComparedWithThoseThatAreExpected) {
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_hash_pages"));
  std::vector<u8> bytes = random_bytes(40000);
  const u64 page = 4096, size = bytes.size(), pages = (size + page - 1) / page;
  std::vector<u64> hashes(pages), expected(pages);
  host::run(kBlocks, kThreads,
            [&] { host::mneme_hash_pages(expected.data(), bytes.data(), size, page, pages, 0, nullptr, nullptr, nullptr); });
  u64 gathered[] = {0, ~0ull, 0}, result[] = {5, 5};
  const auto compare = [&] {
    ASSERT_OK(launch("mneme_hash_pages", address(hashes.data()), address(bytes.data()), size, page, pages, u64{0},
                     address(expected.data()), address(gathered), address(result)));
    EXPECT_TRUE(gathered[0] == 0 && gathered[1] == ~0ull && gathered[2] == 0) << "as before";
  };
  ASSERT_NO_FATAL_FAILURE(compare());
  EXPECT_EQ(result[0], 0u);
  EXPECT_EQ(result[1], ~0ull);
  for (const u64 at : {u64{0}, u64{9000}, u64{size - 1}}) {
    bytes[at] ^= 0x80;
    ASSERT_NO_FATAL_FAILURE(compare());
    EXPECT_GT(result[0], 0u) << at;
    EXPECT_LE(result[0], 8u) << at;
    EXPECT_EQ(result[1] / 8, at / page);
    bytes[at] ^= 0x80;
  }
}

TEST_P(OwnKernels, ListedCopiesAreDone) {
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_copy_listed"));
  const std::vector<u8> from = random_bytes(60000);
  std::vector<u8> to(from.size()), expected(from.size());
  const auto list_to = [&](std::vector<u8>& target) {
    std::vector<host::ListedCopy> list;
    for (size_t i = 0, at = 0; at + 5000 < from.size(); ++i, at += 5000)
      list.push_back({target.data() + at + i % 4, from.data() + at, 97 * i + (i % 3) * 1000});
    return list;
  };
  const auto list = list_to(to), wanted = list_to(expected);
  host::run(kBlocks, kThreads, [&] { host::mneme_copy_listed(wanted.data(), wanted.size()); });
  ASSERT_OK(launch("mneme_copy_listed", address(list.data()), u64{list.size()}));
  EXPECT_EQ(to, expected);
}

TEST_P(OwnKernels, PointersAreFound) {
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_find_pointers"));
  const host::AddressRange targets[] = {{0x10000, 8}, {0x7a0000000000, 0x1000}, {0x7b0000000000, 8}};
  std::vector<u64> words(4000);
  words[3999] = 0x7a0000000123;
  words[0] = 0x10008;  // behind the first
  const host::AddressRange pieces[] = {{address(words.data()), 1000 * 8}, {address(words.data() + 1000), 3000 * 8}};
  u8 marks[3] = {};
  ASSERT_OK(launch("mneme_find_pointers", address(marks), address(targets), u64{3}, address(pieces), u64{2}));
  EXPECT_EQ(marks[0], 0);
  EXPECT_EQ(marks[1], 1);
  EXPECT_EQ(marks[2], 0);
}

TEST_P(OwnKernels, ByteSetsAreTheHosts) {
  const size_t size = 5003;
  const std::vector<u8> written = random_bytes(size, 2), read = random_bytes(size, 3);
  std::vector<u8> set((size + 7) / 8), expected(set.size());
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_select_bytes"));
  host::run(kBlocks, kThreads, [&] { host::mneme_select_bytes(expected.data(), written.data(), read.data(), size); });
  ASSERT_OK(launch("mneme_select_bytes", address(set.data()), address(written.data()), address(read.data()), u64{size}));
  EXPECT_EQ(set, expected);
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_drop_wrong_bytes"));
  host::run(kBlocks, kThreads, [&] { host::mneme_drop_wrong_bytes(expected.data(), written.data(), read.data(), size); });
  ASSERT_OK(launch("mneme_drop_wrong_bytes", address(set.data()), address(written.data()), address(read.data()), u64{size}));
  EXPECT_EQ(set, expected);
  std::ranges::fill(set, u8{0x5a});
  std::vector<u8> to = written, wanted = written;
  ASSERT_NO_FATAL_FAILURE(load("memory", "mneme_complement_bytes"));
  host::run(kBlocks, kThreads, [&] { host::mneme_complement_bytes(set.data(), wanted.data(), read.data(), size); });
  ASSERT_OK(launch("mneme_complement_bytes", address(set.data()), address(to.data()), address(read.data()), u64{size}));
  EXPECT_EQ(to, wanted);
}

TEST_P(OwnKernels, ElementsAreComparedAsOnTheHost) {
  std::mt19937_64 random(3);
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::i8, ElementType::complex128}) {
    const std::string kernel = fmt::format("mneme_elements_{}", to_string(type));
    ASSERT_NO_FATAL_FAILURE(load("elements", kernel));
    const u64 elements = 3001, bytes = elements * size_of(type).count;
    alignas(16) static u8 recorded[64 << 10], actual[64 << 10];
    for (u8& byte : recorded) byte = static_cast<u8>(random());
    std::copy_n(recorded, bytes, actual);
    for (int change = 0; change < 5; ++change) actual[random() % bytes] ^= 1;
    for (const Norm norm : {Norm::none, Norm::l2}) {
      const element::Measure measure = measure_of({type, 1e-3, ErrorKind::relative, norm, NanPolicy::none});
      std::vector<element::Tally> tallies(kBlocks);
      ASSERT_OK(launch(kernel, address(actual), address(recorded), elements, measure, address(tallies.data())));
      element::Tally total;
      for (const element::Tally& tally : tallies) element::merge(total, tally, measure.sum);
      const element::Tally expected = tally_host_elements(type, std::as_bytes(std::span(actual, bytes)),
                                                          std::as_bytes(std::span(recorded, bytes)), 0, measure);
      EXPECT_EQ(total.failing, expected.failing) << kernel;
      EXPECT_EQ(total.first_failing, expected.first_failing) << kernel;
      EXPECT_EQ(total.worst, expected.worst) << kernel;
      EXPECT_EQ(total.worst_at, expected.worst_at) << kernel;
      if (std::isfinite(expected.differences)) EXPECT_NEAR(total.differences, expected.differences, 1e-12 * expected.differences);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, OwnKernels, testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

}  // namespace
}  // namespace mneme::cpu::amdgcn
