#include "mneme/pool/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "mneme/base/processors.h"
#include "mneme/base/testing/descriptor_table.h"
#include "mneme/pool/job.h"
#include "mneme/pool/result_log.h"
#include "mneme/pool/worker.h"
#include "mneme/pool/worker_process.h"
#include "mneme/process/child.h"
#include "mneme/process/zygote.h"

namespace mneme {

namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::json;

// This test's program is the workers' too. What they do is what the configuration's passes say: words that a stage knows
// ("crash-compile", "fault", …); and two configurations end in the same code when the part before '/' is the same.
std::string code_of(const std::string& passes) { return passes.substr(0, passes.find('/')); }

// What an object of that code is known by.
Digest digest_of_code(const std::string& code) { return Hasher().add(std::string_view(code)).finish(); }

// As of a candidate that closes whatever it finds.
void close_everything() {
  ::close_range(3, ~0u, 0);
  for (;;) ::pause();
}

class FakeCompile final : public CompileWork {
 public:
  Result<TranslatedCode> translate(const Configuration& configuration) override {
    passes_ = configuration.passes;
    if (const char* count = std::getenv("MNEME_TEST_TRANSLATIONS")) std::ofstream(count, std::ios::app) << passes_ << "\n";
    if (passes_ == "nonsense") return error(Code::invalid_argument, "pass pipeline 'nonsense' does not parse");
    if (passes_ == "crash-compile") std::abort();
    if (passes_ == "crash-with-words") std::fprintf(stderr, "some word\nLLVM ERROR: made up\nStack dump:\n"), std::abort();
    while (passes_ == "hang-compile") ::pause();
    if (passes_.starts_with("no UTF-8")) return error(Code::invalid_argument, "there is no pass '\xff\xfe'");
    if (passes_.starts_with("slow-compile")) ::usleep(500'000);
    if (passes_ == "close-compile") close_everything();
    if (passes_ == "no-about") return TranslatedCode{passes_, {{"times", 5}}};
    if (passes_ == "killed-compile") ::kill(::getpid(), SIGKILL);
    return TranslatedCode{"translation of " + code_of(passes_), {{"times", {{"translate", 5}}}}};
  }
  void keep() override { kept_.push_back(passes_); }
  std::vector<Result<AssembledCode>> assemble() override {
    std::vector<Result<AssembledCode>> all;
    for (const std::string& passes : std::exchange(kept_, {})) all.push_back(assemble(passes));
    return all;
  }

 private:
  static Result<AssembledCode> assemble(const std::string& passes) {
    const std::string code = code_of(passes);
    if (code == "crash-assemble") std::abort();
    if (code == "no-digest") return AssembledCode{{}, {{"digest", 5}}};
    auto bytes = std::as_bytes(std::span(code));
    return AssembledCode{{bytes.begin(), bytes.end()}, {{"digest", digest_of_code(code).hex()}, {"assembled_by", ::getpid()}}};
  }

  std::string passes_;
  std::vector<std::string> kept_;
};

// To whoever this process is connected with: a message of four bytes that are no message.
void say_garbage() {
  std::array<uint64_t, 3> bytes{4, 0, ~uint64_t{0}};
  for (int socket = 3; socket < 64; ++socket) ::send(socket, bytes.data(), 20, MSG_NOSIGNAL);
  for (;;) ::pause();
}

// The same: that of each job, whichever this process has, this became.
void say_details(const Json& details) {
  for (int socket = 3; socket < 64; ++socket) {
    Channel channel{Descriptor(::dup(socket))};
    for (JobId id = 1; id <= 64; ++id)
      if (!channel.send({{"type", "ended"}, {"id", id}, {"failure", "none"}, {"reason", ""}, {"details", details}}).ok()) break;
  }
  for (;;) ::pause();
}

class FakeDevice final : public DeviceWork {
 public:
  explicit FakeDevice(int ordinal) : ordinal_(ordinal) {}
  void expect(const Configuration&, ByteSpan object, const Json&) override {
    const std::string what(reinterpret_cast<const char*>(object.data()), object.size());
    note_measured(what + ", expected");
    if (what == "crash-load") std::abort();
  }
  Status fetch_left() override { return {}; }
  PoolResult take_left() override {
    PoolResult result = std::move(left_.front());
    left_.pop_front();
    return result;
  }
  PoolResult measure(const Configuration& configuration, ByteSpan object, const Json& code, const Watch& watch) override {
    const std::string what(reinterpret_cast<const char*>(object.data()), object.size());
    EXPECT_EQ(digest_of_code(what).hex(), code["digest"].get<std::string>());
    const bool first = note_measured(what);
    // Until the next is at hand.
    do {
      if (what.starts_with("left")) watch.waiting();
    } while (first && what.starts_with("left-loading") && ::usleep(1000) == 0);
    PoolResult result;
    ReplayResult& measured = result.details.together;
    measured.stage = ReplayStage::done;
    measured.device = std::to_string(ordinal_);
    measured.obj_hash = digest_of_code(what);
    if (what == "fault") result.failure = Failure::device_fault, result.reason = "an illegal address";
    if (what == "wrong") result.failure = Failure::wrong_result, result.reason = "allocation 0x10 differs";
    if (result.failed()) return result;
    if (what == "crash-run" || what == "crash-load") std::abort();
    while (what == "hang-run") ::pause();
    if (what == "killed-run") ::kill(::getpid(), SIGKILL);
    if (what == "garbage") say_garbage();
    if (what == "no-details") say_details(Json::array({1}));
    if (what == "no-times") say_details({{"times", "none"}});
    const unsigned least = what.starts_with("takes ") ? static_cast<unsigned>(std::stoul(what.substr(6))) : 100;
    for (unsigned i = 0; i < configuration.execution.iterations; ++i) {
      measured.exec_time.emplace_back(least + i);
      // Of what can be left nobody has times yet.
      if (!what.starts_with("left") && !watch.timed(std::array{Nanoseconds(least + i)})) break;
      if (what == "slow") ::usleep(1000);
    }
    bool left = watch.leave && watch.leave();
    // Until the next is at hand.
    while (first && !left && what.starts_with("left")) ::usleep(1000), left = watch.leave();
    if (left) left_.push_back(result);
    return result;
  }

 private:
  // Whether it is the first time.
  static bool note_measured(const std::string& what) {
    const char* list = std::getenv("MNEME_TEST_MEASURED");
    if (list == nullptr) return false;
    std::ifstream before(list);
    bool first = true;
    for (std::string line; std::getline(before, line);) first = first && line != what;
    std::ofstream(list, std::ios::app) << what << "\n";
    return first;
  }

  int ordinal_;
  std::deque<PoolResult> left_;
};

Configuration with_passes(const std::string& passes) {
  Configuration configuration;
  configuration.passes = passes;
  return configuration;
}

std::string compile_key_of(const Configuration& configuration) { return compile_key(configuration, to_json(configuration)); }

constexpr unsigned kKilledStarts = 12;

constexpr char kKilled[] = "the worker ended by signal 9 (Killed): somebody killed it, or the system did because memory ran out";

constexpr char kCompilerBroken[] = "the compiler's process broke its connection with the pool, and was ended";
constexpr char kRunBroken[] = "the process that ran the kernel broke its connection with the pool, and was ended";

class PoolTest : public ::testing::Test {
 protected:
  PoolTest() : folder_(std::filesystem::temp_directory_path() / ("mneme-pool-test-" + std::to_string(::getpid()))) {
    have_kernel(folder_, {});
  }
  ~PoolTest() override { std::filesystem::remove_all(folder_); }

  // What is looked for before anything starts.
  static void have_kernel(const Path& database, const Digest& static_hash) {
    std::filesystem::create_directories(database);
    std::ofstream file(database / (static_hash.hex() + ".json"));
  }

  PoolOptions options() {
    PoolOptions options;
    options.database = folder_;
    options.instances = {Digest()};
    options.compile_workers = 2;
    options.command = "/proc/self/exe";
    options.command_arguments = {"--worker"};
    return options;
  }
  std::unique_ptr<Pool> open(const PoolOptions& options) {
    auto pool = Pool::open(options);
    EXPECT_TRUE(pool.ok()) << pool.status().to_string();
    return std::move(*pool);
  }
  std::unique_ptr<Pool> open() { return open(options()); }

  Path folder_;
};

TEST_F(PoolTest, ResultsComeForWhatWasSubmitted) {
  auto pool = open();
  Configuration configuration = with_passes("a");
  configuration.execution.iterations = 3;
  PoolResult result = pool->submit(configuration).get();
  EXPECT_EQ(result.configuration, configuration);
  EXPECT_FALSE(result.failed()) << result.reason;
  EXPECT_THAT(result.exec_time(), SizeIs(3));
  EXPECT_EQ(result.best_time(), Nanoseconds(100));
  EXPECT_EQ(result.origin, Origin::measured);
}

TEST_F(PoolTest, ItsProcessHasRoomForDescriptorsBeforeThereIsWork) {
  rlimit most{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &most), 0);
  auto pool = open();
  EXPECT_FALSE(pool->submit(with_passes("a")).get().failed());
  EXPECT_GE(testing_base::size_of_descriptor_table(), std::min<size_t>(most.rlim_cur, 1024));
}

TEST_F(PoolTest, WhatWaitsBehindManyFaultsIsMeasured) {
  auto pool = open();
  std::vector<Future> faults, others;
  for (int i = 0; i < 12; ++i) {
    for (auto [futures, passes] : {std::pair(&faults, "fault"), std::pair(&faults, "crash-run"), std::pair(&others, "right")}) {
      Configuration configuration = with_passes(passes);
      configuration.block.x = 32u * static_cast<unsigned>(i + 1);
      futures->push_back(pool->submit(configuration));
    }
  }
  for (const Future& future : faults) EXPECT_EQ(to_string(future.get().failure), "device_fault") << future.get().reason;
  for (const Future& future : others) EXPECT_FALSE(future.get().failed()) << future.get().reason;
}

// A compile worker has two jobs: what waited behind a crash, and what waits for the same translation, is compiled by the next
// one.
TEST_F(PoolTest, WhatWaitsBehindACrashOfTheCompilerIsCompiled) {
  for (bool share : {true, false}) {
    PoolOptions one_worker = options();
    one_worker.compile_workers = 1;
    one_worker.share = share;
    auto pool = open(one_worker);
    std::vector<Future> crashes, others;
    for (int i = 0; i < 6; ++i) {
      crashes.push_back(pool->submit(with_passes(i % 2 == 0 ? "crash-compile" : "crash-assemble")));
      Configuration configuration = with_passes(fmt::format("right/{}", i / 3));
      configuration.block.x = 32u * static_cast<unsigned>(i + 1);
      others.push_back(pool->submit(configuration));
    }
    for (const Future& future : others) EXPECT_FALSE(future.get().failed()) << future.get().reason;
    for (const Future& future : crashes) EXPECT_EQ(future.get().failure, Failure::compile_error);
  }
}

TEST_F(PoolTest, EachFailureIsOneResultAndTheOthersGoOn) {
  PoolOptions with_limits = options();
  with_limits.limits.compiling = with_limits.limits.running = std::chrono::seconds(2);
  auto pool = open(with_limits);
  struct Case {
    std::string passes;
    Failure failure;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {"nonsense", Failure::compile_error, "invalid_argument: pass pipeline 'nonsense' does not parse"},
      {"crash-compile", Failure::compile_error, "the compiler crashed: its process ended by signal 6 (Aborted)"},
      {"crash-with-words", Failure::compile_error,
       "the compiler crashed: its process ended by signal 6 (Aborted), after 'LLVM ERROR: made up'"},
      {"crash-assemble", Failure::compile_error, "the compiler crashed: its process ended by signal 6 (Aborted)"},
      {"hang-compile", Failure::compile_timeout, "compiling took longer than 2 s, and was ended"},
      {"killed-compile", Failure::worker_lost, kKilled},
      {"fault", Failure::device_fault, "an illegal address"},
      {"wrong", Failure::wrong_result, "allocation 0x10 differs"},
      {"crash-run", Failure::device_fault, "the process that ran the kernel ended by signal 6 (Aborted)"},
      {"hang-run", Failure::run_timeout, "the kernel ran longer than 2 s, and was ended"},
      {"garbage", Failure::device_fault, kRunBroken},
      {"no-details", Failure::device_fault, kRunBroken},
      {"no-times", Failure::device_fault, kRunBroken},
      {"no-about", Failure::compile_error, kCompilerBroken},
      {"no-digest", Failure::compile_error, kCompilerBroken},
      {"close-compile", Failure::compile_error, kCompilerBroken},
      {"killed-run", Failure::worker_lost, kKilled},
  };
  std::vector<Future> futures;
  for (const Case& c : cases) {
    futures.push_back(pool->submit(with_passes(c.passes)));
    futures.push_back(pool->submit(with_passes("right/" + c.passes)));
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    PoolResult result = futures[2 * i].get();
    EXPECT_EQ(to_string(result.failure), to_string(cases[i].failure)) << cases[i].passes;
    EXPECT_EQ(result.reason, cases[i].reason);
    PoolResult other = futures[2 * i + 1].get();
    EXPECT_FALSE(other.failed()) << other.reason;
  }
  PoolProgress progress = pool->progress();
  EXPECT_EQ(progress.done, 2 * cases.size());
  EXPECT_GE(progress.workers_replaced, 14u);
  EXPECT_TRUE(pool->status().ok());
}

// A limit that is applied to another kind of work would end what is right, or nothing.
TEST_F(PoolTest, EachKindOfWorkHasItsOwnLimit) {
  using Seconds = PoolLimits::Seconds;
  struct Case {
    PoolLimits limits;
    std::string hangs;
    Failure failure;
    std::string reason;
  };
  const Case kCases[] = {
      {{.compiling = Seconds(1), .running = Seconds(600), .starting = Seconds(600)},
       "hang-compile",
       Failure::compile_timeout,
       "compiling took longer than 1 s, and was ended"},
      {{.compiling = Seconds(600), .running = Seconds(1), .starting = Seconds(600)},
       "hang-run",
       Failure::run_timeout,
       "the kernel ran longer than 1 s, and was ended"},
  };
  for (const Case& c : kCases) {
    PoolOptions with_limits = options();
    with_limits.limits = c.limits;
    auto pool = open(with_limits);
    const PoolResult result = pool->submit(with_passes(c.hangs)).get();
    EXPECT_EQ(result.failure, c.failure);
    EXPECT_EQ(result.reason, c.reason);
  }
}

TEST_F(PoolTest, ItsProgressCountsWhatEndedHow) {
  {
    PoolOptions with_log = options();
    with_log.log = folder_ / "log";
    open(with_log)->submit(with_passes("known")).get();
  }
  PoolOptions resuming = options();
  resuming.log = folder_ / "log";
  resuming.resume = true;
  auto pool = open(resuming);
  for (const char* passes : {"fault", "wrong", "nonsense", "wrong/again"})
    EXPECT_TRUE(pool->submit(with_passes(passes)).get().failed());
  for (const char* passes : {"a", "a/again", "b", "known"}) EXPECT_FALSE(pool->submit(with_passes(passes)).get().failed());
  pool->drain();
  const PoolProgress progress = pool->progress();
  EXPECT_EQ(progress.submitted, 8u);
  EXPECT_EQ(progress.done, 8u);
  EXPECT_EQ(progress.resumed, 1u);
  EXPECT_EQ(progress.shared, 2u) << "of wrong and of a";
  EXPECT_EQ(progress.measured, 2u) << "a and b";
  const std::map<Failure, uint64_t> kFailures{
      {Failure::device_fault, 1}, {Failure::wrong_result, 2}, {Failure::compile_error, 1}};
  EXPECT_EQ(progress.failures, kFailures);
  EXPECT_EQ(progress.compiling + progress.ready + progress.measuring, 0u);
  EXPECT_EQ(progress.best_time, Nanoseconds(100));
}

TEST_F(PoolTest, TheBestTimeIsTheLeast) {
  auto pool = open();
  const std::pair<const char*, int> kBest[] = {{"takes 80", 80}, {"takes 90", 80}, {"takes 50", 50}, {"takes 60", 50}};
  for (const auto& [passes, best] : kBest) {
    EXPECT_FALSE(pool->submit(with_passes(passes)).get().failed());
    EXPECT_EQ(pool->progress().best_time, Nanoseconds(best)) << passes;
  }
}

TEST(UsualCompileWorkers, LeaveACoreToEachDevice) {
  const size_t cores = usable_processors();
  EXPECT_EQ(usual_compile_workers(0), cores);
  EXPECT_EQ(usual_compile_workers(1), std::max<size_t>(1, cores - 1));
  EXPECT_EQ(usual_compile_workers(cores), 1u);
  EXPECT_EQ(usual_compile_workers(cores + 7), 1u);
}

TEST_F(PoolTest, BusyTimesAreOfTheirWorkers) {
  auto pool = open();
  EXPECT_FALSE(pool->submit(with_passes("slow-compile")).get().failed());
  const PoolProgress progress = pool->progress();
  EXPECT_GE(progress.compile_busy, std::chrono::milliseconds(500));
  EXPECT_LT(progress.device_busy, progress.compile_busy);
  EXPECT_GE(progress.passed, progress.compile_busy);
}

TEST_F(PoolTest, LimitsAreEnforcedOnceEverythingIsHeard) {
  PoolOptions with_limits = options();
  with_limits.limits.compiling = with_limits.limits.running = std::chrono::seconds(4);
  auto pool = open(with_limits);
  EXPECT_FALSE(pool->submit(with_passes("first")).get().failed());
  Future slow = pool->submit(with_passes("slow-compile"));
  // The pool's thread is away for longer than the limit, while that one waits for its answer.
  Future other = pool->submit(with_passes("nonsense"), [](const PoolResult&) { ::sleep(5); });
  EXPECT_EQ(other.get().failure, Failure::compile_error);
  EXPECT_FALSE(slow.get().failed()) << slow.get().reason;
}

TEST_F(PoolTest, TooManyOpenFilesEndItWithTheReason) {
  PoolOptions one = options();
  one.compile_workers = 1;
  auto pool = open(one);
  EXPECT_FALSE(pool->submit(with_passes("first")).get().failed());
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const Descriptor next(::dup(0));
  const rlimit none{static_cast<rlim_t>(next.number() + 1), usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::vector<Future> futures;
  for (int i = 0; i < 300; ++i) futures.push_back(pool->submit(with_passes(fmt::format("object {}", i))));
  for (const Future& future : futures)
    if (future.get().failed()) EXPECT_EQ(future.get().failure, Failure::worker_lost) << future.get().reason;
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_EQ(futures.back().get().reason, pool->status().to_string());
  EXPECT_THAT(pool->status().to_string(),
              HasSubstr("exhausted: receiving a message: its descriptors cannot be had: this process has too many open files"));
}

TEST_F(PoolTest, RaisesTheLimitOfOpenFiles) {
  rlimit usual{}, raised{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit low{200, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  open();
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_EQ(raised.rlim_cur, std::min<rlim_t>(usual.rlim_max, 65536));
}

TEST_F(PoolTest, LimitsThatAreNoTimeAreRefused) {
  using Seconds = PoolLimits::Seconds;
  PoolOptions wrong = options();
  wrong.limits.running = Seconds(std::nan(""));
  EXPECT_EQ(Pool::open(wrong).status().to_string(),
            "invalid_argument: opening a pool: limits.running must be more than 0 s, not nan");
  wrong = options();
  wrong.limits.compiling = Seconds(-1);
  EXPECT_EQ(Pool::open(wrong).status().message(), "opening a pool: limits.compiling must be more than 0 s, not -1");
  wrong = options();
  wrong.limits.starting = Seconds(0);
  EXPECT_EQ(Pool::open(wrong).status().message(), "opening a pool: limits.starting must be more than 0 s, not 0");

  PoolOptions none = options();
  none.limits = {Seconds::max(), Seconds(std::numeric_limits<double>::infinity()), Seconds(1e300)};
  auto pool = open(none);
  for (const char* passes : {"a", "b", "c"}) EXPECT_FALSE(pool->submit(with_passes(passes)).get().failed());
}

// U+FFFD, in place of what is no UTF-8.
#define MNEME_NO_UTF8 "\xef\xbf\xbd"

TEST_F(PoolTest, WordsThatAreNoUtf8AreOneResultInTheLogToo) {
  PoolOptions logged = options();
  logged.log = folder_ / "words.jsonl";
  auto pool = open(logged);
  std::vector<Future> futures;
  for (uint32_t block : {32u, 64u, 128u}) {  // for which the compiler is asked the same
    Configuration configuration = with_passes("no UTF-8");
    configuration.block.x = block;
    futures.push_back(pool->submit(configuration));
  }
  futures.push_back(pool->submit(with_passes("right")));
  futures.push_back(pool->submit(with_passes("\xff")));
  futures.push_back(pool->measure_anew(with_passes("no UTF-8"), "\xfe"));
  const std::string refused = "invalid_argument: there is no pass '" MNEME_NO_UTF8 MNEME_NO_UTF8 "'";
  const std::string unreadable = "invalid_argument: configuration: 'passes' must be UTF-8, not \"" MNEME_NO_UTF8 "\"";
  const std::vector<std::string> reasons = {refused, refused, refused, "", unreadable, refused};
  for (size_t i = 0; i < futures.size(); ++i) {
    const PoolResult result = futures[i].get();
    EXPECT_EQ(result.failure, reasons[i].empty() ? Failure::none : Failure::compile_error);
    EXPECT_EQ(result.reason, reasons[i]);
  }
  pool->drain();
  EXPECT_TRUE(pool->status().ok()) << pool->status().to_string();
  pool.reset();
  auto log = read_log(logged.log);
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  EXPECT_THAT(log->results, SizeIs(futures.size()));
  logged.resume = true;
  EXPECT_EQ(open(logged)->submit(log->results[0].configuration).get().origin, Origin::resumed);
}

TEST_F(PoolTest, WhatACallerThrowsIsToldAndLosesNoResult) {
  auto pool = open();
  std::vector<Future> futures;
  for (int i = 0; i < 20; ++i)
    futures.push_back(pool->submit(with_passes(fmt::format("same/{}", i)), [i](const PoolResult&) {
      if (i == 3) throw Json::type_error::create(302, "some words", nullptr);
      if (i == 4) throw 4;
      if (i % 2 == 0) throw std::bad_alloc();
    }));
  for (const Future& future : futures) EXPECT_FALSE(future.get().failed()) << future.get().reason;
  pool->drain();
  EXPECT_EQ(pool->status().code(), Code::internal);
  EXPECT_THAT(pool->status().message(), HasSubstr("the on_done of a configuration threw: "));
  EXPECT_FALSE(pool->submit(with_passes("another")).get().failed());
}

TEST_F(PoolTest, WhatEndsInTheSameCodeIsMeasuredOnce) {
  auto pool = open();
  std::vector<Future> futures;
  for (int i = 0; i < 20; ++i) futures.push_back(pool->submit(with_passes("same/" + std::to_string(i))));
  unsigned measured = 0;
  Digest measured_for;
  for (Future& future : futures) {
    PoolResult result = future.get();
    if (result.origin == Origin::measured) ++measured, measured_for = whole_digest(result.configuration);
  }
  EXPECT_EQ(measured, 1u);
  for (Future& future : futures)
    if (PoolResult result = future.get(); result.origin == Origin::shared) EXPECT_EQ(result.shared_with, measured_for);
  EXPECT_EQ(pool->progress().devices_ready, 1u);
  EXPECT_EQ(pool->progress().distinct_objects, 1u);

  // Another launch of the same object is another measurement.
  Configuration other = with_passes("same");
  other.block.x = 64;
  EXPECT_EQ(pool->submit(other).get().origin, Origin::measured);
}

TEST_F(PoolTest, WhatIsLostWithAnotherIsMeasuredAgainAlone) {
  const Path list = folder_ / "measured";
  ::setenv("MNEME_TEST_MEASURED", list.c_str(), 1);
  PoolOptions one = options();
  one.compile_workers = 1;
  auto pool = open(one);
  ::unsetenv("MNEME_TEST_MEASURED");
  // The results of the first two are awaited as the third takes the process down.
  std::vector<Future> futures;
  for (const char* passes : {"left a", "left b", "crash-run", "left c", "fault", "d"})
    futures.push_back(pool->submit(with_passes(passes)));
  pool->drain();
  const std::vector<Failure> expected = {Failure::none, Failure::none,         Failure::device_fault,
                                         Failure::none, Failure::device_fault, Failure::none};
  for (size_t i = 0; i < futures.size(); ++i) {
    PoolResult result = futures[i].get();
    EXPECT_EQ(to_string(result.failure), to_string(expected[i])) << result.configuration.passes << ": " << result.reason;
  }
  std::ifstream lines(list);
  std::map<std::string, int> times;
  for (std::string line; std::getline(lines, line);)
    if (!line.ends_with("expected")) ++times[line];
  EXPECT_EQ(times,
            (std::map<std::string, int>{{"left a", 2}, {"left b", 2}, {"crash-run", 1}, {"left c", 2}, {"fault", 1}, {"d", 1}}));
  EXPECT_EQ(pool->progress().workers_replaced, 2u);
  EXPECT_EQ(pool->progress().measured, 4u);
}

TEST_F(PoolTest, WhatRunsAsAnotherIsLoadedIsNotToBlameForACrash) {
  const Path list = folder_ / "measured";
  ::setenv("MNEME_TEST_MEASURED", list.c_str(), 1);
  PoolOptions one = options();
  one.compile_workers = 1;
  auto pool = open(one);
  ::unsetenv("MNEME_TEST_MEASURED");
  std::vector<Future> futures;
  for (const char* passes : {"left a", "left-loading b", "crash-load", "c"}) futures.push_back(pool->submit(with_passes(passes)));
  pool->drain();
  for (Future& future : futures) {
    PoolResult result = future.get();
    const bool guilty = result.configuration.passes == "crash-load";
    EXPECT_EQ(to_string(result.failure), to_string(guilty ? Failure::device_fault : Failure::none)) << result.reason;
  }
  std::ifstream lines(list);
  std::map<std::string, int> times;
  for (std::string line; std::getline(lines, line);) ++times[line];
  EXPECT_EQ(times["crash-load, expected"] + times["crash-load"], 1);
  EXPECT_EQ(times["left-loading b"], 2);
}

TEST_F(PoolTest, WhatIsMeasuredAnewSharesNothing) {
  PoolOptions logged = options();
  logged.log = folder_ / "anew.jsonl";
  {
    auto pool = open(logged);
    EXPECT_EQ(pool->submit(with_passes("same")).get().origin, Origin::measured);
    for (const char* label : {"begin", "end"}) {
      PoolResult result = pool->measure_anew(with_passes("same"), label).get();
      EXPECT_EQ(result.origin, Origin::measured);
      EXPECT_EQ(result.label, label);
    }
    EXPECT_EQ(pool->submit(with_passes("same/2")).get().origin, Origin::shared);
  }
  EXPECT_EQ(read_log(logged.log)->results.at(1).label, "begin");
  logged.resume = true;
  auto pool = open(logged);
  EXPECT_EQ(pool->measure_anew(with_passes("same"), "begin").get().origin, Origin::measured);
  EXPECT_EQ(pool->submit(with_passes("same")).get().origin, Origin::resumed);
}

TEST_F(PoolTest, TheCompilerIsAskedTheSameOnce) {
  const Path count = folder_ / "translations";
  ::setenv("MNEME_TEST_TRANSLATIONS", count.c_str(), 1);
  auto pool = open();
  ::unsetenv("MNEME_TEST_TRANSLATIONS");
  std::vector<Future> futures;
  for (const char* passes : {"a", "b", "nonsense"})
    for (uint32_t block = 32; block <= 512; block += 32) {
      Configuration configuration = with_passes(passes);
      configuration.block.x = block;
      futures.push_back(pool->submit(configuration));
    }
  pool->drain();
  std::ifstream lines(count);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'), 3);
  unsigned measured = 0, refused = 0;
  for (const Future& future : futures) {
    PoolResult result = future.get();
    if (!result.failed()) measured += result.origin == Origin::measured;
    if (!result.failed()) continue;
    EXPECT_EQ(result.failure, Failure::compile_error);
    EXPECT_THAT(result.reason, HasSubstr("does not parse"));
    refused += result.origin == Origin::measured;
  }
  EXPECT_EQ(measured, 32u) << "each launch is measured";
  EXPECT_EQ(refused, 1u) << "and what is refused is refused once, and shared";
  EXPECT_EQ(pool->progress().distinct_objects, 2u);
  // Another one that is made for its launch is asked for itself.
  Configuration special = with_passes("a");
  special.specialise.dimensions = true;
  EXPECT_NE(compile_key_of(special), compile_key_of(with_passes("a")));
  Configuration wider = special;
  wider.block.x = 64;
  EXPECT_NE(compile_key_of(special), compile_key_of(wider));
}

TEST_F(PoolTest, AllDevicesAreKeptBusy) {
  PoolOptions several = options();
  several.devices = {0, 1, 2};
  auto pool = open(several);
  std::vector<Future> futures;
  for (int i = 0; i < 60; ++i) {
    Configuration slow = with_passes("slow/" + std::to_string(i));
    slow.block.x = static_cast<uint32_t>(i + 1);
    futures.push_back(pool->submit(slow));
  }
  std::map<std::string, int> measured_on;
  for (const Future& future : futures) ++measured_on[future.get().details.together.device];
  EXPECT_THAT(measured_on, SizeIs(3));
  EXPECT_EQ(pool->progress().devices_ready, 3u);
}

TEST_F(PoolTest, AFullDiskForItsLogIsToldAndTheRunGoesOn) {
  PoolOptions logged = options();
  logged.log = folder_ / "run.jsonl";
  {
    auto pool = open(logged);
    EXPECT_FALSE(pool->submit(with_passes("a")).get().failed());
    pool->drain();
    rlimit before{}, full{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    auto handler = ::signal(SIGXFSZ, SIG_IGN);
    full = {std::filesystem::file_size(logged.log) + 10, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    EXPECT_FALSE(pool->submit(with_passes("b")).get().failed());
    pool->drain();
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    EXPECT_EQ(pool->status().message(), "writing the log of the results: writing " + logged.log.string() + ": File too large");
    EXPECT_FALSE(pool->submit(with_passes("c")).get().failed());
  }
  EXPECT_THAT(read_log(logged.log)->results, SizeIs(1));
  logged.resume = true;
  EXPECT_EQ(open(logged)->submit(with_passes("a")).get().origin, Origin::resumed);
}

// The processes that have `pid` among their ancestors.
std::vector<pid_t> descendants(pid_t pid) {
  std::vector<pid_t> found;
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (pid_t child; list >> child;) {
    found.push_back(child);
    for (pid_t grandchild : descendants(child)) found.push_back(grandchild);
  }
  return found;
}

bool runs(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

// The zygote is a child of another thread than the first.
std::vector<pid_t> workers_of(const std::string& process) {
  std::vector<pid_t> found;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child; list >> child;) {
      found.push_back(child);
      for (pid_t grandchild : descendants(child)) found.push_back(grandchild);
    }
  }
  return found;
}

TEST_F(PoolTest, AZygoteThatIsKilledEndsItWithTheReason) {
  auto pool = open();
  EXPECT_FALSE(pool->submit(with_passes("a")).get().failed());
  Future future = pool->submit(with_passes("hang-compile"));
  ::kill(workers_of("self").front(), SIGKILL);
  EXPECT_EQ(future.get().failure, Failure::worker_lost);
  EXPECT_THAT(pool->status().message(), HasSubstr("the pool's workers have ended: "));
  EXPECT_EQ(pool->submit(with_passes("b")).get().failure, Failure::worker_lost);
}

TEST_F(PoolTest, NothingOutlivesAProcessThatIsKilled) {
  pid_t holder = 0;
  std::string program = "/proc/self/exe", hold = "--hold-pool", folder = folder_.string();
  std::array<char*, 4> argv{program.data(), hold.data(), folder.data(), nullptr};
  ASSERT_EQ(::posix_spawn(&holder, program.c_str(), nullptr, nullptr, argv.data(), environ), 0);
  std::vector<pid_t> processes;
  for (int i = 0; i < 3000 && processes.size() < 4; ++i, ::usleep(10'000)) processes = workers_of(std::to_string(holder));
  ASSERT_THAT(processes, SizeIs(4)) << "the zygote, two compile workers and a device worker";
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  for (int i = 0; i < 3000 && std::any_of(processes.begin(), processes.end(), runs); ++i) ::usleep(10'000);
  for (pid_t process : processes) EXPECT_FALSE(runs(process));
}

TEST_F(PoolTest, ClosesWhateverItsWorkersDo) {
  size_t files = 0;
  for (int i = 0; i < 3; ++i) {
    auto pool = open();
    // In this order: behind a compilation that hangs it would wait for the end of that.
    Future running = pool->submit(with_passes("hang-run"));
    pool->submit(with_passes("hang-compile"));
    for (int wait = 0; wait < 3000 && pool->progress().measuring == 0; ++wait) ::usleep(10'000);
    pool.reset();
    EXPECT_EQ(running.get().failure, Failure::cancelled);
    const auto open_files = std::filesystem::directory_iterator("/proc/self/fd");
    const auto now = static_cast<size_t>(std::distance(begin(open_files), end(open_files)));
    if (i > 0) EXPECT_EQ(now, files);
    files = now;
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  }
}

TEST_F(PoolTest, SharingCanBeTurnedOff) {
  PoolOptions alone = options();
  alone.share = false;
  auto pool = open(alone);
  std::vector<Future> futures;
  for (int i = 0; i < 5; ++i) futures.push_back(pool->submit(with_passes("same/" + std::to_string(i))));
  for (Future& future : futures) EXPECT_EQ(future.get().origin, Origin::measured);
}

TEST_F(PoolTest, AKilledWorkerDoesNotFailThoseThatWaitForItsCode) {
  auto pool = open();
  std::vector<Future> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(pool->submit(with_passes("killed-run/" + std::to_string(i))));
  for (Future& future : futures) {
    EXPECT_EQ(future.get().failure, Failure::worker_lost);
    EXPECT_EQ(future.get().origin, Origin::measured);  // each was tried
  }
}

TEST_F(PoolTest, TimesComeAsTheyAreMeasuredAndTheRestCanBeGivenUp) {
  PoolOptions logged = options();
  logged.log = folder_ / "given-up.jsonl";
  auto pool = open(logged);
  Configuration slow = with_passes("slow");
  slow.execution.iterations = 100'000;
  Future future = pool->submit(slow);
  while (future.times_so_far().size() < 3) ::usleep(1000);
  future.cancel();
  PoolResult result = future.get();
  EXPECT_GE(result.exec_time().size(), 3u);
  EXPECT_LT(result.exec_time().size(), 100'000u);
  EXPECT_EQ(result.failure, Failure::cancelled);
  EXPECT_EQ(result.reason, "given up while it was timed");
  EXPECT_FALSE(result.best_time());
  // It is in the log, and what a run that resumes does not know.
  pool.reset();
  const size_t times = read_log(logged.log)->results.at(0).exec_time().size();
  EXPECT_EQ(times, result.exec_time().size());
  EXPECT_TRUE(ResultLog::open(logged.log, read_log(logged.log)->about, ResultLog::Existing::resume)->known().empty());
}

TEST_F(PoolTest, WhoSharesAMeasurementThatIsGivenUpIsMeasured) {
  auto pool = open();
  Configuration slow = with_passes("slow/1"), same = with_passes("slow/2");
  slow.execution.iterations = same.execution.iterations = 3000;
  Future given_up = pool->submit(slow);
  while (given_up.times_so_far().empty()) ::usleep(1000);
  Future other = pool->submit(same);
  const auto waits = [&] { return pool->progress().distinct_objects == 1 && pool->progress().compiling == 0; };
  while (!waits()) ::usleep(1000);
  ::usleep(200'000);
  given_up.cancel();
  EXPECT_EQ(given_up.get().failure, Failure::cancelled);
  const PoolResult result = other.get();
  EXPECT_FALSE(result.failed()) << to_string(result.failure) << ": " << result.reason;
  EXPECT_EQ(result.origin, Origin::measured);
  EXPECT_THAT(result.exec_time(), SizeIs(3000));
}

TEST_F(PoolTest, WhatHasNotBegunCanBeCancelled) {
  PoolOptions one = options();
  one.compile_workers = 1;
  one.log = folder_ / "cancelled.jsonl";
  auto pool = open(one);
  Future hanging = pool->submit(with_passes("hang-compile"));
  Future waiting = pool->submit(with_passes("a"));
  waiting.cancel();
  EXPECT_EQ(waiting.get().failure, Failure::cancelled);
  Future same = pool->submit(with_passes("hang-compile"));  // which waits for what the first becomes
  while (pool->progress().compiling == 0) ::usleep(1000);
  same.cancel();
  EXPECT_EQ(same.get().failure, Failure::cancelled);
  pool.reset();
  EXPECT_EQ(hanging.get().failure, Failure::cancelled);
  EXPECT_EQ(hanging.get().reason, "unavailable: the pool was closed");
  EXPECT_THAT(read_log(one.log)->results, SizeIs(0));
}

TEST_F(PoolTest, ResumesFromItsLog) {
  PoolOptions logged = options();
  logged.log = folder_ / "run.jsonl";
  {
    auto pool = open(logged);
    for (const char* passes : {"a", "b", "wrong", "killed-run"}) pool->submit(with_passes(passes));
    pool->drain();
    EXPECT_EQ(pool->progress().done, 4u);
  }
  EXPECT_THAT(Pool::open(logged).status().message(), HasSubstr("there are results already"));
  std::ofstream(logged.log, std::ios::app) << R"({"configuration": {"pas)";  // a run that was killed
  logged.resume = true;
  auto pool = open(logged);
  EXPECT_EQ(pool->submit(with_passes("a")).get().origin, Origin::resumed);
  EXPECT_EQ(pool->submit(with_passes("wrong")).get().failure, Failure::wrong_result);
  PoolResult same_code = pool->submit(with_passes("a/2")).get();
  EXPECT_EQ(same_code.origin, Origin::shared);
  EXPECT_EQ(same_code.shared_with, whole_digest(with_passes("a")));
  EXPECT_EQ(pool->submit(with_passes("killed-run")).get().origin, Origin::measured);  // tried again
  EXPECT_EQ(pool->submit(with_passes("c")).get().origin, Origin::measured);
  pool.reset();
  EXPECT_THAT(read_log(logged.log)->results, SizeIs(7));

  logged.database = folder_ / "another place of it";
  have_kernel(logged.database, logged.static_hash);
  EXPECT_EQ(open(logged)->submit(with_passes("a")).get().origin, Origin::resumed);
  EXPECT_EQ(read_log(logged.log)->results.at(4).origin, Origin::shared);  // a log that is resumed says the same
  logged.static_hash = digest_of(std::as_bytes(std::span("another")));
  have_kernel(logged.database, logged.static_hash);
  EXPECT_EQ(Pool::open(logged).status().code(), Code::incompatible);
}

// Whoever shares what an earlier run measured is told for whom that was, and not who shared it then.
TEST_F(PoolTest, WhatIsSharedWithAnEarlierRunNamesWhatWasMeasured) {
  PoolOptions logged = options();
  logged.log = folder_ / "shared.jsonl";
  {
    auto pool = open(logged);
    EXPECT_EQ(pool->submit(with_passes("same")).get().origin, Origin::measured);
    for (int i = 0; i < 20; ++i) pool->submit(with_passes("same/" + std::to_string(i)));
    pool->drain();
  }
  logged.resume = true;
  auto pool = open(logged);
  const Digest measured = whole_digest(with_passes("same"));
  PoolResult again = pool->submit(with_passes("same/5")).get();
  EXPECT_EQ(again.origin, Origin::resumed);
  EXPECT_EQ(again.shared_with, measured);
  again = pool->submit(with_passes("same/another")).get();
  EXPECT_EQ(again.origin, Origin::shared);
  EXPECT_EQ(again.shared_with, measured);
}

TEST_F(PoolTest, ALogIsOneRunsAtATime) {
  PoolOptions logged = options();
  logged.log = folder_ / "one.jsonl";
  const std::string in_use =
      "unavailable: another run is writing " + logged.log.string() + ": wait for its end, or choose another file";
  for (const char* passes : {"a", "b"}) {  // made, and taken up again
    auto pool = open(logged);
    logged.resume = true;
    EXPECT_EQ(Pool::open(logged).status().to_string(), in_use);
    EXPECT_FALSE(pool->submit(with_passes(passes)).get().failed());
    EXPECT_EQ(Pool::open(logged).status().to_string(), in_use);
  }
  EXPECT_THAT(read_log(logged.log)->results, SizeIs(2));
  EXPECT_FALSE(std::filesystem::exists(logged.log.string() + ".new"));
}

TEST_F(PoolTest, ALogThatCannotBeTakenUpIsNamedAndLeftAsItIs) {
  const Path log = folder_ / "full.jsonl";
  const Json about = {{"database", "x"}};
  EXPECT_TRUE(ResultLog::open(log, about, ResultLog::Existing::refuse).ok());
  auto full = faulty_file_system(FileSystem::posix(), [](std::string_view operation, const Path& path, uint64_t) {
    return operation == "append" ? error(Code::exhausted, "writing {}: No space left on device", path.string()) : Status();
  });
  EXPECT_EQ(ResultLog::open(log, about, ResultLog::Existing::resume, *full).status().to_string(),
            "exhausted: writing " + log.string() + ": No space left on device");
  EXPECT_FALSE(std::filesystem::exists(log.string() + ".new"));
  EXPECT_TRUE(ResultLog::open(log, about, ResultLog::Existing::resume).ok());
}

TEST_F(PoolTest, WorkersThatDoNotStartEndItWithTheReason) {
  PoolOptions broken = options();
  broken.command_arguments = {"--broken-worker"};
  auto pool = open(broken);
  PoolResult result = pool->submit(with_passes("a")).get();
  EXPECT_EQ(result.failure, Failure::worker_lost);
  EXPECT_THAT(result.reason, HasSubstr("3 workers in a row did not start: the last one unavailable: no GPU today"));
  EXPECT_EQ(pool->submit(with_passes("b")).get().failure, Failure::worker_lost);
  EXPECT_FALSE(pool->status().ok());
}

TEST_F(PoolTest, WorkersThatHangAsTheyStartEndItWithTheReason) {
  using Seconds = PoolLimits::Seconds;
  ::setenv("MNEME_TEST_HANGING_START", "1", 1);
  PoolOptions impatient = options();
  impatient.limits = {.compiling = Seconds(600), .running = Seconds(600), .starting = Seconds(0.25)};
  auto pool = open(impatient);
  const PoolResult result = pool->submit(with_passes("a")).get();
  ::unsetenv("MNEME_TEST_HANGING_START");
  EXPECT_EQ(result.failure, Failure::worker_lost);
  EXPECT_THAT(result.reason, HasSubstr("3 workers in a row did not start: the last one was not ready after 0.25 s"));
}

TEST_F(PoolTest, WorkersThatSomebodyKillsAsTheyStartAreReplaced) {
  const Path list = folder_ / "starts";
  ::setenv("MNEME_TEST_KILLED_STARTS", list.c_str(), 1);
  auto pool = open();
  ::unsetenv("MNEME_TEST_KILLED_STARTS");
  EXPECT_EQ(pool->submit(with_passes("a")).get().failure, Failure::none);
  EXPECT_TRUE(pool->status().ok()) << pool->status().to_string();
  EXPECT_EQ(std::filesystem::file_size(list), kKilledStarts);
}

TEST_F(PoolTest, WorkersThatAreAlwaysKilledAsTheyStartEndItWithTheReason) {
  ::setenv("MNEME_TEST_KILLED_STARTS", "", 1);
  auto pool = open();
  ::unsetenv("MNEME_TEST_KILLED_STARTS");
  EXPECT_THAT(pool->submit(with_passes("a")).get().reason,
              HasSubstr("20 workers in a row did not start: the last one ended by signal 9 (Killed): somebody killed it, or the "
                        "system did because memory ran out"));
}

TEST_F(PoolTest, WorkersThatCannotBeForkedEndItWithTheReason) {
  ::setenv("MNEME_TEST_NO_PROCESS", "1", 1);
  auto pool = open();
  ::unsetenv("MNEME_TEST_NO_PROCESS");
  EXPECT_EQ(
      pool->submit(with_passes("a")).get().reason,
      "unavailable: 3 workers in a row did not start: the last one was not forked: Resource temporarily unavailable; `ulimit "
      "-u` says how many processes there may be");
}

TEST_F(PoolTest, RefusesWhatItCannotOpen) {
  PoolOptions none = options();
  none.instances.clear();
  EXPECT_EQ(Pool::open(none).status().message(), "opening a pool: no recorded instance is given");
  none = options();
  none.devices.clear();
  EXPECT_EQ(Pool::open(none).status().message(), "opening a pool: no device is given");
  none = options();
  none.database = folder_ / "nowhere";
  EXPECT_EQ(Pool::open(none).status().code(), Code::not_found);
  EXPECT_THAT(Pool::open(none).status().message(), HasSubstr("opening a pool: "));
  EXPECT_THAT(Pool::open(none).status().message(), HasSubstr((folder_ / "nowhere").string()));
  EXPECT_THAT(*all_devices(DeviceKind::cpu), ::testing::ElementsAre(0));
  none = options();
  none.command = "/nowhere/mneme";
  EXPECT_THAT(Pool::open(none).status().message(), HasSubstr("starting /nowhere/mneme for the pool"));
}

TEST_F(PoolTest, AThreadThatCannotBeHadIsAStatus) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, size_t{1} << 47), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  const Status status = Pool::open(options()).status();
  ::pthread_setattr_default_np(&usual);
  EXPECT_EQ(status.to_string(),
            "unavailable: opening a pool: starting its thread: Resource temporarily unavailable (`ulimit -u` says how many there "
            "may be)");
}

// Half of the work is hostile, and workers are killed at random meanwhile.
TEST_F(PoolTest, ManyHostileConfigurationsEndInOneResultEach) {
  PoolOptions with_limits = options();
  with_limits.limits.compiling = with_limits.limits.running = std::chrono::seconds(10);
  auto pool = open(with_limits);
  const std::vector<std::string> words = {"right", "nonsense",       "right",          "crash-compile", "right",
                                          "fault", "right",          "crash-run",      "right",         "wrong",
                                          "right", "crash-assemble", "killed-compile", "right"};
  std::vector<Future> futures;
  for (int i = 0; i < 300; ++i) {
    const std::string& word = words[static_cast<size_t>(i) % words.size()];
    futures.push_back(pool->submit(with_passes(word == "right" ? word + std::to_string(i) : word)));
  }
  unsigned right = 0;
  for (Future& future : futures) right += !future.get().failed();
  EXPECT_EQ(right, static_cast<unsigned>(std::count_if(futures.begin(), futures.end(), [](const Future& f) {
              return f.get().configuration.passes.starts_with("right");
            })));
  EXPECT_EQ(pool->progress().done, 300u);
}

// A process that has a pool with work that never ends, until it is killed.
int hold_pool(const char* database) {
  PoolOptions options;
  options.database = database;
  options.instances = {Digest()};
  options.compile_workers = 2;
  options.command = "/proc/self/exe";
  options.command_arguments = {"--worker"};
  auto pool = Pool::open(options);
  if (!pool.ok()) return 1;
  for (const char* passes : {"hang-compile", "hang-run"}) (*pool)->submit(with_passes(passes));
  for (;;) ::pause();
}

// As somebody might: the first so many that start, where a file is named that counts them, else all.
void be_killed_as_it_starts() {
  const char* list = std::getenv("MNEME_TEST_KILLED_STARTS");
  if (list == nullptr) return;
  std::error_code none;
  if (const auto size = std::filesystem::file_size(list, none); !none && size >= kKilledStarts) return;
  if (*list != 0) std::ofstream(list, std::ios::app) << '.';
  ::raise(SIGKILL);
}

// A user who has as many processes as there may be.
void have_no_more_processes() {
  if (std::getenv("MNEME_TEST_NO_PROCESS") == nullptr) return;
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NPROC, &none);
  [[maybe_unused]] const int ignored = ::setuid(65534);  // the limit is not root's
}

void be_worker(Channel pool, bool broken) {
  end_with_parent();
  have_no_more_processes();
  auto setup = pool.receive();
  if (!setup.ok()) return;
  run_zygote(std::move(pool), [broken](const Json& order, Channel channel) {
    if (order["role"] == "device") be_killed_as_it_starts();
    while (order["role"] == "device" && std::getenv("MNEME_TEST_HANGING_START") != nullptr) ::pause();
    if (order["role"] == "compile")
      serve_compile(std::move(channel), std::unique_ptr<CompileWork>(new FakeCompile));
    else if (broken)
      serve_device(std::move(channel), error(Code::unavailable, "no GPU today"));
    else if (DeviceProperties device; announce(channel, device).ok())
      serve_device(std::move(channel), std::unique_ptr<DeviceWork>(new FakeDevice(order["device"])));
  });
}

}  // namespace
}  // namespace mneme

int main(int argc, char** argv) {
  const std::string first = argc == 3 ? argv[1] : "";
  if (first == "--worker" || first == "--broken-worker") {
    mneme::be_worker(mneme::Channel(mneme::Descriptor(std::atoi(argv[2]))), first == "--broken-worker");
    return 0;
  }
  if (first == "--hold-pool") return mneme::hold_pool(argv[2]);
  if (first == "--recorded-worker") return mneme::run_worker_process(std::atoi(argv[2]));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
