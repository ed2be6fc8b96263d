#include "mneme/runtime/registry.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "mneme/runtime/attach.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme {
namespace {

using testing::make_device_elf;
using testing::make_fat_binary;
using testing::TestSegment;

struct Program {
  ByteVector fat = make_fat_binary({{2, 90, make_device_elf({TestSegment().build()})}});
  testing::TestWrapper wrapper{.fat_binary = fat.data()};
  void* handle_target = nullptr;
  void** handle = &handle_target;
  char kernel_stub = 0, other_stub = 0, variable = 0;
};

TEST(Registry, FindsKernelsAndVariablesUntilUnregistered) {
  Program program;
  Registry registry;
  auto image = registry.add_image(program.handle, 3, &program.wrapper);
  registry.add_function(program.handle, &program.kernel_stub, "kernel");
  registry.add_function(program.handle, &program.other_stub, "other");
  registry.add_variable(program.handle, {&program.variable, "state", 8, false, false});

  auto kernel = registry.find_kernel(&program.kernel_stub);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->image, image);
  EXPECT_EQ(image->table(), 3u);
  EXPECT_EQ((*kernel->segment())->name, "kernel");
  EXPECT_EQ(
      registry.find_kernel(&program.other_stub)->segment().status().to_string(),
      "not_found: kernel other: no IR of it in its device image: compile the file that defines it with `mneme config cxxflags`");
  EXPECT_EQ(registry.find_kernel(&program), nullptr);
  EXPECT_EQ(registry.find_variable(&program.variable)->variable.name, "state");
  const auto* begin = reinterpret_cast<const char*>(&program.variable);
  EXPECT_EQ(registry.find_variable_around(begin)->variable.name, "state");
  EXPECT_EQ(registry.find_variable_around(begin + 7)->variable.name, "state");
  EXPECT_EQ(registry.find_variable_around(begin + 8), nullptr) << "behind its last byte";
  EXPECT_EQ(registry.find_variable_around(begin - 1), nullptr);
  EXPECT_EQ(image->functions().size(), 2u);
  EXPECT_EQ(image->device_elf()->sm, 90u);

  EXPECT_EQ(registry.remove_image(program.handle), image);
  EXPECT_EQ(registry.remove_image(program.handle), nullptr);
  EXPECT_EQ(registry.find_kernel(&program.kernel_stub), nullptr);
  EXPECT_EQ(registry.find_variable(&program.variable), nullptr);
  EXPECT_TRUE(kernel->segment().ok());
}

TEST(Registry, AKernelOfTwoImagesIsTheFirstOnes) {
  Program first, second;
  Registry registry;
  auto image = registry.add_image(first.handle, 0, &first.wrapper);
  registry.add_image(second.handle, 0, &second.wrapper);
  for (void** handle : {first.handle, second.handle}) registry.add_function(handle, &first.kernel_stub, "kernel");
  EXPECT_EQ(registry.find_kernel(&first.kernel_stub)->image, image);
  registry.remove_image(first.handle);
  EXPECT_NE(registry.find_kernel(&first.kernel_stub)->image, image);
}

TEST(Registry, AVariableOfTwoImagesIsThatOfTheOneThatStays) {
  for (bool first_goes : {true, false}) {
    Program first, second;
    Registry registry;
    auto one = registry.add_image(first.handle, 0, &first.wrapper), two = registry.add_image(second.handle, 0, &second.wrapper);
    for (void** handle : {first.handle, second.handle}) {
      registry.add_function(handle, &first.kernel_stub, "kernel");
      registry.add_variable(handle, {&first.variable, "state", 8, false, false});
    }
    EXPECT_EQ(registry.find_variable(&first.variable)->image, one);
    registry.remove_image(first_goes ? first.handle : second.handle);
    EXPECT_EQ(registry.find_variable(&first.variable)->image, first_goes ? two : one);
    EXPECT_EQ(registry.find_kernel(&first.kernel_stub)->image, first_goes ? two : one);
    EXPECT_EQ(registry.images(), std::vector<std::shared_ptr<const RegisteredImage>>{first_goes ? two : one});
    registry.remove_image(first_goes ? second.handle : first.handle);
    EXPECT_EQ(registry.find_variable(&first.variable), nullptr);
    EXPECT_EQ(registry.find_variable_around(&first.variable), nullptr);
    auto again = registry.add_image(first.handle, 0, &first.wrapper);
    registry.add_variable(first.handle, {&first.variable, "state", 8, false, false});
    EXPECT_EQ(registry.find_variable(&first.variable)->image, again);
  }
}

TEST(Registry, NoManagedVariableIsAroundAnAddress) {
  Program program;
  Registry registry;
  registry.add_image(program.handle, 0, &program.wrapper);
  char memory[24] = {};
  registry.add_variable(program.handle, {memory, "managed", 8, false, true});
  registry.add_variable(program.handle, {memory + 8, "state", 8, false, false});
  registry.add_variable(program.handle, {memory + 16, "behind", 8, false, false});
  EXPECT_EQ(registry.find_variable_around(memory + 7), nullptr);
  EXPECT_EQ(registry.find_variable_around(memory + 15)->variable.name, "state");
  EXPECT_EQ(registry.find_variable_around(memory + 16)->variable.name, "behind");
}

TEST(Registry, ArchitectureChoosesTheImageUntilItIsRead) {
  TestSegment older, newer;
  older.parameter_bytes = 8;
  newer.parameter_bytes = 16;
  Program program;
  program.fat = make_fat_binary({{2, 90, make_device_elf({older.build()})}, {2, 100, make_device_elf({newer.build()})}});
  program.wrapper.fat_binary = program.fat.data();
  Registry registry;
  auto image = registry.add_image(program.handle, 0, &program.wrapper);
  registry.set_architecture("sm_90");
  EXPECT_EQ((*image->segments())->segments[0].parameter_bytes, 8u);
  registry.set_architecture("sm_100");
  EXPECT_EQ((*image->segments())->segments[0].parameter_bytes, 8u);
}

TEST(Registry, ArchitectureHoldsForImagesThatComeLater) {
  TestSegment older, newer;
  older.parameter_bytes = 8;
  newer.parameter_bytes = 16;
  Program program;
  program.fat = make_fat_binary({{2, 90, make_device_elf({older.build()})}, {2, 100, make_device_elf({newer.build()})}});
  program.wrapper.fat_binary = program.fat.data();
  Registry registry;
  registry.set_architecture("sm_90");
  auto image = registry.add_image(program.handle, 0, &program.wrapper);
  EXPECT_EQ((*image->segments())->segments[0].parameter_bytes, 8u);
}

TEST(Registry, ImagesAreInTheOrderOfRegistration) {
  Program program;
  Registry registry;
  void* targets[4] = {};
  std::vector<std::shared_ptr<const RegisteredImage>> expected;
  for (int i : {2, 0, 3, 1}) expected.push_back(registry.add_image(&targets[i], 0, &program.wrapper));
  EXPECT_EQ(registry.images(), expected);
}

// Compiling it again would not help.
TEST(Registry, SaysThatAKernelsSegmentIsDamaged) {
  Program program;
  ByteVector damaged = TestSegment().build();
  damaged.back() ^= std::byte{1};
  program.fat = make_fat_binary({{2, 90, make_device_elf({damaged})}});
  program.wrapper.fat_binary = program.fat.data();
  Registry registry;
  registry.add_image(program.handle, 0, &program.wrapper);
  registry.add_function(program.handle, &program.kernel_stub, "kernel");
  EXPECT_EQ(registry.find_kernel(&program.kernel_stub)->segment().status().code(), Code::corrupt);
}

TEST(Registry, SaysHowToBuildAProgramWithoutSegments) {
  Program program;
  program.fat = make_fat_binary({{2, 90, make_device_elf({})}});
  program.wrapper.fat_binary = program.fat.data();
  Registry registry;
  registry.add_image(program.handle, 0, &program.wrapper);
  registry.add_function(program.handle, &program.kernel_stub, "kernel");
  EXPECT_EQ(registry.find_kernel(&program.kernel_stub)->segment().status().to_string(),
            "not_found: kernel kernel: its device image holds no recorded IR: compile the file that defines it with `mneme "
            "config cxxflags`");
}

TEST(Registry, ManyThreadsReadOneImageOnce) {
  Program program;
  Registry registry;
  registry.add_image(program.handle, 0, &program.wrapper);
  registry.add_function(program.handle, &program.kernel_stub, "kernel");
  std::vector<std::thread> threads;
  std::atomic<int> found = 0;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { found += registry.find_kernel(&program.kernel_stub)->segment().ok(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 8);
}

TEST(AcceptTable, NumbersTablesOnceAndRefusesOtherBuilds) {
  mneme_call_table table{};
  table.object = "app";
  table.abi_version = MNEME_ABI_VERSION;
  table.call_count = MNEME_CALL_COUNT;
  table.calls_digest = MNEME_CUDA_CALLS_DIGEST;
  table.index = MNEME_TABLE_UNNUMBERED;
  ASSERT_TRUE(accept_table(table).ok());
  uint32_t index = table.index;
  EXPECT_LT(index, uint32_t{MNEME_MAX_TABLES});
  ASSERT_TRUE(accept_table(table).ok());
  EXPECT_EQ(table.index, index);
  mneme_call_table other = table;
  other.abi_version = 99;
  EXPECT_EQ(
      accept_table(other).to_string(),
      "incompatible: app was linked by a Mneme with ABI version 99, this one has 3: link it again with `mneme config ldflags`");
  other = table;
  other.calls_digest = 1;
  EXPECT_EQ(accept_table(other).code(), Code::incompatible);
}

// In a process of its own, which has none of the numbers left.
TEST(AcceptTableDeathTest, HasAsManyNumbersAsThereMayBeTables) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::set<uint32_t> numbers;
        for (uint32_t i = 0; i <= MNEME_MAX_TABLES; ++i) {
          mneme_call_table table{};
          table.object = "app";
          table.abi_version = MNEME_ABI_VERSION;
          table.call_count = MNEME_CALL_COUNT;
          table.calls_digest = MNEME_CUDA_CALLS_DIGEST;
          table.index = MNEME_TABLE_UNNUMBERED;
          const Status status = accept_table(table);
          if (status.ok()) numbers.insert(table.index);
          if (i == MNEME_MAX_TABLES) std::fprintf(stderr, "%s\n", status.to_string().c_str());
        }
        std::exit(numbers.size() == MNEME_MAX_TABLES && *numbers.rbegin() == MNEME_MAX_TABLES - 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "exhausted: app is one recordable object too many in this process: at most 32 are possible");
}

}  // namespace
}  // namespace mneme
