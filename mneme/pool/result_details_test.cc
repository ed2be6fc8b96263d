// What a pool knows of a configuration, as JSON: of one instance, of several, and of what never came to a device.
#include "mneme/pool/result_details.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using Json = nlohmann::json;

ReplayResult measured(double time) {
  ReplayResult result;
  result.stage = ReplayStage::done;
  result.verified = result.executed = true;
  result.exec_time = {Nanoseconds(time), Nanoseconds(2 * time)};
  result.times = {{"run", Nanoseconds(7)}};
  result.reg_usage = 24;
  return result;
}

void expect_read(const ResultDetails& details, const Json& json) {
  EXPECT_EQ(to_json(details), json);
  const auto read = result_details_from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_json(*read), json);
}

TEST(ResultDetails, OfOneInstanceTheyAreItsResult) {
  ResultDetails details;
  details.together = measured(10);
  details.together.specialised = SpecialisationReport{.arguments = {"n"}};
  expect_read(details, to_brief_json(details.together));
  EXPECT_EQ(details.each(), std::vector<const ReplayResult*>{&details.together});
  EXPECT_EQ(&details.first(), &details.together);
}

TEST(ResultDetails, OfSeveralInstancesTheyAreWhatHoldsOfAllAndEachResult) {
  ResultDetails details;
  details.together = measured(30);
  details.together.times = {{"codegen", Nanoseconds(5)}};
  details.instances = {{digest_of(ByteVector(1)), measured(10)}, {digest_of(ByteVector(2)), measured(20)}};
  details.specialised = {SpecialisationReport{.arguments = {"n"}}, SpecialisationReport{.arguments = {"m"}}};
  const Json json = {{"verified", true},
                     {"executed", true},
                     {"exec_time", {30.0, 60.0}},
                     {"times", {{"codegen", 5.0}}},
                     {"specialised", {{{"arguments", {"n"}}}, {{"arguments", {"m"}}}}},
                     {"instances",
                      {{{"record_id", digest_of(ByteVector(1)).hex()}, {"result", to_brief_json(measured(10))}},
                       {{"record_id", digest_of(ByteVector(2)).hex()}, {"result", to_brief_json(measured(20))}}}}};
  expect_read(details, json);
  EXPECT_EQ(details.each().size(), 2u);
  EXPECT_EQ(details.first().exec_time[0], Nanoseconds(10));
  EXPECT_EQ(details.compile_time(), Nanoseconds(5));
}

TEST(ResultDetails, WhatNeverCameToADeviceHasNoVerdict) {
  ResultDetails details;
  expect_read(details, Json::object());
  EXPECT_EQ(details.compile_time(), std::nullopt);
  ASSERT_TRUE(add_compilation(details, {{"times", {{"prepare", 3}, {"codegen", 4.5}}}}).ok());
  expect_read(details, {{"times", {{"codegen", 4.5}, {"prepare", 3.0}}}});
  EXPECT_EQ(details.compile_time(), Nanoseconds(7.5));
  details.together.stage = ReplayStage::compiling;
  expect_read(details, {{"stage", "compiling"}, {"times", {{"codegen", 4.5}, {"prepare", 3.0}}}});
}

TEST(ResultDetails, ACompilationIsAddedToWhatTheDeviceTold) {
  ResultDetails details;
  details.together = measured(10);
  ASSERT_TRUE(
      add_compilation(details, {{"times", {{"run", 9}, {"codegen", 4}}}, {"specialised", {{{"arguments", {"n"}}}}}}).ok());
  const Json json = to_json(details);
  EXPECT_EQ(json["times"], (Json{{"codegen", 4.0}, {"run", 9.0}}));
  EXPECT_EQ(json["specialised"], (Json{{"arguments", {"n"}}}));
  ASSERT_TRUE(add_compilation(details, nullptr).ok()) << "nothing was told";
  ASSERT_TRUE(add_compilation(details, {{"specialised", nullptr}, {"digest", "x"}}).ok());
}

TEST(ResultDetails, WhatIsNoneIsRefused) {
  const auto refusal = [](const Json& json) { return result_details_from_json(json).status().to_string(); };
  EXPECT_EQ(refusal(Json::array()), "corrupt: a result of a pool: it is no object");
  EXPECT_EQ(refusal({{"times", 5}}), "corrupt: a result: 'times' must be an object, not 5");
  EXPECT_EQ(refusal({{"instances", 5}}), "corrupt: a result of a pool: 'instances' is no list");
  for (const Json& one : {Json(5), Json::object(), Json{{"record_id", 5}, {"result", Json::object()}},
                          Json{{"record_id", "0"}, {"result", Json::object()}}})
    EXPECT_EQ(refusal({{"instances", {one}}}), "corrupt: a result of a pool: 'instances' has what lacks 'record_id' or 'result'");
  EXPECT_EQ(refusal({{"specialised", {5}}}), "corrupt: a result: 'specialised' must be an object, not 5");
  ResultDetails details;
  for (const Json& about : {Json{{"times", "none"}}, Json{{"times", {{"run", "none"}}}}, Json{{"specialised", 5}},
                            Json{{"times", {{"run", 1}}}, {"specialised", {{{"arguments", 5}}}}}})
    EXPECT_EQ(add_compilation(details, about).code(), Code::corrupt) << about.dump();
  EXPECT_EQ(to_json(details), Json::object()) << "nothing of it was added";
}

TEST(ResultDetails, ReportsOfSeveralInstancesStayApart) {
  ResultDetails details;
  ASSERT_TRUE(add_compilation(details, {{"specialised", {{{"arguments", {"n"}}}, {{"arguments", {"m"}}}}}}).ok());
  EXPECT_FALSE(details.together.specialised.has_value());
  ASSERT_EQ(details.specialised.size(), 2u);
  EXPECT_EQ(details.specialised[1].arguments, std::vector<std::string>{"m"});
}

// A time that is told again is the one that counts.
TEST(ResultDetails, AStageIsThereOnce) {
  ResultDetails details;
  for (int time : {4, 5}) ASSERT_TRUE(add_compilation(details, {{"times", {{"codegen", time}}}}).ok());
  EXPECT_EQ(details.compile_time(), Nanoseconds(5));
}

TEST(ResultDetails, WhatCameToADeviceHasAVerdict) {
  ResultDetails details;
  details.together.stage = ReplayStage::loading;
  EXPECT_EQ(to_json(details)["verified"], false);
  details.together.stage = ReplayStage::compiling;
  EXPECT_FALSE(to_json(details).contains("verified"));
}

}  // namespace
}  // namespace mneme
