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

TEST(Sharing, WhoIsCompiledAnewAfterTheObjectWasLostFailsLikeAnyOther) {
  Sharing sharing(true);
  Job first = job(1, "a"), same_code = job(2, "b"), same_request = job(3, "b", 128);
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
  EXPECT_TRUE(sharing.translated(first, "code", kAbout).assemble);
  EXPECT_EQ(sharing.before_compiling(same_code).kind, Kind::compile);
  EXPECT_EQ(sharing.translated(same_code, "code", kAbout).next.kind, Kind::wait);
  EXPECT_THAT(sharing.compilation_failed(first, failed(Failure::worker_lost)), ElementsAre(2));
  EXPECT_EQ(sharing.before_compiling(same_code).kind, Kind::compile);
  EXPECT_EQ(sharing.before_compiling(same_request).kind, Kind::wait);
  EXPECT_THAT(sharing.compilation_failed(same_code, failed(Failure::compile_timeout)), ElementsAre(3));
  EXPECT_EQ(sharing.before_compiling(same_request).kind, Kind::end);
}

TEST(Sharing, WhatCannotBeAssembledFailsForAllThatEndInThatCode) {
  Sharing sharing(true);
  Job first = job(1, "a"), waiting = job(2, "b"), late = job(3, "c"), late_launch = job(4, "b", 128);
  for (Job* one : {&first, &waiting}) EXPECT_EQ(sharing.before_compiling(*one).kind, Kind::compile);
  EXPECT_TRUE(sharing.translated(first, "code", kAbout).assemble);
  EXPECT_EQ(sharing.translated(waiting, "code", kAbout).next.kind, Kind::wait);
  EXPECT_THAT(sharing.compilation_failed(first, failed(Failure::compile_error)), ElementsAre(2));
  EXPECT_EQ(sharing.before_compiling(waiting).kind, Kind::end);
  EXPECT_EQ(sharing.before_compiling(late_launch).kind, Kind::end) << "its translation is known";
  EXPECT_EQ(sharing.before_compiling(late).kind, Kind::compile);
  const auto translated = sharing.translated(late, "code", kAbout);
  EXPECT_FALSE(translated.assemble);
  EXPECT_EQ(translated.next.kind, Kind::end);
  EXPECT_EQ(translated.next.result.shared_with, first.digest);
}

// Has compiled and measured a job of one launch, and its object is not kept any more.
Job measured_without_object(Sharing& sharing) {
  Job first = job(1, "a");
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
  sharing.translated(first, "code", {{"specialised", {"n"}}});
  sharing.assembled(first, {{"digest", "object"}, {"times", {{"assemble", 7}}}}, some_object());
  EXPECT_EQ(sharing.measure_or_wait(first, sharing.code_of(first)).kind, Kind::measure);
  sharing.measured(first, PoolResult());
  for (size_t i = 0; i <= Sharing::kMostKept; ++i) sharing.keep_object(i == 0 ? "code" : fmt::format("code {}", i));
  first.code = {};
  return first;
}

TEST(Sharing, WhatIsMeasuredNeedsNoObject) {
  Sharing sharing(true);
  measured_without_object(sharing);
  Job same_request = job(2, "a"), same_code = job(3, "b");
  EXPECT_EQ(sharing.before_compiling(same_request).kind, Kind::code);
  EXPECT_EQ(sharing.measure_or_wait(same_request, sharing.code_of(same_request)).kind, Kind::end);
  EXPECT_EQ(sharing.before_compiling(same_code).kind, Kind::compile);
  EXPECT_FALSE(sharing.translated(same_code, "code", kAbout).assemble);
}

TEST(Sharing, AnObjectThatIsGoneIsMadeOnceMoreForAllOtherLaunches) {
  Sharing sharing(true);
  measured_without_object(sharing);
  Job first = job(2, "a", 128), second = job(3, "a", 256);
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
  EXPECT_EQ(sharing.before_compiling(second).kind, Kind::wait);
  EXPECT_TRUE(sharing.translated(first, "code", kAbout).assemble);
  sharing.assembled(first, {{"digest", "object"}}, some_object());
  EXPECT_EQ(sharing.distinct_objects(), 1u) << "the same one";
}

TEST(Sharing, AJobSaysOfItsCompilationWhatWasDoneForItAndWhatItShares) {
  Sharing sharing(true);
  Job first = job(1, "a"), late = job(2, "a", 128);
  EXPECT_EQ(sharing.before_compiling(first).kind, Kind::compile);
  sharing.translated(first, "code", {{"specialised", {"n"}}, {"times", {{"translate", 5}}}});
  sharing.assembled(first, {{"digest", "object"}, {"times", {{"assemble", 7}}}}, some_object());
  EXPECT_EQ(first.about, (Json{{"specialised", {"n"}}, {"times", {{"translate", 5}, {"assemble", 7}}}}));
  EXPECT_EQ(sharing.before_compiling(late).kind, Kind::code);
  EXPECT_EQ(late.about, (Json{{"specialised", {"n"}}}));
}

TEST(Sharing, WhatAnEarlierRunSharedIsNoMeasurementOfIts) {
  const Job measured = job(1, "a"), shared = job(2, "b");
  PoolResult result;
  result.details.together.obj_hash = digest_of({});
  result.configuration = shared.configuration;
  result.shared_with = measured.digest;
  Sharing sharing(true);
  sharing.remember({{shared.digest, result}});
  Job twin = job(3, "c");
  EXPECT_EQ(sharing.measure_or_wait(twin, {{{"digest", result.details.together.obj_hash->hex()}}, some_object()}).kind,
            Kind::measure);
}

}  // namespace
}  // namespace mneme
