#include "mneme/cli/replay_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

ReplayResult right() {
  ReplayResult result;
  result.stage = ReplayStage::done;
  result.executed = result.verified = true;
  result.device = "a device";
  result.poison = "on";
  result.poisoned_bytes = Bytes(4096);
  result.exec_time = {Nanoseconds(9000), Nanoseconds(10000), Nanoseconds(11000)};
  result.clock.source = "cuda_event";
  result.resources.registers = 24;
  result.object_size = Bytes(2048);
  result.recorded_shape = {{2, 1, 1}, {128, 1, 1}};
  result.shape = result.recorded_shape;
  result.recorded_time = RecordedTime{"cuda_event", 21000.0, 17, 19000, 20000};
  return result;
}

TEST(ReplayText, SaysVerdictTimesRegistersAndLaunch) {
  EXPECT_EQ(
      replay_text("scale(float*)", right()),
      "scale(float*) on a device\n"
      "  verified: memory is as recorded, to the byte\n"
      "  time       10.00 us, the median of 3 runs; least 9.00 us, standard deviation 1.00 us (10.0 % of the mean) (cuda_event)\n"
      "  recorded   20.00 us, the median of 17 launches that were not recorded; 21.00 us when recorded (cuda_event), least "
      "19.00 us; this is 0.50 of it\n"
      "  launch     grid 2x1x1, block 128x1x1, as recorded\n"
      "  registers  24 of a thread\n"
      "  code       2.00 KiB\n"
      "  poison     on, 4.00 KiB\n");
}

TEST(ReplayText, SaysWhatDifferedAndHow) {
  ReplayResult wrong = right();
  wrong.verified = false;
  wrong.exec_time.clear();
  wrong.recorded_time.reset();
  wrong.shape->block.x = 64;
  wrong.mismatches = {
      {"allocation 0x7a0000000000", DevicePtr(0x7a0000000000), Bytes(1024), 512, 512, std::nullopt, false, "argument 'out'"}};
  wrong.not_written = std::vector<NotWritten>{{"argument 'out'", ElementType::f32, 256, 128, 128, 0}};
  const std::string text = replay_text("scale(float*)", wrong);
  EXPECT_THAT(text, HasSubstr("\n  not verified: 128 of 256 f32 of argument 'out' were not written (128 of 256 threads in x: "
                              "--keep-threads keeps them)\n"));
  EXPECT_THAT(text, HasSubstr("\n  launch       grid 2x1x1, block 64x1x1; recorded: grid 2x1x1, block 128x1x1; "
                              "128 of 256 threads in x: --keep-threads keeps them\n"));
  EXPECT_THAT(text, HasSubstr("argument 'out': 512 bytes of 1.00 KiB, from offset 512 on\n"));
  EXPECT_THAT(text, HasSubstr("were not written, the first at index 128\n"));
  EXPECT_THAT(text, HasSubstr("mneme diff"));
  EXPECT_THAT(text, Not(HasSubstr("  time")));
}

TEST(ReplayText, EscapesNamesAndLeavesReasonsToTheMessage) {
  ReplayResult failed;
  failed.failure = error(Code::timeout, "it took too long");
  EXPECT_EQ(replay_text("evil\n\x1b]0;", failed), "evil\\n\\x1b]0;: could not be replayed\n");
  EXPECT_EQ(replay_text("", failed), "the launch: could not be replayed\n");
}

}  // namespace
}  // namespace mneme::cli
