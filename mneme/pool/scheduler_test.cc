// The scheduler driven through its states by events that a test makes up: no process, no clock, no disk.
#include "mneme/pool/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

Configuration with_passes(const std::string& passes) {
  Configuration configuration;
  configuration.passes = passes;
  return configuration;
}

// As of waitpid().
WorkerEnd by_signal(int signal, std::string last_words = {}) { return {ProcessEnd(signal), {}, std::move(last_words)}; }
WorkerEnd by_itself() { return {}; }

PoolResult with_times(std::initializer_list<int> times) {
  PoolResult result;
  for (int time : times) result.details.together.exec_time.emplace_back(time);
  return result;
}

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() {
    options_.instances = {Digest()};
    options_.devices = {0};
    options_.compile_workers = 1;
    options_.limits = {.compiling = seconds(60), .running = seconds(10), .starting = seconds(120)};
  }

  // Carries the commands out, as far as there is something to be remembered of them.
  void note() {
    for (Command& command : scheduler_->take_commands()) {
      if (auto* start = std::get_if<StartWorker>(&command)) started_.push_back(*start);
      if (auto* kill = std::get_if<KillWorker>(&command)) killed_.push_back(kill->worker);
      if (std::holds_alternative<KillZygote>(command)) ++zygotes_killed_;
      if (auto* sent = std::get_if<SendToWorker>(&command)) sent_[sent->worker].push_back(std::move(sent->message));
      if (auto* listen = std::get_if<ListenToWorker>(&command)) listen_to_.push_back(listen->worker);
      if (auto* delivery = std::get_if<DeliverResult>(&command)) results_.push_back(std::move(*delivery));
      if (auto* status = std::get_if<SetStatus>(&command)) status_ = status->status;
    }
  }

  void open() {
    scheduler_.emplace(options_, known_);
    scheduler_->start(now_);
    note();
  }
  // Every device worker, and then every compile worker, is ready.
  void open_ready() {
    open();
    for (size_t i = 0; i < options_.devices.size(); ++i) become_ready(started_[i].worker);
    for (WorkerId compiler : workers(WorkerRole::compile)) receive(compiler, WorkerReady());
  }
  void become_ready(WorkerId device) {
    receive(device, DeviceOpened{"a device", "sm_90"});
    receive(device, WorkerReady());
  }
  std::vector<WorkerId> workers(WorkerRole role) const {
    std::vector<WorkerId> found;
    for (const StartWorker& start : started_)
      if (start.order.role == role) found.push_back(start.worker);
    return found;
  }
  // The one that started last.
  WorkerId compiler() const { return workers(WorkerRole::compile).back(); }
  WorkerId device() const { return workers(WorkerRole::device).back(); }

  JobId submit(const std::string& passes, std::string label = {}) {
    std::map<JobId, Job> jobs;
    const JobId id = ++jobs_;
    jobs.emplace(id, Job{.id = id, .configuration = with_passes(passes), .future = {}, .label = std::move(label)});
    scheduler_->submit(std::move(jobs));
    hand_out();
    return id;
  }
  void hand_out() {
    scheduler_->hand_out(now_);
    note();
  }
  void receive(WorkerId worker, FromWorker message) {
    scheduler_->receive(worker, std::move(message), now_);
    hand_out();
  }
  void end(WorkerId worker, const WorkerEnd& end) {
    scheduler_->worker_ended(worker, end, now_);
    hand_out();
  }
  void cancel(JobId job) {
    scheduler_->cancel(std::array{job});
    hand_out();
  }
  // The time of the next alarm comes, and the worker that it is for has said nothing.
  void run_out_of_time() {
    now_ = scheduler_->next_alarm();
    scheduler_->alarm(now_);
    note();
    for (WorkerId worker : std::exchange(listen_to_, {})) scheduler_->listened(worker, false, now_);
    hand_out();
  }

  // The compiler makes the object of that name of the job.
  void translate(JobId job, const std::string& object) {
    receive(compiler(), CodeTranslated{job, object, {{"times", {{"translate", 5}}}}});
  }
  void assemble(JobId job, const std::string& object) {
    receive(compiler(), CodeAssembled{job, {{"digest", object}}, std::make_shared<Descriptor>()});
  }
  void compile(JobId job, const std::string& object) {
    translate(job, object);
    assemble(job, object);
  }
  void run(JobId job) { receive(device(), JobBegan{job}); }
  void measure(JobId job, PoolResult result = with_times({100})) { receive(device(), JobEnded{job, std::move(result)}); }

  template <typename Message>
  std::vector<JobId> given(WorkerId worker) {
    std::vector<JobId> jobs;
    for (const ToWorker& message : sent_[worker])
      if (const auto* job = std::get_if<Message>(&message)) jobs.push_back(job->id);
    return jobs;
  }
  std::vector<JobId> to_compile(WorkerId worker) { return given<CompileJob>(worker); }
  std::vector<JobId> to_measure(WorkerId worker) { return given<MeasureJob>(worker); }
  bool alone(WorkerId worker, JobId id) {
    for (const ToWorker& message : sent_[worker])
      if (const auto* job = std::get_if<MeasureJob>(&message); job && job->id == id) return job->alone;
    return false;
  }
  // "passes: failure, origin", in the order in which they came.
  std::vector<std::string> results() const {
    std::vector<std::string> all;
    for (const DeliverResult& one : results_)
      all.push_back(fmt::format("{}: {}, {}", one.result.configuration.passes, to_string(one.result.failure),
                                to_string(one.result.origin)));
    return all;
  }
  PoolProgress progress() const {
    PoolProgress progress;
    scheduler_->describe(progress);
    return progress;
  }

  PoolOptions options_;
  std::map<Digest, PoolResult> known_;
  std::optional<Scheduler> scheduler_;
  PoolTime now_ = PoolTime(seconds(1000));
  JobId jobs_ = 0;

  std::vector<StartWorker> started_;
  std::vector<WorkerId> killed_, listen_to_;
  unsigned zygotes_killed_ = 0;
  std::map<WorkerId, std::vector<ToWorker>> sent_;
  std::vector<DeliverResult> results_;
  Status status_;
};

TEST_F(SchedulerTest, AJobIsCompiledMeasuredAndHasItsResult) {
  open();
  ASSERT_THAT(workers(WorkerRole::device), SizeIs(1));
  EXPECT_THAT(workers(WorkerRole::compile), IsEmpty()) << "before a device has told its architecture";
  const JobId job = submit("a");
  become_ready(device());
  EXPECT_EQ(started_.back().order.architecture, "sm_90");
  EXPECT_THAT(to_compile(compiler()), IsEmpty()) << "before it is ready";
  receive(compiler(), WorkerReady());
  EXPECT_THAT(to_compile(compiler()), ElementsAre(job));
  EXPECT_EQ(progress().compiling, 1u);
  compile(job, "object");
  EXPECT_THAT(to_measure(device()), ElementsAre(job));
  EXPECT_EQ(progress().compiling, 0u);
  EXPECT_EQ(progress().measuring, 1u);
  run(job);
  now_ += milliseconds(3);
  measure(job);
  EXPECT_THAT(results(), ElementsAre("a: none, measured"));
  EXPECT_TRUE(results_[0].write_to_log);
  EXPECT_EQ(results_[0].digest, whole_digest(with_passes("a")));
  EXPECT_EQ(to_json(results_[0].result.details)["times"]["translate"], 5);
  EXPECT_EQ(progress().device_busy, milliseconds(3));
  EXPECT_EQ(progress().distinct_objects, 1u);
  EXPECT_EQ(scheduler_->next_alarm(), kNever) << "nobody has anything to do";
}

// Workers that do not become ready.

TEST_F(SchedulerTest, WorkersThatEndAsTheyStartAreReplacedAndThreeInARowEndThePool) {
  open();
  submit("a");
  receive(device(), WorkerRefused{"unavailable: no GPU today"});
  end(device(), by_itself());
  end(device(), by_signal(SIGSEGV));
  EXPECT_THAT(workers(WorkerRole::device), SizeIs(3));
  EXPECT_THAT(results(), IsEmpty());
  receive(device(), WorkerRefused{"unavailable: no GPU today"});
  end(device(), by_itself());
  EXPECT_THAT(workers(WorkerRole::device), SizeIs(3));
  EXPECT_THAT(results(), ElementsAre("a: worker_lost, measured"));
  EXPECT_EQ(status_.to_string(), "unavailable: 3 workers in a row did not start: the last one unavailable: no GPU today");
  EXPECT_EQ(results_[0].result.reason, status_.to_string());
  submit("b");
  EXPECT_EQ(results_.at(1).result.reason, status_.to_string());
}

TEST_F(SchedulerTest, OneThatBecomesReadyForgivesThoseBefore) {
  open();
  for (int i = 0; i < 4; ++i) {
    end(device(), by_signal(SIGSEGV));
    end(device(), by_signal(SIGSEGV));
    become_ready(device());
    end(device(), by_signal(SIGSEGV));
  }
  EXPECT_TRUE(status_.ok()) << status_.to_string();
  EXPECT_EQ(progress().workers_replaced, 4u);
}

TEST_F(SchedulerTest, ThoseThatSomebodyKillsAreReplacedMoreOften) {
  open();
  submit("a");
  for (int i = 0; i < 19; ++i) end(device(), by_signal(SIGKILL));
  EXPECT_TRUE(status_.ok());
  end(device(), by_signal(SIGKILL));
  EXPECT_EQ(status_.message(),
            "20 workers in a row did not start: the last one ended by signal 9 (Killed): somebody killed it, or the system did "
            "because memory ran out");
}

TEST_F(SchedulerTest, OneThatHangsAsItStartsIsKilled) {
  open();
  submit("a");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(scheduler_->next_alarm(), now_ + seconds(120));
    run_out_of_time();
    EXPECT_EQ(killed_.back(), device());
    end(device(), by_signal(SIGKILL));
  }
  EXPECT_EQ(status_.message(), "3 workers in a row did not start: the last one was not ready after 120 s");
}

TEST_F(SchedulerTest, OneThatCannotBeForkedSaysWhy) {
  open();
  for (int i = 0; i < 3; ++i) end(device(), {{}, "was not forked: Resource temporarily unavailable", {}});
  EXPECT_THAT(status_.message(), HasSubstr("the last one was not forked: Resource temporarily unavailable"));
}

TEST_F(SchedulerTest, ACommandToStartAWorkerThatFailsEndsThePool) {
  open();
  submit("a");
  scheduler_->not_started(device(), error(Code::exhausted, "no memory"));
  note();
  EXPECT_EQ(status_.to_string(), "exhausted: starting a worker of the pool: no memory");
  EXPECT_THAT(results(), ElementsAre("a: worker_lost, measured"));
  EXPECT_EQ(scheduler_->next_alarm(), kNever);
}

TEST_F(SchedulerTest, DevicesOfAPoolMustBeAlike) {
  options_.devices = {0, 1};
  open();
  receive(started_[0].worker, DeviceOpened{"one", "sm_90"});
  receive(started_[1].worker, DeviceOpened{"two", "sm_80"});
  EXPECT_EQ(status_.message(), "the devices of a pool must be alike: one is sm_90 and another, two, is sm_80");
}

// A device worker that is lost with jobs.

class DeviceLossTest : public SchedulerTest {
 protected:
  // So many jobs are on the device, of which the first has begun.
  std::vector<JobId> give(size_t count) {
    std::vector<JobId> jobs;
    for (size_t i = 0; i < count; ++i) {
      jobs.push_back(submit(fmt::format("job {}", i)));
      compile(jobs.back(), fmt::format("object {}", i));
    }
    run(jobs[0]);
    return jobs;
  }
  // Jobs of a tenth of a millisecond, so that as many are at hand as may be.
  void make_short_jobs_known() {
    for (int i = 0; i < 20; ++i) {
      const JobId job = submit(fmt::format("short {}", i));
      compile(job, fmt::format("short object {}", i));
      run(job);
      now_ += std::chrono::microseconds(100);
      measure(job);
    }
    results_.clear();
  }
};

TEST_F(DeviceLossTest, ADeviceThatHangsIsEndedAndTheSixteenJobsBehindAreMeasured) {
  open_ready();
  make_short_jobs_known();
  const WorkerId hanging = device();
  const std::vector<JobId> jobs = give(17);
  const std::vector<JobId> behind(jobs.begin() + 1, jobs.end());
  EXPECT_EQ(progress().measuring, 16u);
  EXPECT_EQ(progress().ready, 1u);
  EXPECT_EQ(scheduler_->next_alarm(), now_ + seconds(10));
  run_out_of_time();
  EXPECT_THAT(killed_, ElementsAre(hanging));
  EXPECT_THAT(results(), IsEmpty()) << "until its end is known";
  end(hanging, by_signal(SIGKILL));
  EXPECT_THAT(results(), ElementsAre("job 0: run_timeout, measured"));
  EXPECT_EQ(results_[0].result.reason, "the kernel ran longer than 10 s, and was ended");
  EXPECT_NE(device(), hanging);
  become_ready(device());
  for (JobId job : behind) {
    run(job);
    measure(job);
  }
  EXPECT_EQ(to_measure(device()), behind) << "in their order";
  EXPECT_FALSE(alone(device(), behind[0]));
  EXPECT_THAT(results_, SizeIs(17));
  EXPECT_EQ(progress().workers_replaced, 1u);
}

TEST_F(DeviceLossTest, WhatRanWithTheChargedJobIsMeasuredAlone) {
  open_ready();
  const WorkerId crashing = device();
  const std::vector<JobId> jobs = give(3);
  run(jobs[1]);  // the first has ended as it should, and its result has not come
  end(crashing, by_signal(SIGSEGV, "some words"));
  EXPECT_THAT(results(), ElementsAre("job 1: device_fault, measured"));
  EXPECT_EQ(results_[0].result.reason,
            "the process that ran the kernel ended by signal 11 (Segmentation fault), after 'some words'");
  become_ready(device());
  EXPECT_THAT(to_measure(device()), ElementsAre(jobs[0], jobs[2]));
  EXPECT_TRUE(alone(device(), jobs[0]));
  EXPECT_FALSE(alone(device(), jobs[2]));
}

// Its message comes once its runs are on the device.
TEST_F(DeviceLossTest, AJobThatWasNotToldButNotedIsCharged) {
  open_ready();
  const WorkerId crashing = device();
  const std::vector<JobId> jobs = give(3);
  receive(crashing, JobLoading{jobs[1]});
  WorkerEnd crash = by_signal(SIGSEGV);
  crash.began = jobs[1];
  end(crashing, crash);
  EXPECT_THAT(results(), ElementsAre("job 1: device_fault, measured"));
  become_ready(device());
  EXPECT_THAT(to_measure(device()), ElementsAre(jobs[0], jobs[2]));
  EXPECT_TRUE(alone(device(), jobs[0]));
}

TEST_F(DeviceLossTest, AJobThatHangsBeforeItWasToldIsCharged) {
  open_ready();
  const WorkerId hanging = device();
  const std::vector<JobId> jobs = give(3);
  run_out_of_time();
  WorkerEnd killed = by_signal(SIGKILL);
  killed.began = jobs[1];
  end(hanging, killed);
  EXPECT_THAT(results(), ElementsAre("job 1: run_timeout, measured"));
}

TEST_F(DeviceLossTest, ACrashWhileAnObjectIsLoadedIsThatJobs) {
  open_ready();
  const std::vector<JobId> jobs = give(3);
  receive(device(), JobLoading{jobs[1]});
  end(device(), by_signal(SIGABRT));
  EXPECT_THAT(results(), ElementsAre("job 1: device_fault, measured"));
  become_ready(device());
  EXPECT_THAT(to_measure(device()), ElementsAre(jobs[0], jobs[2]));
  EXPECT_TRUE(alone(device(), jobs[0]));
}

TEST_F(DeviceLossTest, WhatSomebodyKillsIsTheRunningJobsEvenWhileAnotherIsLoaded) {
  open_ready();
  const std::vector<JobId> jobs = give(2);
  receive(device(), JobLoading{jobs[1]});
  end(device(), by_signal(SIGKILL));
  EXPECT_THAT(results(), ElementsAre("job 0: worker_lost, measured"));
}

TEST_F(DeviceLossTest, AWorkerThatTellsOfItsFaultAndEndsTakesNoOtherJobAlong) {
  open_ready();
  const WorkerId faulty = device();
  const std::vector<JobId> jobs = give(2);
  PoolResult fault;
  fault.failure = Failure::device_fault;
  fault.reason = "an illegal address";
  measure(jobs[0], fault);
  const JobId later = submit("later");
  compile(later, "its object");
  EXPECT_THAT(to_measure(faulty), ElementsAre(jobs[0], jobs[1])) << "it is given no more";
  scheduler_->disconnected(faulty, Disconnection::closed, now_);
  end(faulty, by_itself());
  EXPECT_THAT(results(), ElementsAre("job 0: device_fault, measured"));
  become_ready(device());
  EXPECT_THAT(to_measure(device()), ElementsAre(jobs[1], later));
}

// The fault is told at the moment in which the worker is killed for its silence: no second job is charged.
TEST_F(DeviceLossTest, AFaultThatIsHeardFromAKilledWorkerExplainsItsLoss) {
  open_ready();
  const std::vector<JobId> jobs = give(2);
  run_out_of_time();
  PoolResult fault;
  fault.failure = Failure::device_fault;
  measure(jobs[0], fault);
  end(device(), by_signal(SIGKILL));
  EXPECT_THAT(results(), ElementsAre("job 0: device_fault, measured"));
  become_ready(device());
  EXPECT_THAT(to_measure(device()), ElementsAre(jobs[1]));
}

TEST_F(DeviceLossTest, AJobIsGivenToThreeWorkersThatAreLostBeforeItBegins) {
  open_ready();
  const JobId job = submit("unlucky");
  compile(job, "object");
  for (int i = 0; i < 2; ++i) {
    end(device(), by_signal(SIGKILL));
    become_ready(device());
    EXPECT_THAT(results(), IsEmpty());
  }
  end(device(), by_signal(SIGKILL));
  EXPECT_THAT(results(), ElementsAre("unlucky: worker_lost, measured"));
  EXPECT_EQ(results_[0].result.reason, "3 workers were lost before it began");
}

TEST_F(DeviceLossTest, AConnectionThatIsClosedIsGivenTimeToTellHowTheProcessEnds) {
  open_ready();
  give(1);
  scheduler_->disconnected(device(), Disconnection::closed, now_);
  hand_out();
  EXPECT_THAT(killed_, IsEmpty());
  EXPECT_EQ(scheduler_->next_alarm(), now_ + WorkerLimits::kClosing);
  run_out_of_time();
  EXPECT_THAT(killed_, ElementsAre(device()));
  end(device(), by_signal(SIGKILL));
  EXPECT_EQ(results_.at(0).result.failure, Failure::device_fault);
  EXPECT_EQ(results_[0].result.reason, "the process that ran the kernel broke its connection with the pool, and was ended");
}

TEST_F(DeviceLossTest, AConnectionOverWhichNonsenseComesIsBroken) {
  open_ready();
  const JobId compiling = submit("a");
  scheduler_->disconnected(compiler(), Disconnection::broken, now_);
  note();
  EXPECT_THAT(killed_, ElementsAre(compiler()));
  end(compiler(), by_signal(SIGKILL));
  EXPECT_THAT(to_compile(compiler()), IsEmpty());
  EXPECT_EQ(results_.at(0).result.failure, Failure::compile_error);
  EXPECT_EQ(results_[0].result.reason, "the compiler's process broke its connection with the pool, and was ended");
  EXPECT_EQ(compiling, 1u);
}

// It goes on until it is killed: what it began meanwhile is not what it said nonsense of.
TEST_F(DeviceLossTest, WhatACompilerBeganAfterNonsenseIsNotToBlame) {
  open_ready();
  const JobId compiling = submit("a");
  const JobId next = submit("b");
  ASSERT_THAT(to_compile(compiler()), ElementsAre(compiling, next));
  scheduler_->disconnected(compiler(), Disconnection::broken, now_);
  note();
  WorkerEnd killed = by_signal(SIGKILL);
  killed.began = next;
  end(compiler(), killed);
  EXPECT_THAT(results(), ElementsAre("a: compile_error, measured"));
  become_ready(compiler());
  EXPECT_THAT(to_compile(compiler()), ElementsAre(next));
}

TEST_F(DeviceLossTest, AWorkerThatSaidSomethingMeanwhileHasItsLimitAnew) {
  open_ready();
  give(1);
  now_ += seconds(100);  // the pool's thread was stopped
  scheduler_->alarm(now_);
  note();
  ASSERT_THAT(listen_to_, ElementsAre(device()));
  scheduler_->receive(device(), JobTimed{1, {Nanoseconds(100)}}, now_);
  scheduler_->listened(device(), true, now_);
  note();
  EXPECT_THAT(killed_, IsEmpty());
  EXPECT_EQ(scheduler_->next_alarm(), now_ + seconds(10));
}

// What configurations share.

TEST_F(SchedulerTest, ATwinOfWhatCrashesItsCompilerFailsAlike) {
  open_ready();
  const JobId first = submit("same"), twin = submit("same");
  EXPECT_THAT(to_compile(compiler()), ElementsAre(first)) << "the twin waits for the same request";
  end(compiler(), by_signal(SIGABRT, "LLVM ERROR: made up"));
  hand_out();
  receive(compiler(), WorkerReady());
  EXPECT_THAT(results(), ElementsAre("same: compile_error, measured", "same: compile_error, shared"));
  EXPECT_EQ(results_[1].result.reason,
            "the compiler crashed: its process ended by signal 6 (Aborted), after 'LLVM ERROR: made up'");
  EXPECT_EQ(results_[1].result.shared_with, whole_digest(with_passes("same")));
  EXPECT_EQ(twin, 2u);
}

TEST_F(SchedulerTest, ATranslationThatWasNotToldButNotedIsCharged) {
  open_ready();
  const JobId kept = submit("kept"), crashing = submit("crashing");
  receive(compiler(), TranslationBegan{kept});
  translate(kept, "object");
  WorkerEnd crash = by_signal(SIGABRT);
  crash.began = crashing;
  end(compiler(), crash);
  EXPECT_THAT(results(), ElementsAre("crashing: compile_error, measured"));
  receive(compiler(), WorkerReady());
  EXPECT_THAT(to_compile(compiler()), ElementsAre(kept));
}

TEST_F(SchedulerTest, ATwinThatWaitsForTheObjectOfALostCompilerIsCompiled) {
  open_ready();
  const JobId first = submit("one");
  translate(first, "object");  // and it is assembled
  const JobId twin = submit("two");
  translate(twin, "object");
  EXPECT_EQ(progress().compiling, 1u) << "the twin waits for the object";
  const WorkerId lost = compiler();
  end(lost, by_signal(SIGKILL));
  EXPECT_THAT(results(), ElementsAre("one: worker_lost, measured"));
  receive(compiler(), WorkerReady());
  EXPECT_THAT(to_compile(compiler()), ElementsAre(twin));
  compile(twin, "object");
  measure(twin);
  EXPECT_THAT(results(), ElementsAre("one: worker_lost, measured", "two: none, measured"));
}

TEST_F(SchedulerTest, ATwinOfWhatIsCancelledAfterItsCompilerWasLostIsCompiled) {
  options_.compile_workers = 2;
  open_ready();
  const WorkerId one = workers(WorkerRole::compile)[0], other = workers(WorkerRole::compile)[1];
  const JobId crashes = submit("crashes"), busy = submit("busy"), first = submit("same"), twin = submit("same");
  const JobId next = submit("next");
  ASSERT_THAT(to_compile(one), ElementsAre(crashes, first));
  ASSERT_THAT(to_compile(other), ElementsAre(busy, next)) << "the twin waits";
  end(one, by_signal(SIGABRT));
  cancel(first);  // which nobody has
  receive(compiler(), WorkerReady());
  EXPECT_THAT(to_compile(compiler()), ElementsAre(twin));
}

TEST_F(SchedulerTest, ATwinOfWhatIsLostOnTheDeviceIsMeasured) {
  open_ready();
  const JobId first = submit("one"), twin = submit("two");
  compile(first, "object");
  translate(twin, "object");
  EXPECT_THAT(to_measure(device()), ElementsAre(first)) << "the twin waits for the same launch";
  run(first);
  end(device(), by_signal(SIGKILL));
  become_ready(device());
  EXPECT_THAT(to_measure(device()), ElementsAre(twin));
  measure(twin);
  EXPECT_THAT(results(), ElementsAre("one: worker_lost, measured", "two: none, measured"));
}

TEST_F(SchedulerTest, ATwinOfWhatFaultsSharesTheFault) {
  open_ready();
  const JobId first = submit("one"), twin = submit("two");
  compile(first, "object");
  translate(twin, "object");
  run(first);
  end(device(), by_signal(SIGSEGV));
  EXPECT_THAT(results(), ElementsAre("one: device_fault, measured", "two: device_fault, shared"));
}

TEST_F(SchedulerTest, WhereNothingIsSharedEachIsDoneForItself) {
  options_.share = false;
  open_ready();
  const JobId first = submit("same"), second = submit("same");
  EXPECT_THAT(to_compile(compiler()), ElementsAre(first, second));
  EXPECT_TRUE(std::get<CompileJob>(sent_[compiler()][0]).assemble);
  for (JobId job : {first, second}) {
    compile(job, "object");
    measure(job);
  }
  EXPECT_THAT(results(), ElementsAre("same: none, measured", "same: none, measured"));
}

TEST_F(SchedulerTest, WhatHasALabelIsMeasuredForItself) {
  open_ready();
  for (const char* label : {"begin", "end"}) {
    const JobId job = submit("same", label);
    if (label == std::string("begin")) compile(job, "object");
    measure(job);
    EXPECT_EQ(results_.back().result.label, label);
  }
  EXPECT_THAT(results(), ElementsAre("same: none, measured", "same: none, measured"));
}

TEST_F(SchedulerTest, WhatAnEarlierRunKnowsIsNotDoneAgain) {
  PoolResult known = with_times({100});
  known.configuration = with_passes("known");
  known.origin = Origin::resumed;
  const Digest object = Hasher().add(std::string_view("object")).finish();
  known.details.together.obj_hash = object;
  known_.emplace(whole_digest(known.configuration), known);
  open_ready();
  submit("known");
  EXPECT_THAT(results(), ElementsAre("known: none, resumed"));
  EXPECT_FALSE(results_[0].write_to_log);
  const JobId other = submit("other");
  compile(other, object.hex());
  EXPECT_THAT(results(), ElementsAre("known: none, resumed", "other: none, shared"));
}

TEST_F(SchedulerTest, ACompilerThatSendsNoObjectFailsItsJobAlone) {
  open_ready();
  const JobId job = submit("a");
  translate(job, "object");
  receive(compiler(), CodeAssembled{job, {{"digest", "object"}}, nullptr});
  EXPECT_EQ(results_.at(0).result.reason, "the compile worker sent no object");
}

TEST_F(SchedulerTest, AWorkerWhoseMessagesCannotBeIsKilledAndItsJobFails) {
  open_ready();
  const auto broken = [&](const std::string& passes, auto says) {
    const JobId job = submit(passes);
    const WorkerId worker = says(job);
    EXPECT_EQ(killed_.empty() ? 0 : killed_.back(), worker) << passes;
    end(worker, by_signal(SIGKILL));
    for (WorkerRole role : {WorkerRole::device, WorkerRole::compile}) receive(workers(role).back(), WorkerReady());
  };
  broken("assembled first", [&](JobId job) {
    const WorkerId worker = compiler();
    assemble(job, "object");
    return worker;
  });
  broken("translated twice", [&](JobId job) {
    const WorkerId worker = compiler();
    translate(job, "object");
    translate(job, "object");
    return worker;
  });
  broken("translated by the device", [&](JobId job) {
    const WorkerId worker = device();
    compile(job, "another");
    receive(worker, CodeTranslated{job, "another", {{"times", {{"translate", 5}}}}});
    return worker;
  });
  EXPECT_THAT(results(), ElementsAre("assembled first: compile_error, measured", "translated twice: compile_error, measured",
                                     "translated by the device: device_fault, measured"));
  EXPECT_EQ(results_[0].result.reason, "the compiler's process broke its connection with the pool, and was ended");
}

// Whose turn it is.

TEST_F(SchedulerTest, AnIdleWorkerIsGivenAJobBeforeASecondOneForAnother) {
  options_.devices = {0, 1};
  options_.compile_workers = 2;
  open_ready();
  const std::vector<WorkerId> compilers = workers(WorkerRole::compile), devices = workers(WorkerRole::device);
  std::vector<JobId> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(submit(fmt::format("job {}", i)));
  EXPECT_THAT(to_compile(compilers[0]), ElementsAre(jobs[0], jobs[2]));
  EXPECT_THAT(to_compile(compilers[1]), ElementsAre(jobs[1], jobs[3]));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::string object = fmt::format("object {}", i);
    receive(compilers[i % 2], CodeTranslated{jobs[i], object, Json::object()});
    receive(compilers[i % 2], CodeAssembled{jobs[i], {{"digest", object}}, std::make_shared<Descriptor>()});
  }
  EXPECT_THAT(to_measure(devices[0]), ElementsAre(jobs[0], jobs[2]));
  EXPECT_THAT(to_measure(devices[1]), ElementsAre(jobs[1], jobs[3]));
}

TEST_F(SchedulerTest, CompilersWaitWhereTheyAreFarAheadOfTheDevice) {
  open_ready();
  for (int i = 0; i < 20; ++i) submit(fmt::format("job {}", i));
  for (JobId job = 1; to_compile(compiler()).size() >= job && job < 20; ++job) compile(job, fmt::format("object {}", job));
  // Three at the device, and five that are compiled or will be: two for the compiler and three for the device.
  EXPECT_EQ(progress().measuring, 3u);
  EXPECT_EQ(progress().ready, 5u);
  EXPECT_EQ(progress().compiling, 0u);
  measure(1);  // of those that are ready one goes to the device
  hand_out();
  EXPECT_EQ(progress().compiling, 1u);
}

class TranslationHomesTest : public SchedulerTest {
 protected:
  TranslationHomesTest() { options_.compile_workers = 2; }

  // Of pipelines, each with a cap of its own on registers. Returns the ids, in order.
  std::vector<JobId> submit_at_once(const std::vector<std::string>& pipelines) {
    std::map<JobId, Job> jobs;
    std::vector<JobId> ids;
    for (const std::string& passes : pipelines) {
      const JobId id = ids.emplace_back(++jobs_);
      Configuration configuration = with_passes(passes);
      configuration.assembler.max_registers = static_cast<unsigned>(id);
      jobs.emplace(id, Job{.id = id, .configuration = std::move(configuration), .future = {}});
    }
    scheduler_->submit(std::move(jobs));
    hand_out();
    return ids;
  }
  void finish(WorkerId compiler, JobId job) {
    const std::string object = fmt::format("object {}", job);
    receive(compiler, CodeTranslated{job, object, Json::object()});
    receive(compiler, CodeAssembled{job, {{"digest", object}}, std::make_shared<Descriptor>()});
    run(job);
    measure(job);
  }
};

TEST_F(TranslationHomesTest, WhatAsksLlvmTheSameIsGivenToTheCompilerThatRemembersIt) {
  open_ready();
  const std::vector<WorkerId> compilers = workers(WorkerRole::compile);
  const std::vector<JobId> jobs = submit_at_once({"a", "a", "b", "b", "a", "c"});
  EXPECT_THAT(to_compile(compilers[0]), ElementsAre(jobs[0], jobs[1]));
  EXPECT_THAT(to_compile(compilers[1]), ElementsAre(jobs[2], jobs[3]));
  finish(compilers[1], jobs[2]);
  EXPECT_EQ(to_compile(compilers[1]).back(), jobs[5]) << "what nobody has translated, before what another has";
  finish(compilers[1], jobs[3]);
  EXPECT_EQ(to_compile(compilers[1]).back(), jobs[4]) << "before it has nothing to do";
}

TEST_F(TranslationHomesTest, ALostCompilerRemembersNothing) {
  open_ready();
  const std::vector<WorkerId> compilers = workers(WorkerRole::compile);
  const std::vector<JobId> jobs = submit_at_once({"a", "a", "b", "b", "c", "a"});
  receive(compilers[0], TranslationBegan{jobs[0]});
  end(compilers[0], by_signal(SIGSEGV));
  finish(compilers[1], jobs[2]);
  EXPECT_EQ(to_compile(compilers[1]).back(), jobs[1]) << "given again, and nobody's: it comes first";
}

TEST_F(TranslationHomesTest, AJobIsNotPassedOverForEver) {
  open_ready();
  const std::vector<WorkerId> compilers = workers(WorkerRole::compile);
  std::vector<std::string> pipelines(3, "a");
  for (int i = 0; i < 100; ++i) pipelines.push_back(fmt::format("other {}", i));
  const std::vector<JobId> jobs = submit_at_once(pipelines);
  ASSERT_THAT(to_compile(compilers[0]), ElementsAre(jobs[0], jobs[1])) << "and it does not get on";
  for (size_t done = 0; done < 70; ++done) finish(compilers[1], to_compile(compilers[1])[done]);
  const std::vector<JobId> given = to_compile(compilers[1]);
  EXPECT_EQ(std::find(given.begin(), given.end(), jobs[2]) - given.begin(), 1 + 64) << "while another was first, one was taken";
}

// Cancellation and the end.

TEST_F(SchedulerTest, WhatNoWorkerHasIsCancelledAtOnce) {
  open();
  cancel(submit("a"));
  EXPECT_THAT(results(), ElementsAre("a: cancelled, measured"));
  EXPECT_EQ(results_[0].result.reason, "given up before it was measured");
  EXPECT_FALSE(results_[0].write_to_log);
  cancel(1);
  cancel(77);
  EXPECT_THAT(results_, SizeIs(1));
}

TEST_F(SchedulerTest, WhatIsBeingCompiledIsCancelledOnceItHasItsCode) {
  open_ready();
  const JobId job = submit("a");
  translate(job, "object");
  cancel(job);
  EXPECT_THAT(results(), IsEmpty());
  assemble(job, "object");
  EXPECT_THAT(results(), ElementsAre("a: cancelled, measured"));
  EXPECT_THAT(to_measure(device()), IsEmpty());
}

TEST_F(SchedulerTest, WhatIsBeingMeasuredIsToldToStopOnceAndKeepsItsTimes) {
  open_ready();
  const JobId job = submit("one"), twin = submit("two");
  compile(job, "object");
  translate(twin, "object");
  run(job);
  cancel(job);
  cancel(job);
  EXPECT_THAT(given<StopJob>(device()), ElementsAre(job));
  measure(job, with_times({100, 101}));
  EXPECT_THAT(results(), ElementsAre("one: cancelled, measured"));
  EXPECT_EQ(results_[0].result.reason, "given up while it was timed");
  EXPECT_TRUE(results_[0].write_to_log);
  EXPECT_THAT(to_measure(device()), ElementsAre(job, twin)) << "its twin is measured for itself";
}

TEST_F(SchedulerTest, AnInterruptedPoolCancelsWhateverHasNoResult) {
  open_ready();
  const JobId done = submit("done");
  compile(done, "object");
  measure(done);
  const JobId measuring = submit("measuring");
  compile(measuring, "another");
  submit("compiling");
  submit("waiting");
  scheduler_->close();
  note();
  EXPECT_THAT(results(), ElementsAre("done: none, measured", "measuring: cancelled, measured", "compiling: cancelled, measured",
                                     "waiting: cancelled, measured"));
  EXPECT_EQ(results_[1].result.reason, "unavailable: the pool was closed");
  EXPECT_TRUE(status_.ok()) << "which is no failure";
  submit("late");
  EXPECT_EQ(results().back(), "late: cancelled, measured");
  measure(measuring);
  EXPECT_THAT(results_, SizeIs(5));
}

TEST_F(SchedulerTest, AResultThatCannotBeWrittenIsTheStatusAndTheOthersGoOn) {
  open_ready();
  const Status full = error(Code::io, "writing run.jsonl: No space left on device");
  const JobId first = submit("one"), second = submit("two");
  compile(first, "object");
  measure(first);
  scheduler_->note_failure(full);
  note();
  EXPECT_EQ(status_.to_string(), full.to_string());
  scheduler_->note_failure(error(Code::internal, "another"));
  compile(second, "another");
  measure(second);
  EXPECT_EQ(status_.to_string(), full.to_string()) << "the first is kept";
  EXPECT_THAT(results(), ElementsAre("one: none, measured", "two: none, measured"));
  scheduler_->give_up(error(Code::internal, "the end"));
  note();
  EXPECT_EQ(status_.message(), "the end") << "why the pool gave up matters more";
}

// The zygote and the keeper.

TEST_F(SchedulerTest, AZygoteThatIsLostEndsThePool) {
  open_ready();
  submit("a");
  scheduler_->zygote_lost(error(Code::unavailable, "it has gone"));
  note();
  EXPECT_EQ(status_.to_string(), "unavailable: the pool's workers have ended: it has gone");
  EXPECT_THAT(results(), ElementsAre("a: worker_lost, measured"));
  const size_t before = started_.size();
  end(device(), by_signal(SIGKILL));
  EXPECT_EQ(started_.size(), before) << "nobody could start one";
  EXPECT_EQ(scheduler_->next_alarm(), kNever);
}

TEST_F(SchedulerTest, AZygoteThatEndsNoWorkerIsKilled) {
  open_ready();
  submit("a");
  run_out_of_time();
  EXPECT_THAT(killed_, ElementsAre(compiler()));
  EXPECT_EQ(scheduler_->next_alarm(), now_ + WorkerLimits::kKilling);
  run_out_of_time();
  EXPECT_EQ(zygotes_killed_, 1u);
  EXPECT_EQ(status_.to_string(), "timeout: the process that forks the pool's workers did not end one of them within 20 s");
  EXPECT_THAT(results(), ElementsAre("a: worker_lost, measured"));
}

TEST_F(SchedulerTest, AKeeperThatIsLostIsReplacedByOneWithWhatThereIs) {
  options_.instances = {Digest(), digest_of(std::as_bytes(std::span("another")))};
  open_ready();
  receive(device(), InstanceCopies{0, std::make_shared<SharedCopies>()});
  EXPECT_THAT(workers(WorkerRole::keeper), IsEmpty()) << "until every instance is there";
  receive(device(), InstanceCopies{1, std::make_shared<SharedCopies>()});
  for (unsigned i = 1; i <= 3; ++i) {
    ASSERT_THAT(workers(WorkerRole::keeper), SizeIs(i));
    const WorkerId keeper = workers(WorkerRole::keeper).back();
    EXPECT_THAT(sent_[keeper], SizeIs(2));
    EXPECT_EQ(scheduler_->next_alarm(), kNever) << "a keeper may take its time";
    end(keeper, by_signal(SIGKILL));
  }
  EXPECT_THAT(workers(WorkerRole::keeper), SizeIs(3)) << "three were lost";
  EXPECT_TRUE(status_.ok());
  EXPECT_EQ(progress().workers_replaced, 0u);

  end(device(), by_signal(SIGSEGV));
  EXPECT_EQ(started_.back().order.copies, 2u) << "the device worker's successor has the copies all the same";
  EXPECT_THAT(sent_[device()], SizeIs(2));
  end(device(), by_signal(SIGSEGV));
  EXPECT_EQ(started_.back().order.copies, 0u) << "they may be what it did not start with";
}

TEST_F(SchedulerTest, WorkersThatStartAfterAMaskWasLostLookForNone) {
  open_ready();
  receive(device(), MaskLost{"the launch that notes what is read faulted"});
  end(device(), by_itself());
  EXPECT_EQ(started_.back().order.no_mask, "the launch that notes what is read faulted");
}

TEST_F(SchedulerTest, AWorkerThatHasNoDescriptorsLeftEndsThePool) {
  open_ready();
  submit("a");
  receive(device(), WorkerExhausted{"too many open files"});
  EXPECT_EQ(status_.to_string(), "exhausted: a worker: too many open files");
  EXPECT_THAT(results(), ElementsAre("a: worker_lost, measured"));
}

TEST_F(SchedulerTest, WhatIsSaidOfAnothersJobIsIgnored) {
  open_ready();
  const JobId job = submit("a");
  measure(job);
  translate(99, "object");
  EXPECT_THAT(results(), IsEmpty());
  scheduler_->receive(12345, WorkerReady(), now_);
  scheduler_->worker_ended(12345, by_itself(), now_);
  EXPECT_EQ(progress().compiling, 1u);
}

// Limits begin anew, and what a worker is doing is not what it did before.

TEST_F(DeviceLossTest, EverySignOfLifeOfADeviceBeginsItsLimitAnew) {
  open_ready();
  const std::vector<JobId> jobs = give(2);
  const auto after = [&](FromWorker message) {
    now_ += seconds(1);
    receive(device(), std::move(message));
    return scheduler_->next_alarm() - now_;
  };
  EXPECT_EQ(after(JobTimed{jobs[0], {Nanoseconds(100)}}), seconds(10));
  EXPECT_EQ(after(JobLoading{jobs[1]}), seconds(10));
  EXPECT_EQ(after(JobBegan{jobs[1]}), seconds(10));
  PoolResult fault;
  fault.failure = Failure::device_fault;
  EXPECT_EQ(after(JobEnded{jobs[0], with_times({100})}), seconds(10));
  EXPECT_EQ(after(JobEnded{jobs[1], fault}), seconds(10)) << "it has that long to end";
}

TEST_F(DeviceLossTest, AnObjectThatWasLoadedIsNotBlamedForALaterCrash) {
  open_ready();
  const std::vector<JobId> jobs = give(2);
  receive(device(), JobLoading{jobs[1]});
  receive(device(), JobTimed{jobs[0], {Nanoseconds(100)}});
  end(device(), by_signal(SIGABRT));
  EXPECT_THAT(results(), ElementsAre("job 0: device_fault, measured"));
}

TEST_F(DeviceLossTest, LossesThatAreExplainedAreNotCountedAgainstAJob) {
  open_ready();
  const JobId patient = submit("patient");
  compile(patient, "object");
  PoolResult fault;
  fault.failure = Failure::device_fault;
  for (int i = 0; i < 4; ++i) {
    const JobId faulty = submit(fmt::format("faulty {}", i));
    compile(faulty, fmt::format("object {}", i));
    measure(faulty, fault);
    end(device(), by_itself());
    become_ready(device());
  }
  EXPECT_THAT(results_, SizeIs(4));
  EXPECT_THAT(to_measure(device()), ElementsAre(patient));
}

TEST_F(SchedulerTest, AWorkerThatStartsAndSaysSomethingHasTheLimitOfAStartAnew) {
  open();
  now_ += seconds(500);
  scheduler_->alarm(now_);
  note();
  ASSERT_THAT(listen_to_, ElementsAre(device()));
  scheduler_->listened(device(), true, now_);
  EXPECT_EQ(scheduler_->next_alarm(), now_ + seconds(120));
  scheduler_->listened(device(), false, now_);  // of an alarm that is over
  note();
  EXPECT_THAT(killed_, IsEmpty());
}

TEST_F(SchedulerTest, WhatACompilerHandedOverIsCancelledWhileItWaits) {
  open_ready();
  const JobId first = submit("one"), twin = submit("two");
  translate(first, "object");
  translate(twin, "object");
  cancel(twin);
  EXPECT_THAT(results(), ElementsAre("two: cancelled, measured")) << "no worker has it";
}

TEST_F(SchedulerTest, WhatWasOnADeviceThatIsLostIsCancelledAtOnce) {
  open_ready();
  const JobId job = submit("a");
  compile(job, "object");
  end(device(), by_signal(SIGKILL));
  cancel(job);
  EXPECT_THAT(results(), ElementsAre("a: cancelled, measured"));
}

TEST_F(SchedulerTest, AFailureStaysOneWhereTheJobWasToldToStop) {
  open_ready();
  const JobId job = submit("a");
  compile(job, "object");
  run(job);
  cancel(job);
  PoolResult wrong;
  wrong.failure = Failure::wrong_result;
  measure(job, wrong);
  EXPECT_THAT(results(), ElementsAre("a: wrong_result, measured"));
}

TEST_F(SchedulerTest, EachDeviceHasKeepersOfItsOwn) {
  options_.devices = {0, 1};
  open_ready();
  const std::vector<WorkerId> devices = workers(WorkerRole::device);
  const auto copies = [&](WorkerId worker) { receive(worker, InstanceCopies{0, std::make_shared<SharedCopies>()}); };
  copies(devices[0]);
  for (int i = 0; i < 3; ++i) end(workers(WorkerRole::keeper).back(), by_signal(SIGKILL));
  ASSERT_THAT(workers(WorkerRole::keeper), SizeIs(3));
  copies(devices[1]);
  ASSERT_THAT(workers(WorkerRole::keeper), SizeIs(4)) << "those that were lost were the other device's";
  EXPECT_EQ(started_.back().order.device, 1);
  copies(devices[0]);
  EXPECT_THAT(workers(WorkerRole::keeper), SizeIs(4)) << "and it has no more";
  const WorkerId of_second = workers(WorkerRole::keeper).back();
  EXPECT_THAT(sent_[of_second], SizeIs(1));
  copies(devices[1]);
  EXPECT_THAT(sent_[of_second], SizeIs(2)) << "copies that were made anew go to the keeper that there is";
}

// Nobody knows which of them it was: each is compiled again with no other, and the one that does it again is charged.
TEST_F(SchedulerTest, JobsThatWereAssembledTogetherAreCompiledAloneWhenTheirWorkerIsLost) {
  options_.share = true;
  open_ready();
  const JobId first = submit("first"), second = submit("second"), third = submit("third");
  const WorkerId lost = compiler();
  receive(lost, TranslationBegan{first});
  translate(first, "a");
  receive(lost, TranslationBegan{second});
  translate(second, "b");
  receive(lost, JobsJoined{second});
  end(lost, WorkerEnd{});
  EXPECT_THAT(results_, testing::IsEmpty());
  ASSERT_NE(compiler(), lost);
  receive(compiler(), WorkerReady());
  for (JobId job : {first, second}) {
    const auto& sent = std::get<CompileJob>(sent_.at(compiler())[job == first ? 0 : 1]);
    EXPECT_EQ(sent.id, job);
    EXPECT_TRUE(sent.alone);
  }
  receive(compiler(), TranslationBegan{first});
  translate(first, "a");
  end(compiler(), WorkerEnd{});
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0].result.failure, Failure::compile_error);
  receive(compiler(), WorkerReady());
  EXPECT_EQ(std::get<CompileJob>(sent_.at(compiler())[0]).id, second);
  EXPECT_FALSE(std::get<CompileJob>(sent_.at(compiler())[1]).alone);
  EXPECT_EQ(std::get<CompileJob>(sent_.at(compiler())[1]).id, third);
}

// The one that began last had ended by then, and the next had not begun.
TEST_F(SchedulerTest, ACrashWhileAnEarlierJobIsAssembledIsChargedToNoOther) {
  open_ready();
  const JobId first = submit("first"), second = submit("second"), third = submit("third");
  const WorkerId lost = compiler();
  receive(lost, TranslationBegan{first});
  translate(first, "a");
  receive(lost, TranslationBegan{second});
  receive(lost, JobEnded{second, failed_result(Failure::compile_error, "no such pass")});
  receive(lost, JobsJoined{first});
  end(lost, WorkerEnd{});
  EXPECT_THAT(results(), ElementsAre("second: compile_error, measured")) << "by its own failure";
  receive(compiler(), WorkerReady());
  const auto sent = [&](size_t n) { return std::get<CompileJob>(sent_.at(compiler())[n]); };
  EXPECT_EQ(sent(0).id, first);
  EXPECT_TRUE(sent(0).alone);
  EXPECT_EQ(sent(1).id, third);
  EXPECT_FALSE(sent(1).alone);
  receive(compiler(), TranslationBegan{first});
  translate(first, "a");
  end(compiler(), WorkerEnd{});
  EXPECT_THAT(results(), ElementsAre("second: compile_error, measured", "first: compile_error, measured"));
}

TEST_F(SchedulerTest, AJobThatIsLostWhileItIsTranslatedIsChargedAndThoseBeforeItAreCompiledAgain) {
  open_ready();
  const JobId first = submit("first"), second = submit("second");
  const WorkerId lost = compiler();
  receive(lost, TranslationBegan{first});
  translate(first, "a");
  receive(lost, TranslationBegan{second});
  end(lost, WorkerEnd{});
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0].result.configuration.passes, "second");
  receive(compiler(), WorkerReady());
  EXPECT_EQ(std::get<CompileJob>(sent_.at(compiler())[0]).id, first);
}

// It began a job and has room for another, which is there: compilers need not hurry, and leave its process the cores.
TEST_F(SchedulerTest, ADeviceForWhichJobsWaitIsNotShortOfThem) {
  open_ready();
  for (int i = 0; i < 40; ++i) submit(fmt::format("{}", i));
  for (JobId job = 1; job <= 6; ++job) compile(job, fmt::format("object {}", job));
  ASSERT_THAT(to_measure(device()), ElementsAre(1, 2, 3));
  run(1);
  now_ += milliseconds(10);
  const size_t before = to_compile(compiler()).size();
  run(2);
  EXPECT_THAT(to_measure(device()), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(to_compile(compiler()).size(), before);
  for (JobId job = 3; job <= 6; ++job) {
    now_ += milliseconds(10);
    run(job);
  }
  EXPECT_EQ(to_compile(compiler()).size(), before + 6) << "eight at hand, now that nothing waits";
}

TEST_F(SchedulerTest, CompileWorkersGetNoCopies) {
  open_ready();
  receive(device(), InstanceCopies{0, std::make_shared<SharedCopies>()});
  end(compiler(), by_signal(SIGKILL));
  EXPECT_THAT(sent_[compiler()], IsEmpty());
}

TEST_F(SchedulerTest, WhereNothingIsSharedACompilerIsNotToldToAssemble) {
  options_.share = false;
  open_ready();
  const JobId job = submit("a");
  translate(job, "object");
  EXPECT_THAT(sent_[compiler()], SizeIs(1)) << "the job alone";
}

TEST_F(SchedulerTest, WhatAWorkerSaidOfItsStartCountsMoreThanWhatCameAfterIt) {
  open();
  for (int i = 0; i < 3; ++i) {
    receive(device(), WorkerRefused{"unavailable: no GPU today"});
    scheduler_->disconnected(device(), Disconnection::broken, now_);
    end(device(), by_signal(SIGKILL));
  }
  EXPECT_EQ(status_.message(), "3 workers in a row did not start: the last one unavailable: no GPU today");
}

TEST_F(SchedulerTest, AllThatAreSubmittedAtOnceAreCompiled) {
  options_.compile_workers = 2;
  open_ready();
  std::map<JobId, Job> jobs;
  for (const char* passes : {"a", "b", "c"}) {
    const JobId id = ++jobs_;
    jobs.emplace(id, Job{.id = id, .configuration = with_passes(passes), .future = {}});
  }
  scheduler_->submit(std::move(jobs));
  hand_out();
  EXPECT_EQ(progress().compiling, 3u);
}

TEST_F(SchedulerTest, AnEarlierRunKnowsNothingOfWhatHasALabel) {
  known_[whole_digest(with_passes("a"))] = with_times({5});
  open_ready();
  submit("a");
  EXPECT_THAT(results(), ElementsAre("a: none, measured"));
  const JobId anew = submit("a", "round 1");
  EXPECT_THAT(to_compile(compiler()), ElementsAre(anew));
}

TEST_F(SchedulerTest, OneThatWaitsBehindAnotherOnItsDeviceIsToldToStop) {
  open_ready();
  const JobId running = submit("a"), behind = submit("b");
  compile(running, "one");
  compile(behind, "other");
  run(running);
  cancel(behind);
  EXPECT_THAT(given<StopJob>(device()), ElementsAre(behind));
}

TEST_F(SchedulerTest, AnotherJobGivesTheRunningOneNoMoreTime) {
  open_ready();
  const JobId running = submit("a"), behind = submit("b");
  compile(running, "one");
  run(running);
  const PoolTime end = now_ + seconds(10);
  now_ += seconds(9);
  compile(behind, "other");
  EXPECT_THAT(to_measure(device()), ElementsAre(running, behind));
  EXPECT_EQ(scheduler_->next_alarm(), end);
}

TEST_F(SchedulerTest, AWorkerThatOwesAResultHasALimit) {
  open_ready();
  const JobId first = submit("a"), second = submit("b");
  compile(first, "one");
  compile(second, "other");
  run(first);
  run(second);
  EXPECT_EQ(progress().measuring, 2u) << "the first one's result is still to come";
  measure(second);
  EXPECT_EQ(progress().measuring, 1u);
  EXPECT_EQ(scheduler_->next_alarm(), now_ + seconds(10));
  measure(first);
  EXPECT_EQ(scheduler_->next_alarm(), kNever);
}

TEST_F(SchedulerTest, DevicesThatAreReadyAreCountedAlone) {
  open_ready();
  EXPECT_EQ(progress().devices_ready, 1u);
}

TEST_F(SchedulerTest, NothingIsUnderWayOnceItHasGivenUp) {
  open_ready();
  for (const char* passes : {"a", "b", "c", "d", "e"}) compile(submit(passes), passes);
  ASSERT_GT(progress().ready, 0u);
  ASSERT_GT(progress().measuring, 0u);
  scheduler_->zygote_lost(error(Code::unavailable, "gone"));
  note();
  EXPECT_EQ(progress().ready + progress().measuring + progress().compiling, 0u);
}

TEST_F(SchedulerTest, AReasonThatIsNoUtf8IsMadeOne) {
  open_ready();
  const JobId told = submit("a"), lost = submit("b");
  compile(told, "one");
  run(told);
  PoolResult wrong;
  wrong.failure = Failure::wrong_result;
  wrong.reason = "differs\xff";
  measure(told, wrong);
  end(compiler(), by_signal(SIGSEGV, "LLVM\xff"));
  ASSERT_THAT(results(), ElementsAre("a: wrong_result, measured", "b: compile_error, measured"));
  EXPECT_EQ(results_[0].result.reason, "differs\xef\xbf\xbd");
  EXPECT_THAT(results_[1].result.reason, HasSubstr("LLVM\xef\xbf\xbd"));
  EXPECT_EQ(results_[1].result.configuration.passes, "b") << lost;
}

TEST_F(SchedulerTest, ADeviceThatEndsForAnInnerFailureGetsNoFurtherJob) {
  open_ready();
  const JobId first = submit("a"), second = submit("b");
  compile(first, "one");
  run(first);
  PoolResult failed;
  failed.failure = Failure::worker_lost;
  measure(first, failed);
  compile(second, "other");
  EXPECT_THAT(to_measure(device()), ElementsAre(first));
  end(device(), by_itself());
  become_ready(device());
  EXPECT_THAT(to_measure(device()), ElementsAre(second));
}

TEST_F(SchedulerTest, ObjectsOfJobsThatAreDoneAreNotAllKept) {
  open_ready();
  std::vector<std::weak_ptr<Descriptor>> objects;
  for (size_t i = 0; i < Sharing::kMostKept + 1; ++i) {
    const std::string name = fmt::format("{}", i);
    const JobId job = submit(name);
    translate(job, name);
    auto object = std::make_shared<Descriptor>();
    objects.push_back(object);
    receive(compiler(), CodeAssembled{job, {{"digest", name}}, std::move(object)});
    run(job);
    measure(job);
  }
  sent_.clear();
  EXPECT_TRUE(objects.front().expired());
  EXPECT_FALSE(objects.back().expired());
}

}  // namespace
}  // namespace mneme
