// The options that choose launches, from the program's side.
#include <gtest/gtest.h>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

TEST(RecordSelection, LaunchesOutsideOfTheWindowAreLeftOut) {
  RecordingOptions options;
  options.window = "3:4";
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  for (int i = 0; i < 3; ++i) {
    program.launch(program.increment, data, 1);
    program.launch(program.add_table, data);
  }
  EXPECT_EQ(program.instances().size(), 2u);
  EXPECT_EQ(program.count(NotRecorded::outside_window), 4u);
}

TEST(RecordSelection, EachNthIsRecorded) {
  RecordingOptions options;
  options.every = 3;
  options.max = 2;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  for (int i = 0; i < 9; ++i) program.launch(program.increment, data, 1);
  ASSERT_EQ(program.instances().size(), 2u);
  EXPECT_EQ(program.count(NotRecorded::between), 6u);
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 1u);
}

TEST(RecordSelection, KernelsAreExcludedByNameOrForOthers) {
  RecordingOptions options;
  options.exclude = "table";
  options.slowest = {digest_of(bytes_of("add_table")), digest_of(bytes_of("two_names"))};
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 1);
  program.launch(program.add_table, data);
  program.launch(program.two_names, data);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.count(NotRecorded::faster_kernel), 1u);
  EXPECT_EQ(program.count(NotRecorded::excluded), 1u);
}

TEST(RecordSelection, ALaunchThatSeesTooMuchIsLeftOut) {
  RecordingOptions options = with_all_memory();
  options.max_launch_bytes = 1_KiB;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  program.launch(program.increment, data, 1);
  int* more = program.allocate<int>(1000);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.count(NotRecorded::large_launch), 1u);
  program.free(more);
  program.launch(program.increment, data, 1);
  EXPECT_EQ(program.instances().size(), 2u);
}

TEST(RecordSelection, OfEachShapeOneIsRecorded) {
  RecordingOptions options;
  options.distinct = Distinct::shape;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  int n = 1;
  void* arguments[] = {&data, &n};
  for (unsigned blocks : {1, 1, 2, 1, 2, 3})
    program.call<decltype(cudaLaunchKernel)>(MNEME_CALL_cudaLaunchKernel, program.increment, dim3(blocks), dim3(32),
                                             static_cast<void**>(arguments), size_t{0}, cudaStream_t{});
  EXPECT_EQ(program.instances().size(), 3u);
  EXPECT_EQ(program.count(NotRecorded::same_shape), 3u);
}

TEST(RecordSelection, OfEachValueOfTheArgumentsOneIsRecorded) {
  RecordingOptions options;
  options.distinct = Distinct::arguments;
  options.max = 2;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  for (int n : {1, 1, 2, 1, 3, 2}) program.launch(program.increment, data, n);
  EXPECT_EQ(program.instances().size(), 2u);
  EXPECT_EQ(program.count(NotRecorded::same_arguments), 1u);
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 3u) << "once there are two, whatever the others are";
}

TEST(RecordSelection, MaxCountsLaunchesOfDistinctData) {
  RecordingOptions options;
  options.max = 2;
  const auto record = [&] {
    FakeProgram program(options);
    int* data = program.allocate<int>(16);
    for (int n : {0, 0, 0, 5}) program.launch(program.increment, data, n);
    program.launch(program.increment, data, 0);
    return std::tuple(program.instances().size(), uint64_t{program.report().duplicates}, program.count(NotRecorded::same_data),
                      program.count(NotRecorded::beyond_max));
  };
  EXPECT_EQ(record(), std::tuple(1u, 1u, 0u, 3u)) << "both are the same";
  options.distinct = Distinct::data;
  EXPECT_EQ(record(), std::tuple(2u, 0u, 2u, 1u));
}

// What an earlier recording has left is distinct in this one, too: it is not stored again, and counts.
TEST(RecordSelection, DistinctIsOfOneRun) {
  const TemporaryDirectory temporary;
  const Path& folder = temporary.path();
  for (uint64_t duplicates : {0, 1}) {
    RecordingOptions options;
    options.distinct = Distinct::data;
    options.max = 1;
    options.database = folder / "db";
    FakeProgram program(options);
    int* data = program.allocate<int>(16);
    for (int i = 0; i < 3; ++i) program.launch(program.increment, data, 0);
    EXPECT_EQ(program.report().duplicates, duplicates);
    EXPECT_EQ(program.report().instances, 1 - duplicates);
    EXPECT_EQ(program.count(NotRecorded::beyond_max), 2u);
  }
}

TEST(RecordSelection, ALaunchThatFailedIsNotTheOneOfItsShape) {
  RecordingOptions options;
  options.distinct = Distinct::shape;
  FakeProgram program(options);
  int* data = program.allocate<int>(16);
  const auto body = program.vendor().kernels[program.increment];
  program.vendor().kernels[program.increment] = [](void**) { return cudaErrorLaunchFailure; };
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaErrorLaunchFailure);
  program.vendor().kernels[program.increment] = body;
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.count(NotRecorded::launch_failed), 1u);
}

}  // namespace
}  // namespace mneme::testing
