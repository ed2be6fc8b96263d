#include "mneme/snapshot/launch_window.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(LaunchWindow, IsOfLaunchesOrSeconds) {
  EXPECT_EQ(*LaunchWindow::parse("100:200"), (LaunchWindow{LaunchWindow::Unit::launches, 100, 200}));
  EXPECT_EQ(*LaunchWindow::parse("7:7"), (LaunchWindow{LaunchWindow::Unit::launches, 7, 7}));
  EXPECT_EQ(*LaunchWindow::parse("2s:3.5s"), (LaunchWindow{LaunchWindow::Unit::nanoseconds, 2'000'000'000, 3'500'000'000}));
  EXPECT_EQ(*LaunchWindow::parse(":5"), (LaunchWindow{LaunchWindow::Unit::launches, 0, 5}));
  EXPECT_EQ(*LaunchWindow::parse("5:"), (LaunchWindow{LaunchWindow::Unit::launches, 5, ~uint64_t{0}}));
  EXPECT_EQ(*LaunchWindow::parse("1s:"), (LaunchWindow{LaunchWindow::Unit::nanoseconds, 1'000'000'000, ~uint64_t{0}}));
  const LaunchWindow window = *LaunchWindow::parse("2:3");
  for (uint64_t position : {1, 2, 3, 4}) EXPECT_EQ(window.contains(position), position == 2 || position == 3);
}

TEST(LaunchWindow, OthersAreRefused) {
  for (const std::string text :
       {"", ":", "5", "1:2:3", "a:b", "-1:2", "1.5:2", "2s:5", "2:5s", "1s:-2s", "infs:", "nans:", "s:", "1e10s:"})
    EXPECT_EQ(
        LaunchWindow::parse(text).status().to_string(),
        fmt::format("invalid_argument: '{}' is no window: FROM:TO are the numbers of launches, as in 100:200, or seconds, as in "
                    "2s:3.5s; one of them may be left out",
                    text));
  EXPECT_EQ(LaunchWindow::parse("3s:2s").status().message(), "no launch is in the window '3s:2s': it ends before it begins");
  EXPECT_EQ(LaunchWindow::parse("0:0").status().message(), "no launch is in the window '0:0': the first launch has the number 1");
}

}  // namespace
}  // namespace mneme
