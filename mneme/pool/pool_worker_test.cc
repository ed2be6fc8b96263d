#include "mneme/pool/pool_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Cause = PoolWorker::Cause;
using State = PoolWorker::State;
using std::chrono::milliseconds;
using std::chrono::seconds;

const PoolTime kNow(seconds(1000));

PoolWorker worker_in(State state, WorkerRole role = WorkerRole::device) {
  PoolWorker worker(1, role, 0, kNow + seconds(120));
  if (state == State::starting) return worker;
  if (state == State::killed) {
    worker.kill(Cause::out_of_time, kNow);
    return worker;
  }
  worker.become_ready();
  if (state == State::ending) worker.expect_end();
  if (state == State::disconnected) worker.give(7, kNow), worker.disconnect(kNow);
  return worker;
}

constexpr State kStates[] = {State::starting, State::serving, State::ending, State::disconnected, State::killed};

TEST(PoolWorker, EachStateHasItsTransitions) {
  for (State state : kStates) {
    ASSERT_EQ(worker_in(state).state(), state);
    PoolWorker worker = worker_in(state);
    EXPECT_EQ(worker.become_ready(), state == State::starting);
    EXPECT_EQ(worker.state(), state == State::starting ? State::serving : state);

    worker = worker_in(state);
    EXPECT_EQ(worker.expect_end(), state == State::serving);
    EXPECT_EQ(worker.state(), state == State::serving ? State::ending : state);

    worker = worker_in(state);
    worker.give(8, kNow);
    EXPECT_EQ(worker.disconnect(kNow), state == State::serving);
    EXPECT_EQ(worker.state(), state == State::serving ? State::disconnected : state);

    worker = worker_in(state);
    EXPECT_EQ(worker.kill(Cause::broken, kNow), state != State::killed);
    EXPECT_EQ(worker.state(), State::killed);
  }
}

TEST(PoolWorker, OnlyOneThatServesHasRoom) {
  for (State state : kStates) EXPECT_EQ(worker_in(state).has_room(), state == State::serving);
}

TEST(PoolWorker, OneThatHasNothingToDoIsNotWaitedFor) {
  PoolWorker worker = worker_in(State::serving);
  EXPECT_FALSE(worker.disconnect(kNow));
  EXPECT_EQ(worker.state(), State::serving);
}

TEST(PoolWorker, TheFirstCauseOfItsEndIsKeptAndWhatItAnnouncedGoesBefore) {
  PoolWorker worker = worker_in(State::serving);
  worker.kill(Cause::out_of_time, kNow);
  worker.kill(Cause::broken, kNow);
  EXPECT_EQ(worker.cause(), Cause::out_of_time);
  worker.expect_end();
  EXPECT_EQ(worker.cause(), Cause::announced);

  worker = worker_in(State::ending);
  worker.kill(Cause::out_of_time, kNow);
  EXPECT_EQ(worker.cause(), Cause::announced);
}

TEST(PoolWorker, ThatItWasReadyOnceStays) {
  PoolWorker worker = worker_in(State::starting);
  EXPECT_FALSE(worker.has_started());
  worker.kill(Cause::out_of_time, kNow);
  EXPECT_FALSE(worker.has_started());
  worker.become_ready();
  EXPECT_TRUE(worker.has_started());
  EXPECT_EQ(worker.state(), State::killed);
}

TEST(PoolWorker, OneThatIsKilledKeepsTheZygotesDeadline) {
  PoolWorker worker = worker_in(State::serving);
  worker.extend_to(kNow + seconds(10));
  EXPECT_EQ(worker.deadline(), kNow + seconds(10));
  worker.kill(Cause::out_of_time, kNow);
  EXPECT_EQ(worker.deadline(), kNow + WorkerLimits::kKilling);
  worker.extend_to(kNever);
  EXPECT_EQ(worker.deadline(), kNow + WorkerLimits::kKilling);
}

TEST(PoolWorker, JobsThatRanBeforeTheOneThatBeginsAreAwaited) {
  PoolWorker worker = worker_in(State::serving);
  for (JobId job : {1, 2, 3}) worker.give(job, kNow);
  EXPECT_FALSE(worker.is_running());
  worker.begin(1, kNow);
  EXPECT_TRUE(worker.is_running());
  worker.begin(2, kNow);
  EXPECT_THAT(worker.jobs(), ElementsAre(2, 3));
  EXPECT_THAT(worker.awaited(), ElementsAre(1));
  EXPECT_TRUE(worker.has(1));
  EXPECT_EQ(worker.load(), 3u);
  worker.begin(77, kNow);
  EXPECT_EQ(worker.end(1, kNow + seconds(2)), seconds(2));
  EXPECT_TRUE(worker.is_running());
  EXPECT_EQ(worker.end(2, kNow + seconds(3)), seconds(1));
  EXPECT_FALSE(worker.is_running()) << "the third has not begun";
  EXPECT_EQ(worker.end(3, kNow + seconds(3)), seconds(0));
  EXPECT_EQ(worker.load(), 0u);
}

TEST(PoolWorker, WhatBeganIsKnownOfItsLastWordsToo) {
  PoolWorker worker = worker_in(State::serving);
  for (JobId job : {1, 2, 3}) worker.give(job, kNow);
  worker.begin(1, kNow);
  worker.set_loading(2);
  for (JobId job : {1, 77}) worker.note_began(job, kNow);  // which was told, and of another worker
  EXPECT_THAT(worker.jobs(), ElementsAre(1, 2, 3));
  EXPECT_EQ(worker.loading(), 2u);
  worker.note_began(2, kNow);
  EXPECT_THAT(worker.jobs(), ElementsAre(2, 3));
  EXPECT_THAT(worker.awaited(), ElementsAre(1));
  EXPECT_EQ(worker.loading(), 0u);
  worker.note_began(1, kNow);  // it has ended
  EXPECT_THAT(worker.jobs(), ElementsAre(2, 3));
}

TEST(JobPace, IsThreeJobsOrAsManyAsTakeTenMilliseconds) {
  struct Case {
    PoolClock::duration a_job;
    size_t depth;
  };
  const Case kCases[] = {
      {seconds(1), 3}, {milliseconds(5), 3}, {milliseconds(2), 5}, {milliseconds(1), 10}, {std::chrono::microseconds(100), 16}};
  for (const Case& c : kCases) {
    JobPace pace;
    EXPECT_EQ(pace.depth(), 3u) << "before anything is known";
    for (int i = 0; i < 3; ++i) pace.job_began(kNow + i * c.a_job);
    EXPECT_EQ(pace.depth(), c.depth);
  }
}

TEST(PoolWorker, OneThatOnlyOwesResultsIsNotWaitedForEither) {
  PoolWorker worker = worker_in(State::serving);
  for (JobId job : {1, 2}) worker.give(job, kNow);
  worker.begin(2, kNow);
  worker.end(2, kNow);
  ASSERT_THAT(worker.awaited(), ElementsAre(1));
  EXPECT_FALSE(worker.disconnect(kNow));
}

TEST(PoolWorker, ResultsAreAwaitedInTheOrderInWhichTheirJobsRan) {
  PoolWorker worker = worker_in(State::serving);
  for (JobId job : {1, 2, 3, 4}) worker.give(job, kNow);
  worker.begin(2, kNow);
  worker.begin(4, kNow);
  EXPECT_THAT(worker.awaited(), ElementsAre(1, 2, 3));
}

// A worker that owes a result is busy.
TEST(PoolWorker, ItIsBusyFromItsFirstJobOn) {
  PoolWorker worker = worker_in(State::serving);
  for (JobId job : {1, 2}) worker.give(job, kNow);
  worker.begin(2, kNow + seconds(1));
  EXPECT_EQ(worker.end(2, kNow + seconds(2)), seconds(2));
  worker.give(3, kNow + seconds(5));
  EXPECT_EQ(worker.end(3, kNow + seconds(6)), seconds(4)) << "the first was still to come";
  EXPECT_EQ(worker.end(1, kNow + seconds(7)), seconds(1));
  worker.give(4, kNow + seconds(20));
  EXPECT_EQ(worker.end(4, kNow + seconds(21)), seconds(1)) << "it had nothing to do meanwhile";
}

TEST(JobPace, OneSlowJobDoesNotEmptyTheHands) {
  JobPace pace;
  for (int i = 0; i < 10; ++i) pace.job_began(kNow + i * milliseconds(1));
  ASSERT_EQ(pace.depth(), 10u);
  pace.job_began(kNow + milliseconds(9 + 9));
  EXPECT_EQ(pace.depth(), 5u) << "an eighth of it counts: 2 ms";
}

}  // namespace
}  // namespace mneme
