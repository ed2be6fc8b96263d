// HIP programs at the real HIP runtime, without a GPU.
#include <gtest/gtest.h>

#include "mneme/base/file_system.h"
#include "mneme/runtime/recordable.h"
#include "mneme/runtime/testing/run_program.h"

namespace mneme {
namespace {

using testing::run_program;

class RecordableHip : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordableHip, EveryLaunchGoesThroughTheTableAndFindsItsSegment) {
  const std::string kernel = " of _Z3addPi4Pairi for gfx90a, ";
  const std::string parameters = " blocks, 3 parameters in 28 bytes\n";
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_HIP_INTERPOSER, GetParam()),
            "variable counter of 4 bytes\nmalloc 0\nlaunch" + kernel + "1" + parameters + "launch" + kernel + "2" + parameters +
                "launch with events" + kernel + "3" + parameters + "cooperative launch" + kernel + "4" + parameters +
                "cooperative 0\nlaunch of a module, 64 threads\nmodule 7\n");
}

// The same as where the runtime is called directly: this machine need not have a GPU.
TEST_P(RecordableHip, ForwardsWhenNothingIsAsked) {
  EXPECT_EQ(run_program("", GetParam()), run_program("", MNEME_TEST_HIP_PLAIN));
}

TEST_P(RecordableHip, IsToldByItsNote) {
  auto file = FileSystem::posix().read(GetParam());
  ASSERT_TRUE(file.ok());
  const auto object = read_object_file(*file, "app");
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_TRUE(object->recordable);
  EXPECT_TRUE(object->device_code);
  EXPECT_FALSE(object->dropped_device_code);
  ASSERT_EQ(object->calls, &hip_runtime_calls());
  EXPECT_TRUE(check_note(object->note, "app", *object->calls).ok());
}

TEST_P(RecordableHip, AnInterposerOfCudaLeavesItAlone) {
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, GetParam()),
            std::string(GetParam()) + " does not call the CUDA runtime, which is the one that this interposer stands before\n" +
                run_program("", MNEME_TEST_HIP_PLAIN));
}

TEST(RecordableHipAlone, AnInterposerOfHipLeavesCudaProgramsAlone) {
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_HIP_INTERPOSER, MNEME_TEST_PROGRAM), MNEME_TEST_PROGRAM
            " does not call the HIP runtime, which is the one that this interposer stands before\nconstructor 0\nmain 0 "
            "0\n");
}

TEST(RecordableHipAlone, AnotherListNamesHip) {
  EXPECT_EQ(
      check_note({MNEME_ABI_VERSION, 1, 0}, "app", hip_runtime_calls()).to_string(),
      fmt::format(
          "incompatible: app was linked by a Mneme built for another version of the HIP runtime (1 functions, this one has {}): "
          "link it again with `mneme config --hip ldflags`",
          hip_runtime_calls().call_count));
}

std::string driver_of(const ::testing::TestParamInfo<const char*>& instance) {
  constexpr const char* kNames[] = {"NewDriver", "OldDriver", "Relocatable"};
  return kNames[instance.index];
}
INSTANTIATE_TEST_SUITE_P(Each, RecordableHip, ::testing::Values(MNEME_TEST_HIP_NEW, MNEME_TEST_HIP_OLD, MNEME_TEST_HIP_RDC),
                         driver_of);

}  // namespace
}  // namespace mneme
