#include "mneme/deploy/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

using testing::DoubleNear;

TEST(SpeedUpOf, IsTheGeometricMeanOfTheRoundsRatios) {
  const SpeedUp even = speed_up_of({200, 200, 200, 200, 200, 200, 200}, {100, 100, 100, 100, 100, 100, 100});
  EXPECT_THAT(even.value, DoubleNear(2, 1e-12));
  EXPECT_THAT(even.low, DoubleNear(2, 1e-12));
  const SpeedUp rough = speed_up_of({100, 400, 100, 400, 100, 400, 200}, {100, 100, 100, 100, 100, 100, 100});
  EXPECT_THAT(rough.value, DoubleNear(2, 1e-12));
  EXPECT_LT(rough.low, 2);
  EXPECT_THAT(rough.low * rough.high, DoubleNear(4, 1e-9));
}

TimesInTurn times(double recorded, double found, CacheState state = CacheState::as_it_comes) {
  return {state, std::vector<double>(7, recorded), std::vector<double>(7, found), {}};
}

// Of ten launches nine are of the first, which gains nothing: all of them take 9 * 100 + 400 in place of 9 * 100 + 100.
TEST(PromiseOf, LaunchesAreWeighedAsOftenAsTheProgramMakesThem) {
  const std::vector<LaunchTimes> launches = {{1.8, {times(100, 100)}}, {0.2, {times(400, 100)}}};
  const Promise promise = promise_of(launches);
  EXPECT_THAT(promise.speed_up.value, DoubleNear(1300.0 / 1000, 1e-12));
  EXPECT_THAT(promise.tuned, DoubleNear(100, 1e-12));
  EXPECT_TRUE(promise.confirmed);
  EXPECT_EQ(promise.measured, "measured in turn here on 2 launches together");
}

// One that is slower by itself is made up for by the other, or not.
TEST(PromiseOf, WhatIsSlowerOnOneLaunchMayBeFasterOnAll) {
  EXPECT_GT(promise_of({{LaunchTimes{1, {times(100, 125)}}, LaunchTimes{1, {times(200, 100)}}}}).speed_up.low, 1);
  EXPECT_LT(promise_of({{LaunchTimes{1, {times(100, 300)}}, LaunchTimes{1, {times(200, 100)}}}}).speed_up.high, 1);
}

TEST(PromiseOf, IsTheLeastOfTheStatesOfTheCache) {
  using enum CacheState;
  const std::vector<LaunchTimes> one = {{1, {times(300, 100), times(220, 110, cold), times(250, 100, warm)}}};
  const Promise promise = promise_of(one);
  EXPECT_THAT(promise.speed_up.value, DoubleNear(2, 1e-12));
  EXPECT_THAT(promise.tuned, DoubleNear(110, 1e-12));
  EXPECT_EQ(promise.measured, "measured in turn here with --l2 cold");
  // Also of those in which it is not faster: what is deployed all the same promises no more than the worst of them.
  const std::vector<LaunchTimes> slower = {{1, {times(300, 100), times(100, 110, cold), times(100, 200, warm)}}};
  EXPECT_EQ(promise_of(slower).measured, "measured in turn here with --l2 warm");
  EXPECT_THAT(promise_of(slower).speed_up.value, DoubleNear(0.5, 1e-12));
}

TEST(PromiseOf, WhatASearchHasConfirmedIsTakenAtItsWord) {
  TimesInTurn searched{CacheState::warm, {}, {80}, SpeedUp{1.5, 1.4, 1.6}};
  const std::vector<LaunchTimes> one = {{1, {searched}}};
  const Promise promise = promise_of(one);
  EXPECT_EQ(promise.speed_up, (SpeedUp{1.5, 1.4, 1.6}));
  EXPECT_EQ(promise.tuned, 80);
  EXPECT_EQ(promise.measured, "by the search");
  EXPECT_TRUE(promise.confirmed);
  searched.by_search = SpeedUp{1.01, 0.98, 1.04};
  EXPECT_FALSE(promise_of(std::vector<LaunchTimes>{{1, {searched}}}).confirmed) << "it has found no difference";
}

}  // namespace
}  // namespace mneme
