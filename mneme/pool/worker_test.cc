// What a device worker tells and when, over work that a test scripts.
#include "mneme/pool/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <thread>

#include "mneme/pool/messages.h"
#include "mneme/process/last_words.h"

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
    if (configuration.passes == "lost") result.failure = Failure::worker_lost;
    if (configuration.passes == "crash") ::_exit(1);
    if (result.failed()) return result;
    watch.waiting();
    if (configuration.passes == "asks") {
      result.failure = Failure::wrong_result;
      result.reason = watch.followed() ? "followed" : "not followed";
      return result;
    }
    if (configuration.passes == "many runs") {
      for (const Nanoseconds time : {Nanoseconds(5), Nanoseconds(6)}) EXPECT_TRUE(watch.timed({&time, 1}));
      return result;
    }
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

// All that a worker says of jobs that it is given at once, in order: "began 1", "told 1", "wrong_result 2". Those in `given_up`
// it is told to stop.
std::vector<std::string> told_of(const std::vector<std::string>& jobs, const Status& fetching = {},
                                 const std::vector<JobId>& given_up = {}) {
  auto ends = std::move(*Channel::pair());
  const auto object = std::make_shared<Descriptor>(::memfd_create("object", MFD_CLOEXEC));
  std::vector<std::string> passes;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Configuration configuration;
    const bool alone = jobs[i].starts_with("alone ");
    passes.push_back(configuration.passes = jobs[i].substr(alone ? 6 : 0));
    EXPECT_TRUE(send(ends.first, MeasureJob{i + 1, to_json(configuration), Json::object(), object, alone}).ok());
  }
  for (JobId job : given_up) EXPECT_TRUE(send(ends.first, StopJob{job}).ok());
  std::thread worker([&] { serve_device(std::move(ends.second), std::unique_ptr<DeviceWork>(new ScriptedWork(fetching))); });
  std::vector<std::string> told;
  for (size_t results = 0; results < jobs.size();) {
    auto message = ends.first.receive();
    if (!message.ok()) break;
    const FromWorker decoded = *decode_from_worker(WorkerRole::device, std::move(*message));
    if (const auto* job = std::get_if<JobBegan>(&decoded)) told.push_back(fmt::format("began {}", job->id));
    if (const auto* job = std::get_if<JobLoading>(&decoded)) told.push_back(fmt::format("loading {}", job->id));
    if (const auto* job = std::get_if<JobTimed>(&decoded)) told.push_back(fmt::format("timed {}", job->id));
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

TEST(DeviceWorker, WhatWasLeftIsToldBetweenTheRunsOfAJobThatTakesLong) {
  EXPECT_THAT(told_of({"short", "short", "many runs"}), ElementsAre("began 1", "loading 2", "began 2", "loading 3", "began 3",
                                                                    "told 1", "told 2", "timed 3", "timed 3", "told 3"));
  const Status failure = error(Code::internal, "no times today");
  EXPECT_THAT(told_of({"short", "many runs", "short"}, failure),
              ElementsAre("began 1", "loading 2", "began 2", "loading 3", "timed 2", "timed 2", "told 2"));
}

TEST(DeviceWorker, AJobIsFollowedByTheOneThatIsAtHand) {
  EXPECT_THAT(told_of({"asks", "asks", "alone asks", "asks"}),
              testing::IsSupersetOf({"wrong_result 1: followed", "wrong_result 2: followed", "wrong_result 3: not followed",
                                     "wrong_result 4: not followed"}));
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

TEST(DeviceWorker, EachThatWasGivenUpIsNotBegun) {
  EXPECT_THAT(told_of({"short", "short", "short"}, {}, {2, 3}),
              ElementsAre("began 1", "loading 2", "told 1", "cancelled 2: given up before it was measured",
                          "cancelled 3: given up before it was measured"));
}

TEST(DeviceWorker, EndsAfterAFailureOfItsOwn) {
  EXPECT_THAT(told_of({"lost", "short"}), ElementsAre("began 1", "worker_lost 1"));
}

// A process of its own notes a job before it begins, and tells it with what follows.
TEST(DeviceWorker, AJobThatEndsTheProcessAsItBeginsWasNoted) {
  auto ends = std::move(*Channel::pair());
  const LastWords words = std::move(*LastWords::create());
  const auto object = std::make_shared<Descriptor>(::memfd_create("object", MFD_CLOEXEC));
  JobId last = 0;
  for (const char* passes : {"short", "crash"}) {
    Configuration configuration;
    configuration.passes = passes;
    ASSERT_TRUE(send(ends.first, MeasureJob{++last, to_json(configuration), Json::object(), object, false}).ok());
  }
  const pid_t worker = ::fork();
  if (worker == 0) {
    ends.first = {};
    LastWords::divert_to(Descriptor(::dup(words.descriptor())));
    serve_device(std::move(ends.second), std::unique_ptr<DeviceWork>(new ScriptedWork({})));
    ::_exit(0);
  }
  ends.second = {};
  std::vector<std::string> told;
  for (auto message = ends.first.receive(); message.ok(); message = ends.first.receive()) {
    const FromWorker decoded = *decode_from_worker(WorkerRole::device, std::move(*message));
    if (const auto* job = std::get_if<JobBegan>(&decoded)) told.push_back(fmt::format("began {}", job->id));
    if (const auto* job = std::get_if<JobLoading>(&decoded)) told.push_back(fmt::format("loading {}", job->id));
  }
  EXPECT_EQ(::waitpid(worker, nullptr, 0), worker);
  EXPECT_THAT(told, ElementsAre("began 1", "loading 2"));
  EXPECT_EQ(words.job(), 2u);
}

constexpr const char* kCrash = "crash";
constexpr const char* kCrashAtOnce = "crash at once";

// What its passes say, a configuration fails at; "crash" ends the process when it is assembled.
class ScriptedCompiling final : public CompileWork {
 public:
  Status check_launch(const Configuration& configuration) override { return failing(configuration, "launch"); }
  Result<TranslatedCode> translate(const Configuration& configuration) override {
    if (configuration.passes == kCrashAtOnce) ::_exit(1);
    MNEME_TRY(failing(configuration, "translate"));
    assembling_ = failing(configuration, "assemble");
    if (configuration.passes == kCrash) assembling_ = error(Code::internal, "{}", kCrash);
    return TranslatedCode{configuration.passes, Json::object()};
  }
  void keep() override { kept_.push_back(assembling_); }
  std::vector<Result<AssembledCode>> assemble() override {
    std::vector<Result<AssembledCode>> all;
    for (Status& status : kept_) {
      if (status.message() == kCrash) ::_exit(1);
      if (status.ok())
        all.push_back(AssembledCode{ByteVector(5, std::byte{7}), {{"digest", "x"}}});
      else
        all.push_back(std::move(status));
    }
    kept_.clear();
    return all;
  }

 private:
  static Status failing(const Configuration& configuration, const char* step) {
    return configuration.passes == step ? error(Code::invalid_argument, "not today") : Status();
  }
  Status assembling_;
  std::vector<Status> kept_;
};

struct CompileStep {
  std::string passes;
  bool at_once = true;    // it is assembled without being asked about
  bool if_asked = false;  // else the answer
  bool alone = false;
};

// What a compile worker says of jobs that it is given at once, until each has ended that is to be assembled, or until its
// process, a child of this one, ends.
std::vector<std::string> told_by_compiler(const std::vector<CompileStep>& jobs, const LastWords* words = nullptr) {
  auto ends = std::move(*Channel::pair());
  JobId last = 0;
  size_t open = 0;
  for (const CompileStep& job : jobs) {
    Configuration configuration;
    configuration.passes = job.passes;
    EXPECT_TRUE(send(ends.first, CompileJob{++last, to_json(configuration), job.at_once, job.alone}).ok());
    if (!job.at_once) EXPECT_TRUE(send(ends.first, AssembleAnswer{job.if_asked}).ok());
    if (job.at_once || job.if_asked) ++open;
  }
  const pid_t worker = ::fork();
  if (worker == 0) {
    ends.first = {};
    if (words) LastWords::divert_to(Descriptor(::dup(words->descriptor())));
    serve_compile(std::move(ends.second), std::unique_ptr<CompileWork>(new ScriptedCompiling));
    ::_exit(0);
  }
  ends.second = {};
  std::vector<std::string> told;
  while (open > 0) {
    auto message = ends.first.receive();
    if (!message.ok()) break;
    const FromWorker decoded = *decode_from_worker(WorkerRole::compile, std::move(*message));
    if (const auto* job = std::get_if<TranslationBegan>(&decoded); job && words) told.push_back(fmt::format("began {}", job->id));
    if (const auto* job = std::get_if<JobsJoined>(&decoded)) told.push_back(fmt::format("joined {}", job->id));
    if (const auto* job = std::get_if<CodeTranslated>(&decoded)) told.push_back(fmt::format("translated {}", job->id));
    if (const auto* job = std::get_if<CodeAssembled>(&decoded)) {
      told.push_back(fmt::format("assembled {}", job->id));
      std::array<std::byte, 8> object{};
      EXPECT_EQ(::pread(job->object->number(), object.data(), object.size(), 0), 5);
      --open;
    }
    if (const auto* job = std::get_if<JobEnded>(&decoded)) {
      told.push_back(fmt::format("{} {}: {}", to_string(job->result.failure), job->id, job->result.reason));
      --open;
    }
  }
  ends.first = {};
  EXPECT_EQ(::waitpid(worker, nullptr, 0), worker);
  return told;
}

TEST(CompileWorker, EachStepThatFailsIsToldByItsKind) {
  EXPECT_THAT(told_by_compiler({{"launch"}, {"translate"}, {"assemble"}, {"right"}}),
              ElementsAre("invalid_launch 1: invalid_argument: not today", "compile_error 2: invalid_argument: not today",
                          "translated 3", "compile_error 3: invalid_argument: not today", "translated 4", "assembled 4"));
}

// The first at once, for which a device may wait; then what is at hand, at most twice as many each time.
TEST(CompileWorker, WhatIsAtHandIsAssembledTogether) {
  EXPECT_THAT(told_by_compiler({{"a"}, {"b"}, {"c"}, {"assemble"}, {"d"}, {"translate"}, {"e"}}),
              ElementsAre("translated 1", "assembled 1", "translated 2", "translated 3", "joined 3", "assembled 2", "assembled 3",
                          "translated 4", "translated 5", "compile_error 6: invalid_argument: not today", "translated 7",
                          "joined 7", "compile_error 4: invalid_argument: not today", "assembled 5", "assembled 7"));
}

TEST(CompileWorker, WhatIsToBeAloneIsAssembledWithNoOther) {
  EXPECT_THAT(told_by_compiler({{"a"}, {"b"}, {.passes = "c", .alone = true}, {"d"}}),
              ElementsAre("translated 1", "assembled 1", "translated 2", "assembled 2", "translated 3", "assembled 3",
                          "translated 4", "assembled 4"));
}

TEST(CompileWorker, EachTranslationHasItsOwnAnswer) {
  EXPECT_THAT(told_by_compiler({{"a", false, false}, {"b", false, true}, {"c", false, false}, {"d"}}),
              ElementsAre("translated 1", "translated 2", "assembled 2", "translated 3", "translated 4", "assembled 4"));
}

// Of a process that ends the pool knows what it was told before: that several are assembled, or one whose translation was not the
// last to begin. Else it charges the job that began last.
TEST(CompileWorker, WhatIsAssembledIsToldBeforeItCanCrash) {
  EXPECT_THAT(told_by_compiler({{"a"}, {"crash"}, {"b"}}),
              ElementsAre("translated 1", "assembled 1", "translated 2", "translated 3", "joined 3"));
  EXPECT_THAT(
      told_by_compiler({{"a"}, {"crash"}, {"translate"}, {.passes = "b", .alone = true}}),
      ElementsAre("translated 1", "assembled 1", "translated 2", "compile_error 3: invalid_argument: not today", "joined 2"));
  EXPECT_THAT(told_by_compiler({{"a"}, {"crash"}, {"b", false, false}}),
              ElementsAre("translated 1", "assembled 1", "translated 2", "translated 3", "joined 2"));
  EXPECT_THAT(told_by_compiler({{"crash"}, {"b"}}), ElementsAre("translated 1")) << "alone, and the last that began";
}

TEST(CompileWorker, AJobThatEndsTheProcessWhileItIsTranslatedWasNoted) {
  const LastWords words = std::move(*LastWords::create());
  EXPECT_THAT(told_by_compiler({{"a"}, {kCrashAtOnce}}, &words), ElementsAre("began 1", "translated 1", "assembled 1"));
  EXPECT_EQ(words.job(), 2u);
}

}  // namespace
}  // namespace mneme
