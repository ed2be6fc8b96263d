// Results as JSON and in logs: nothing of one is lost, also where a log is taken up again.
#include "mneme/pool/pool_result.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "mneme/base/testing/each_member.h"
#include "mneme/pool/result_log.h"

namespace mneme {
namespace {

using testing_members::change;

PoolResult result_of(const std::string& passes) {
  PoolResult result;
  result.configuration.passes = passes;
  result.details = {{"exec_time", {100.5, 101}}};
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
  change(details, {{"exec_time", {1}}}, "details", see);
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

}  // namespace
}  // namespace mneme
