#include "mneme/pool/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;
using Kind = NextStep::Kind;

const Json kAbout = {{"times", {{"translate", 5}}}};

Job job(JobId id, const std::string& passes, uint32_t block = 64) {
  Job made{.id = id, .configuration = {}, .future = {}};
  made.configuration.passes = passes;
  made.configuration.block.x = block;
  identify(made);
  return made;
}
ObjectHandle some_object() { return std::make_shared<Descriptor>(); }
PoolResult failed(Failure failure) {
  PoolResult result;
  result.failure = failure;
  return result;
}

TEST(Sharing, WhoAsksTheCompilerTheSameWaitsAndThenHasTheCode) {
  Sharing sharing(true);
  Job first = job(1, "a"), other_launch = job(2, "a", 128);
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
  EXPECT_EQ(sharing.before_compiling(other_launch).kind, Kind::wait);
  const auto translated = sharing.translated(first, "code", kAbout);
  EXPECT_TRUE(translated.assemble);
  EXPECT_THAT(translated.again, ElementsAre(2));
  EXPECT_EQ(sharing.before_compiling(other_launch).kind, Kind::wait) << "now for the object";
  EXPECT_THAT(sharing.assembled(first, {{"digest", "object"}}, some_object()), ElementsAre(2));
  EXPECT_EQ(sharing.measure_or_wait(first, sharing.code_of(first)).kind, Kind::measure);
  EXPECT_EQ(sharing.measure_or_wait(other_launch, sharing.code_of(first)).kind, Kind::measure) << "another launch of it";
  EXPECT_EQ(sharing.distinct_objects(), 1u);
}

TEST(Sharing, TheSameObjectUnderTheSameLaunchIsMeasuredOnce) {
  Sharing sharing(true);
  Job first = job(1, "a"), twin = job(2, "b");
  const DeviceCode code{{{"digest", "object"}}, some_object()};
  EXPECT_EQ(sharing.measure_or_wait(first, code).kind, Kind::measure);
  EXPECT_EQ(sharing.measure_or_wait(twin, code).kind, Kind::wait);
  const auto measured = sharing.measured(first, PoolResult());
  EXPECT_THAT(measured.waiting, ElementsAre(2));
  ASSERT_TRUE(measured.outcome);
  EXPECT_EQ(measured.outcome->share().origin, Origin::shared);
  EXPECT_EQ(measured.outcome->share().shared_with, first.digest);
  Job late = job(3, "c");
  const NextStep step = sharing.measure_or_wait(late, code);
  EXPECT_EQ(step.kind, Kind::end);
  EXPECT_EQ(step.result.shared_with, first.digest);
}

TEST(Sharing, AFailureIsSharedWhereItSaysSomethingAboutTheOthers) {
  struct Case {
    Failure failure;
    bool of_whoever_has_the_object, of_whoever_asks_the_compiler;
  };
  const Case kCases[] = {{Failure::wrong_result, true, false}, {Failure::device_fault, true, false},
                         {Failure::run_timeout, true, false},  {Failure::invalid_launch, true, false},
                         {Failure::compile_error, true, true}, {Failure::compile_timeout, true, true},
                         {Failure::worker_lost, false, false}, {Failure::cancelled, false, false}};
  for (const Case& c : kCases) {
    Sharing sharing(true);
    Job first = job(1, "a"), twin = job(2, "a");
    const DeviceCode code{{{"digest", "object"}}, some_object()};
    EXPECT_EQ(sharing.measure_or_wait(first, code).kind, Kind::measure);
    EXPECT_EQ(sharing.measure_or_wait(twin, code).kind, Kind::wait);
    EXPECT_EQ(sharing.measured(first, failed(c.failure)).outcome.has_value(), c.of_whoever_has_the_object)
        << to_string(c.failure);

    Sharing compiling(true);
    EXPECT_EQ(compiling.before_compiling(first).kind, Kind::compile);
    EXPECT_EQ(compiling.before_compiling(twin).kind, Kind::wait);
    EXPECT_THAT(compiling.compilation_failed(first, failed(c.failure)), ElementsAre(2));
    EXPECT_EQ(compiling.before_compiling(twin).kind, c.of_whoever_asks_the_compiler ? Kind::end : Kind::compile)
        << to_string(c.failure);
  }
}

TEST(Sharing, ACompilationThatWasLostIsBegunAnew) {
  Sharing sharing(true);
  Job first = job(1, "a");
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
  sharing.compilation_lost(first);
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
}

TEST(Sharing, ObjectsAreKeptForLaunchesToComeButNotAllOfThem) {
  Sharing sharing(true);
  std::weak_ptr<Descriptor> oldest;
  for (JobId id = 1; id <= Sharing::kMostKept + 1; ++id) {
    Job one = job(id, fmt::format("passes {}", id));
    ASSERT_EQ(sharing.before_compiling(one).kind, Kind::compile);
    sharing.translated(one, fmt::format("code {}", id), kAbout);
    ObjectHandle object = some_object();
    if (id == 1) oldest = object;
    sharing.assembled(one, {{"digest", fmt::format("object {}", id)}}, std::move(object));
    EXPECT_EQ(oldest.expired(), false);
    sharing.keep_object(one.code_digest);
  }
  EXPECT_TRUE(oldest.expired());
  Job again = job(1000, "passes 1", 128), kept = job(1001, "passes 2", 128);
  EXPECT_EQ(sharing.before_compiling(again).kind, Kind::compile) << "its object is gone";
  EXPECT_EQ(sharing.before_compiling(kept).kind, Kind::code);
}

TEST(Sharing, WhereItIsOffNothingIsKeptAndNobodyWaits) {
  Sharing sharing(false);
  Job first = job(1, "a"), second = job(2, "a");
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
  EXPECT_EQ(sharing.before_compiling(second).kind, Kind::compile);
  EXPECT_TRUE(sharing.translated(first, "code", kAbout).assemble);
  ObjectHandle object = some_object();
  const std::weak_ptr<Descriptor> seen = object;
  EXPECT_THAT(sharing.assembled(first, {{"digest", "object"}}, std::move(object)), IsEmpty());
  EXPECT_EQ(sharing.measure_or_wait(first, sharing.code_of(first)).kind, Kind::measure);
  EXPECT_EQ(sharing.measure_or_wait(second, sharing.code_of(first)).kind, Kind::measure);
  sharing.keep_object("code");
  first.code = second.code = {};
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace mneme
