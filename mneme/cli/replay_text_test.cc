#include "mneme/cli/replay_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const LaunchShape kRecorded{{2, 1, 1}, {128, 1, 1}};

ReplayResult right() {
  ReplayResult result;
  result.stage = ReplayStage::done;
  result.executed = result.verified = true;
  result.device = "a device";
  result.mask = "on";
  result.masked_bytes = Bytes(4096);
  result.exec_time = {Nanoseconds(9000), Nanoseconds(10000), Nanoseconds(11000)};
  result.clock_source = "cuda_event";
  result.reg_usage = 24;
  result.obj_size = Bytes(2048);
  result.shape = kRecorded;
  result.recorded_time = RecordedTime{"cuda_event", 21000.0, 17, 19000, 20000};
  return result;
}

TEST(ReplayText, SaysVerdictTimesRegistersAndLaunch) {
  EXPECT_EQ(
      replay_text("scale(float*)", "as-built: default<O2>", right(), kRecorded),
      "scale(float*) on a device\n"
      "  verified: memory is as recorded, to the byte\n"
      "  time       10.00 us, the median of 3 runs; least 9.00 us, standard deviation 1.00 us (10.0 % of the mean) (cuda_event)\n"
      "  recorded   20.00 us, the median of 17 launches that were not recorded; 21.00 us when recorded (cuda_event), least "
      "19.00 us; this is 0.50 of it\n"
      "  launch     grid 2x1x1, block 128x1x1, as recorded\n"
      "  pipeline   as-built: default<O2>\n"
      "  registers  24 of a thread\n"
      "  code       2.00 KiB\n"
      "  mask       on, 4.00 KiB\n");
}

TEST(ReplayText, TheTimeBesideTheRecordedOneIsTheMedian) {
  ReplayResult result = right();
  result.exec_time = {Nanoseconds(9000), Nanoseconds(30000), Nanoseconds(10000)};
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded),
              HasSubstr("  time       10.00 us, the median of 3 runs; least 9.00 us"));
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded), HasSubstr("least 19.00 us; this is 0.50 of it\n"));
}

TEST(ReplayText, SaysHowTheCodeUsesTheDevice) {
  ReplayResult result = right();
  result.reg_usage = 31;
  result.spill_store_bytes = Bytes(16);
  result.spill_load_bytes = Bytes(2048);
  result.occupancy = {3, 0.375};
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded),
              HasSubstr("\n  registers  31 of a thread\n"
                        "  spilled    16 B stored, 2.00 KiB loaded\n"
                        "  code       2.00 KiB\n"
                        "  occupancy  38 %, 3 blocks of a multiprocessor\n"));
  result.reg_usage = 30;
  result.mask = "off";
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded), HasSubstr("\n  registers  30 of a thread\n"));
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded), HasSubstr("\n  mask       off\n"));
}

TEST(ReplayText, ATimeOfOneRunHasNoSpread) {
  ReplayResult result = right();
  result.exec_time = {Nanoseconds(5000)};
  result.recorded_time = RecordedTime{"cuda_event", 10000.0, 0, 0, 0};
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded),
              HasSubstr("  time       5.00 us, the median of 1 run; least 5.00 us (cuda_event)\n"
                        "  recorded   10.00 us when recorded (cuda_event); this is 0.50 of it\n"));
}

TEST(ReplayText, OneOtherLaunchHasNoLeast) {
  ReplayResult result = right();
  for (const auto& [others, least] : {std::pair<uint64_t, bool>(1, false), std::pair<uint64_t, bool>(2, true)}) {
    result.recorded_time->others = others;
    EXPECT_EQ(replay_text("k", "as-built: default<O2>", result, kRecorded).find(", least 19.00 us") != std::string::npos, least)
        << others;
  }
}

TEST(ReplayText, ToTheByteIsSaidOnlyWhereNothingIsOff) {
  ReplayResult result = right();
  ToleranceVerdict exact{"argument 'out'", DevicePtr(0x1000), Bytes(4), {}, {}}, off = exact;
  off.differences.worst = 1e-9;
  const char* const kToTheByte = "\n  verified: memory is as recorded, to the byte\n";
  const char* const kWithin = "\n  verified: memory is as recorded, within its tolerances\n";
  result.tolerances = {exact};
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded), HasSubstr(kToTheByte));
  for (auto tolerances : {std::vector{exact, off}, std::vector{off, exact}}) {
    result.tolerances = tolerances;
    EXPECT_THAT(replay_text("k", "as-built: default<O2>", result, kRecorded), HasSubstr(kWithin));
  }
}

TEST(ReplayText, EightPlacesAreListedAndTheOthersCounted) {
  ReplayResult wrong = right();
  wrong.verified = false;
  const auto lines_of = [&](size_t places) {
    wrong.mismatches.assign(places, {"allocation 0x1000", DevicePtr(0x1000), Bytes(64), 1, 5, {}, false, ""});
    const std::string text = replay_text("k", "as-built: default<O2>", wrong, kRecorded);
    size_t count = 0;
    for (size_t at = text.find("allocation 0x1000: 1 byte of 64 B, from offset 5 on"); at != std::string::npos;
         at = text.find("allocation 0x1000: 1 byte of 64 B, from offset 5 on", at + 1))
      ++count;
    return std::pair(
        count, text.find("more places") == std::string::npos ? std::string() : text.substr(text.find("more places") - 2, 13));
  };
  EXPECT_EQ(lines_of(8), std::pair(size_t{8}, std::string()));
  EXPECT_EQ(lines_of(9), std::pair(size_t{8}, std::string("1 more places")));
  EXPECT_EQ(lines_of(11), std::pair(size_t{8}, std::string("3 more places")));
  wrong.not_written = std::vector<NotWritten>{{"argument 'out'", ElementType::f32, 256, 128, 7, 3}};
  EXPECT_THAT(replay_text("k", "as-built: default<O2>", wrong, kRecorded),
              HasSubstr("were not written, the first at index 7; 3 that were are wrong\n"));
}

TEST(ReplayText, SaysWhatDifferedAndHow) {
  ReplayResult wrong = right();
  wrong.verified = false;
  wrong.exec_time.clear();
  wrong.recorded_time.reset();
  wrong.shape->block.x = 64;
  wrong.fewer_threads = fewer_threads(*wrong.shape, kRecorded);
  wrong.mismatches = {
      {"allocation 0x7a0000000000", DevicePtr(0x7a0000000000), Bytes(1024), 512, 512, std::nullopt, false, "argument 'out'"}};
  wrong.not_written = std::vector<NotWritten>{{"argument 'out'", ElementType::f32, 256, 128, 128, 0}};
  const std::string text = replay_text("scale(float*)", "as-built: default<O2>", wrong, kRecorded);
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
  EXPECT_EQ(replay_text("evil\n\x1b]0;", "as-built: default<O2>", failed, kRecorded), "evil\\n\\x1b]0;: could not be replayed\n");
  EXPECT_EQ(replay_text("", "as-built: default<O2>", failed, kRecorded), "the launch: could not be replayed\n");
}

}  // namespace
}  // namespace mneme::cli
