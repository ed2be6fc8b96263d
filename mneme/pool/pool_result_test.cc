// Results as JSON and in logs: nothing of one is lost, also where a log is taken up again.
#include "mneme/pool/pool_result.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "mneme/base/testing/each_member.h"
#include "mneme/pool/result_log.h"

namespace mneme {
namespace {

using testing_members::change;

PoolResult result_of(const std::string& passes) {
  PoolResult result;
  result.configuration.passes = passes;
  result.details.together.exec_time = {Nanoseconds(100.5), Nanoseconds(101)};
  return result;
}

void change_each(PoolResult& value, const testing_members::SeeMember& see) {
  auto& [configuration, failure, reason, origin, shared_with, label, details] = value;
  Configuration other;
  other.grid.x = 7;
  change(configuration, other, "configuration", see);
  for (Failure kind : {Failure::wrong_result, Failure::compile_error, Failure::compile_timeout, Failure::invalid_launch,
                       Failure::device_fault, Failure::run_timeout, Failure::worker_lost, Failure::cancelled})
    change(failure, kind, "failure", [&](const std::string& name) {
      see(name);
      change(reason, "words", "reason", see);
    });
  for (Origin kind : {Origin::shared, Origin::resumed}) change(origin, kind, "origin", see);
  change(shared_with, digest_of(ByteVector(1)), "shared_with", see);
  change(label, "some", "label", see);
  ResultDetails other_details;
  other_details.together.exec_time = {Nanoseconds(1)};
  change(details, other_details, "details", see);
}

TEST(PoolResult, EveryMemberIsWrittenAndRead) {
  PoolResult result = result_of("a");
  const nlohmann::json usual = to_json(result);
  change_each(result, [&](const std::string& name) {
    const nlohmann::json json = to_json(result);
    EXPECT_NE(json, usual) << name << " is not written";
    auto read = pool_result_from_json(json);
    ASSERT_TRUE(read.ok()) << name << ": " << read.status().to_string();
    EXPECT_EQ(to_json(*read), json) << name << " is not read";
  });
}

class TakenUpLogTest : public testing::Test {
 protected:
  TakenUpLogTest() { std::filesystem::create_directories(folder_); }
  ~TakenUpLogTest() override { std::filesystem::remove_all(folder_); }
  static std::vector<nlohmann::json> lines(const Path& log) {
    std::vector<nlohmann::json> found;
    auto run = read_log(log);
    EXPECT_TRUE(run.ok()) << run.status().to_string();
    if (run.ok())
      for (const PoolResult& result : run->results) found.push_back(to_json(result));
    return found;
  }

  const Path folder_ = std::filesystem::temp_directory_path() / ("mneme-taken-up-log-test-" + std::to_string(::getpid()));
  const nlohmann::json about_ = {{"database", "x"}};
};

TEST_F(TakenUpLogTest, WhatIsTakenUpSaysTheSameInTheLogAndToTheRun) {
  std::vector<PoolResult> results = {result_of("measured"), result_of("shared"),    result_of("wrong"),
                                     result_of("lost"),     result_of("cancelled"), result_of("anew")};
  results[1].origin = Origin::shared;
  results[1].shared_with = whole_digest(results[0].configuration);
  results[2].failure = Failure::wrong_result;
  results[2].reason = "it differs";
  results[3].failure = Failure::worker_lost;
  results[4].failure = Failure::cancelled;
  results[5].label = "round 1";
  const Path path = folder_ / "log.jsonl";
  {
    auto log = ResultLog::open(path, about_, ResultLog::Existing::refuse);
    ASSERT_TRUE(log.ok()) << log.status().to_string();
    for (const PoolResult& result : results)
      ASSERT_TRUE(log->append(result, to_json(result.configuration), whole_digest(result.configuration)).ok());
  }
  const std::vector<nlohmann::json> written = lines(path);
  ASSERT_EQ(written.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(written[i], to_json(results[i]));
  auto log = ResultLog::open(path, about_, ResultLog::Existing::resume);
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  EXPECT_EQ(lines(path), written);
  EXPECT_EQ(log->known().size(), 3u) << "neither what was lost, nor what was given up, nor what has a label";
  for (size_t i : {0, 1, 2}) {
    auto known = log->known().find(whole_digest(results[i].configuration));
    ASSERT_NE(known, log->known().end()) << i;
    results[i].origin = Origin::resumed;
    EXPECT_EQ(to_json(known->second), to_json(results[i]));
  }
}

// By hand, as versions wrote it in which what is masked was called poison.
constexpr std::string_view kOlderLog =
    R"({"about":{"database":"x"},"mneme_log":1}
{"configuration":{"passes":"a","verdict":{"poison":false}},"digest":"DIGEST","failure":null,"origin":"measured","result":{"verified":true,"executed":true,"failed":false,"exec_time":[100.5],"poison":"off","poisoned_bytes":0,"times":{"poison":3.0,"run":7.0}}}
{"configuration":{"passes":"b"},"digest":"OTHER","failure":null,"origin":"measured","result":{"verified":true,"executed":true,"failed":false,"exec_time":[200.0],"instances":[{"record_id":"00112233445566778899aabbccddeeff","result":{"verified":true,"executed":true,"failed":false,"exec_time":[200.0],"poison":"on","poisoned_bytes":64,"times":{"poison":4.0}}}]}}
{"configuration":{"passes":"c","verdict":{"poison":false}},"digest":"THIRD","failure":null,"origin":"shared","result":{"verified":true,"executed":true,"failed":false,"exec_time":[100.5],"poison":"off","poisoned_bytes":0},"shared_with":"DIGEST"}
)";

TEST_F(TakenUpLogTest, ALogOfAnOlderVersionIsReadAndTakenUp) {
  Configuration measured, other, shared;
  measured.passes = "a", other.passes = "b", shared.passes = "c";
  measured.verdict.mask = shared.verdict.mask = false;
  std::string text(kOlderLog);
  const auto fill = [&](const std::string& name, const Digest& digest) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), digest.hex());
  };
  fill("DIGEST", Hasher().add(std::string_view(R"({"passes":"a","verdict":{"poison":false}})")).finish());
  fill("OTHER", whole_digest(other));
  fill("THIRD", whole_digest(shared));
  const Path path = folder_ / "log.jsonl";
  std::ofstream(path) << text;

  const auto run = read_log(path);
  ASSERT_TRUE(run.ok()) << run.status().to_string();
  ASSERT_EQ(run->results.size(), 3u);
  EXPECT_EQ(run->results[0].configuration, measured);
  const nlohmann::json first = to_json(run->results[0])["result"], second = to_json(run->results[1])["result"]["instances"][0];
  EXPECT_EQ(first["mask"], "off");
  EXPECT_EQ(first["masked_bytes"], 0);
  EXPECT_EQ(first["times"]["mask"], 3.0);
  EXPECT_EQ(second["result"]["mask"], "on");
  EXPECT_EQ(second["result"]["masked_bytes"], 64);

  const auto log = ResultLog::open(path, about_, ResultLog::Existing::resume);
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  for (const Configuration& configuration : {measured, other, shared}) {
    const auto known = log->known().find(whole_digest(configuration));
    ASSERT_NE(known, log->known().end()) << "it would be measured again: " << configuration.passes;
    EXPECT_EQ(known->second.configuration, configuration);
  }
  EXPECT_EQ(log->known().at(whole_digest(shared)).shared_with, whole_digest(measured)) << "which its log's line names too";
  for (const nlohmann::json& line : lines(path)) EXPECT_EQ(line.dump().find("poison"), std::string::npos) << line.dump();
}

TEST(PoolResult, OfAFailureNoTimeIsTheBest) {
  PoolResult result;
  result.details.together.exec_time = {Nanoseconds(7), Nanoseconds(5), Nanoseconds(6)};
  EXPECT_EQ(result.best_time(), Nanoseconds(5));
  result.failure = Failure::cancelled;
  EXPECT_EQ(result.best_time(), std::nullopt);
}

TEST(PoolResult, AFailureThatIsSharedHasItsReasonToo) {
  PoolResult result;
  result.failure = Failure::wrong_result;
  result.reason = "it differs";
  result.origin = Origin::shared;
  result.shared_with = Digest();
  EXPECT_EQ(pool_result_from_json(to_json(result))->reason, "it differs");
}

}  // namespace
}  // namespace mneme
