// What a device worker tells and when, over work that a test scripts.
#include "mneme/pool/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>
#include <thread>

#include "mneme/pool/messages.h"

namespace mneme {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::json;

// A job does what its passes say, and each is left that may be.
class ScriptedWork final : public DeviceWork {
 public:
  explicit ScriptedWork(Status fetching) : fetching_(std::move(fetching)) {}
  PoolResult measure(const Configuration& configuration, ByteSpan, const Json&, const Watch& watch) override {
    PoolResult result;
    result.details.together.assembler = configuration.passes;
    if (configuration.passes == "fault") result.failure = Failure::device_fault;
    if (configuration.passes == "wrong") result.failure = Failure::wrong_result;
    if (result.failed()) return result;
    watch.waiting();
    if (configuration.passes == "long") std::this_thread::sleep_for(kFetchAfter + std::chrono::milliseconds(1));
    if (watch.leave()) left_.push_back(result);
    return result;
  }
  Status fetch_left() override { return fetching_; }
  PoolResult take_left() override {
    PoolResult result = std::move(left_.front());
    left_.pop_front();
    return result;
  }

 private:
  Status fetching_;
  std::deque<PoolResult> left_;
};

// All that a worker says of jobs that it is given at once, in order: "began 1", "told 1", "wrong_result 2".
std::vector<std::string> told_of(const std::vector<std::string>& jobs, const Status& fetching = {}) {
  auto ends = std::move(*Channel::pair());
  const auto object = std::make_shared<Descriptor>(::memfd_create("object", MFD_CLOEXEC));
  std::vector<std::string> passes;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Configuration configuration;
    const bool alone = jobs[i].starts_with("alone ");
    passes.push_back(configuration.passes = jobs[i].substr(alone ? 6 : 0));
    EXPECT_TRUE(send(ends.first, MeasureJob{i + 1, to_json(configuration), Json::object(), object, alone}).ok());
  }
  std::thread worker([&] { serve_device(std::move(ends.second), std::unique_ptr<DeviceWork>(new ScriptedWork(fetching))); });
  std::vector<std::string> told;
  for (size_t results = 0; results < jobs.size();) {
    auto message = ends.first.receive();
    if (!message.ok()) break;
    const FromWorker decoded = *decode_from_worker(WorkerRole::device, std::move(*message));
    if (const auto* job = std::get_if<JobBegan>(&decoded)) told.push_back(fmt::format("began {}", job->id));
    if (const auto* job = std::get_if<JobLoading>(&decoded)) told.push_back(fmt::format("loading {}", job->id));
    const auto* ended = std::get_if<JobEnded>(&decoded);
    if (!ended) continue;
    ++results;
    const PoolResult& result = ended->result;
    told.push_back(fmt::format("{} {}", result.failed() ? to_string(result.failure) : "told", ended->id));
    if (!result.reason.empty()) told.back() += ": " + result.reason;
    if (!result.failed()) EXPECT_EQ(result.details.together.assembler, passes[ended->id - 1]);
  }
  {
    [[maybe_unused]] Channel closed = std::move(ends.first);
  }
  worker.join();
  return told;
}

TEST(DeviceWorker, TellsResultsWhileTheNextRuns) {
  EXPECT_THAT(told_of({"long", "long", "short", "short"}),
              ElementsAre("began 1", "loading 2", "began 2", "loading 3", "began 3", "told 1", "told 2", "loading 4", "began 4",
                          "told 3", "told 4"));
}

TEST(DeviceWorker, WhatTakesTheProcessDownLeavesTheOthersUntold) {
  EXPECT_THAT(told_of({"short", "short", "fault", "short"}),
              ElementsAre("began 1", "loading 2", "began 2", "loading 3", "began 3", "device_fault 3"));
  // Those that were fetched need no device any more.
  EXPECT_THAT(told_of({"long", "long", "fault"}),
              ElementsAre("began 1", "loading 2", "began 2", "loading 3", "began 3", "told 1", "told 2", "device_fault 3"));
}

TEST(DeviceWorker, AFailureIsToldBeforeTheNextBeginsAndAllThatWasLeftBeforeIt) {
  EXPECT_THAT(told_of({"short", "wrong", "short"}),
              ElementsAre("began 1", "loading 2", "began 2", "told 1", "wrong_result 2", "began 3", "told 3"));
}

TEST(DeviceWorker, WhatIsMeasuredAloneIsToldBeforeTheNextBegins) {
  EXPECT_THAT(told_of({"alone short", "alone short", "short"}),
              ElementsAre("began 1", "loading 2", "told 1", "began 2", "loading 3", "told 2", "began 3", "told 3"));
}

TEST(DeviceWorker, EndsWhenTimesCannotBeFetched) {
  const Status failure = error(Code::internal, "no times today");
  EXPECT_THAT(told_of({"long", "long", "short"}, failure),
              ElementsAre("began 1", "loading 2", "began 2", "loading 3", "worker_lost 2: internal: no times today"));
  EXPECT_THAT(told_of({"short", "wrong", "short"}, failure), ElementsAre("began 1", "loading 2", "began 2", "wrong_result 2"));
}

}  // namespace
}  // namespace mneme
