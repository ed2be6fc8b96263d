#include "mneme/cli/profile_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace mneme::cli {
namespace {

class ProfileText : public testing::Test {
 protected:
  ProfileText() : report_(*RecordingReportMapping::create()) { report_->recorders = 1; }
  ~ProfileText() override { ::close(report_.descriptor()); }
  std::string text(size_t top = 20) { return profile_text(profile_, *report_, top); }
  void add(const std::string& name, std::vector<ShapeProfile> shapes, std::optional<double> first = {}, bool recordable = true) {
    LaunchProfile more;
    more.kernels.push_back({name, name + "()", recordable ? std::optional(Digest()) : std::nullopt, first, std::move(shapes)});
    profile_.add(more);
    for (const ShapeProfile& shape : more.kernels[0].shapes) report_->launches += shape.launches.launches;
  }
  static ShapeProfile shape(uint32_t blocks, TimedLaunches launches) {
    return {{{blocks, 1, 1}, {64, 1, 1}, {}, false}, launches};
  }

  RecordingReportMapping report_;
  LaunchProfile profile_{"steady_clock", "cpu", "a processor", {}};
};

TEST_F(ProfileText, RanksKernelsAndTellsTheirShapes) {
  add("idle", {shape(1, {5, 5, 1000, 900, 1200})});
  add("busy", {shape(8, {10, 9, 2000, 1000, 3000}), shape(4, {20, 20, 750, 700, 800})});
  EXPECT_EQ(text(),
            "TIME      PART    LAUNCHES  MEAN     MIN     MAX      KERNEL\n"
            "35.00 us  87.5 %  30        1.14 us  700 ns  3.00 us  busy()\n"
            "5.00 us   12.5 %  5         1.00 us  900 ns  1.20 us  idle()\n"
            "\n"
            "LAUNCHES  GRID   BLOCK   MEAN     KERNEL\n"
            "20        4x1x1  64x1x1  750 ns   busy()\n"
            "10        8x1x1  64x1x1  2.00 us  busy()\n"
            "5         1x1x1  64x1x1  1.00 us  idle()\n"
            "\n"
            "35 launches of 2 kernels in 40.00 us, by steady_clock on a processor\n");
}

TEST_F(ProfileText, SaysWhatItLeavesOut) {
  std::vector<ShapeProfile> shapes;
  for (uint32_t i = 1; i <= 6; ++i) shapes.push_back(shape(i, {10, 10, 100, 100, 100}));
  add("many", shapes);
  add("idle", {shape(1, {1, 1, 1, 1, 1})});
  const std::string shown = text(1);
  EXPECT_NE(shown.find("and 1 kernel that takes less (--top)\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("...                              2 more shapes of many()\n"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("idle()"), std::string::npos) << shown;
  EXPECT_NE(shown.find("61 launches of 2 kernels"), std::string::npos) << shown;
}

TEST_F(ProfileText, MarksWhatIsNotAsOthersAre) {
  add("plain", {shape(1, {2, 2, 10, 10, 10})}, {}, false);
  add("once", {shape(1, {1, 0, 0, 0, 0})}, 5000);
  add("untimed", {shape(1, {1, 0, 0, 0, 0})});
  EXPECT_EQ(text().substr(0, text().find("\n\n") + 1),
            "TIME         PART    LAUNCHES  MEAN   MIN    MAX    KERNEL\n"
            "5.00 us [2]  99.6 %  1         -      -      -      once()\n"
            "20 ns [1]    0.4 %   2         10 ns  10 ns  10 ns  plain()\n"
            "-            0.0 %   1         -      -      -      untimed()\n"
            "[1] cannot be recorded: it was not built with the plugin, or is made at run time\n"
            "[2] its only launch, with the loading of its code\n");
}

TEST_F(ProfileText, MarksWhatIsEstimated) {
  add("sampled", {shape(1, {100, 16, 10, 10, 10})});
  add("timed", {shape(1, {17, 16, 10, 10, 10})}, 5000);
  EXPECT_EQ(text().substr(0, text().find("\n\n") + 1),
            "TIME         PART    LAUNCHES  MEAN   MIN    MAX    KERNEL\n"
            "1.00 us [3]  85.5 %  100       10 ns  10 ns  10 ns  sampled()\n"
            "170 ns       14.5 %  17        10 ns  10 ns  10 ns  timed()\n"
            "[3] estimated in part: launches without a time count with the mean of those that have one\n");
}

TEST_F(ProfileText, SaysWhichLaunchesAreNotInIt) {
  add("one", {shape(1, {2, 2, 10, 10, 10})});
  report_->launches += 4;
  report_->untimed = 2;
  (*report_).count(NotRecorded::stream_capture, "");
  EXPECT_TRUE(
      text().ends_with("not timed: 2 launches: made by a graph, counted with the mean of those that were\n"
                       "not profiled: 1 launch: launched into a graph\n"
                       "not profiled: 3 launches: failed, or made just before a process was killed or left by _exit()\n"))
      << text();
  report_->failure.set("no device");
  EXPECT_TRUE(text().ends_with("\nprofiling ended early: no device\n")) << text();
}

TEST_F(ProfileText, SaysWhyThereIsNothing) {
  EXPECT_EQ(text(), "profiled nothing: the program launched no kernel\n");
  report_->launches = 1;
  EXPECT_EQ(text(), "not profiled: 1 launch: failed, or made just before a process was killed or left by _exit()\n");
  report_->recorders = report_->launches = 0;
  EXPECT_EQ(text(),
            "profiled nothing: no program that was built for Mneme ran (build with `mneme config cxxflags` and `mneme config "
            "ldflags`)\n");
}

}  // namespace
}  // namespace mneme::cli
