// Half of the configurations are hostile, and workers are killed at random meanwhile: every configuration ends in exactly one
// result, and nothing that is wrong is called right.
//
// In mneme_pool_test a short run on the CPU device. As a program of its own:
//   mneme_pool_gpu_test [--device cuda|cpu] [--devices N] [--count N] [--seed S]
#include "mneme/pool/testing/hostile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "mneme/base/processors.h"
#include "mneme/pool/pool.h"
#include "mneme/pool/result_log.h"
#include "mneme/pool/testing/processes.h"
#include "mneme/pool/testing/random_pipeline.h"
#include "mneme/pool/testing/scaled.h"
#include "mneme/pool/worker_process.h"

namespace mneme {

HostileRun& hostile_run() {
  static HostileRun run;
  return run;
}

std::string hostile_plugin() {
  std::error_code ignored;
  const Path beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "libmneme_hostile_plugin.so";
  return std::filesystem::exists(beside) ? beside.string() : MNEME_TEST_HOSTILE_PLUGIN;
}

namespace {

using Kinds = std::set<Failure>;
using testing_replay::scaling_ir;

constexpr uint32_t kCount = 20000;  // elements

struct Candidate {
  std::string what;
  Configuration configuration;
  Kinds allowed;  // what it may end in, beside worker_lost
};

class Candidates {
 public:
  Candidates(const Path& folder, uint64_t seed) : folder_(folder), random_(seed) {
    write("outside", "  store float %scaled, ptr inttoptr (i64 64 to ptr)\n  br label %end\n");
    write("behind",
          "  %off = add i32 %i, 200000000\n  %far = getelementptr float, ptr %p, i32 %off\n"
          "  store float %scaled, ptr %far\n  br label %end\n");
    write("neighbour",
          "  %next = add i32 %i, 1\n  %there = getelementptr float, ptr %p, i32 %next\n"
          "  store float %scaled, ptr %there\n  br label %end\n");
    write("forever", "  br label %again\nagain:\n  store volatile float %scaled, ptr %at\n  br label %again\n");
  }

  Candidate next(bool hostile) {
    if (!hostile) return right();
    const uint64_t die = random_() % 100;
    if (die < 40) return {"random", with_passes(pipelines_.next(random_)), anything()};
    if (die < 60) return plugin();
    if (die < 75) return wide();
    return code();
  }
  // What costs its whole limit of time comes so often in a run.
  unsigned hanging = 0;
  static constexpr unsigned kHangsInAHundred = 2;
  uint64_t made = 0;

 private:
  static Kinds anything() {
    return {Failure::none,           Failure::wrong_result, Failure::compile_error, Failure::compile_timeout,
            Failure::invalid_launch, Failure::device_fault, Failure::run_timeout};
  }

  void write(const std::string& name, const std::string& body) { std::ofstream(folder_ / (name + ".ll")) << scaling_ir(body); }

  // Different values, so that few are shared.
  Configuration with_passes(const std::string& passes) {
    Configuration configuration;
    configuration.passes = passes;
    configuration.block.x = static_cast<uint32_t>(32 + random_() % 225);
    configuration.grid.x = (kCount + *configuration.block.x - 1) / *configuration.block.x;
    configuration.execution.iterations = static_cast<unsigned>(1 + random_() % 5);
    return configuration;
  }

  std::string level() {
    return std::array{"default<O0>", "default<O1>", "default<O2>", "default<O3>", "default<Os>"}[random_() % 5];
  }
  Candidate right() { return {"right", with_passes(level()), {Failure::none}}; }
  bool may_hang() { return 100 * hanging < kHangsInAHundred * (made + 100) && ++hanging > 0; }

  Candidate plugin() {
    static const std::vector<std::pair<std::string, Kinds>> kinds = {
        {"crash", {Failure::compile_error}},
        {"exit", {Failure::compile_error}},
        {"allocate", {Failure::compile_error, Failure::compile_timeout}},
        {"miscompile", {Failure::wrong_result}},
        {"bytes", {Failure::compile_error}},
        {"dice", {Failure::none, Failure::compile_error, Failure::compile_timeout, Failure::wrong_result}},
        {"hang", {Failure::compile_timeout}},
    };
    const auto& [name, allowed] = kinds[random_() % kinds.size()];
    if (name == "hang" && !may_hang()) return plugin();
    Candidate candidate{"plugin " + name, with_passes("function(hostile-" + name + ")," + level()), allowed};
    candidate.configuration.pass_plugins = {hostile_plugin()};
    return candidate;
  }

  Candidate wide() {
    Candidate candidate{"wide", with_passes(level()), {Failure::invalid_launch}};
    Configuration& c = candidate.configuration;
    const auto much = static_cast<uint32_t>(1025 + random_() % 100000);
    switch (random_() % 3) {
      case 0: c.block.x = much; break;
      case 1: c.block.y = much; break;
      default: c.block.z = 65 + much; break;
    }
    return candidate;
  }

  Candidate code() {
    Candidate candidate{"too few threads", with_passes(level()), {Failure::wrong_result}};
    Configuration& c = candidate.configuration;
    const std::array<std::string, 5> files = {"outside", "behind", "neighbour", "forever", ""};
    const std::string& file = files[random_() % files.size()];
    if (file == "forever" && !may_hang()) return code();
    if (file.empty()) {
      c.grid.x = 1;
      return candidate;
    }
    candidate.what = file;
    c.ir.path = folder_ / (file + ".ll");
    if (file == "forever") candidate.allowed = {Failure::run_timeout};
    if (file == "outside" || file == "behind") candidate.allowed = {Failure::device_fault, Failure::wrong_result};
    return candidate;
  }

  Path folder_;
  std::mt19937_64 random_;
  RandomPipelines pipelines_;
};

// While one lives, some worker is killed now and then, until half of the run is over: a worker that hangs is then left to its
// limit.
class Killer {
 public:
  Killer(Pool& pool, uint64_t until, uint64_t seed) : pool_(pool), until_(until), random_(seed), thread_([this] { run(); }) {}
  ~Killer() {
    stop_ = true;
    thread_.join();
  }
  unsigned killed() const { return killed_; }

 private:
  void run() {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30 + random_() % 200));
      // One that is not ready, each time again, would be a pool that cannot start.
      const PoolProgress progress = pool_.progress();
      if (progress.devices_ready == 0 || progress.done >= until_) continue;
      const std::vector<pid_t> workers = testing_pool::workers();
      if (!workers.empty() && ::kill(workers[random_() % workers.size()], SIGKILL) == 0) ++killed_;
    }
  }

  Pool& pool_;
  uint64_t until_;
  std::mt19937_64 random_;
  std::atomic<bool> stop_ = false;
  std::atomic<unsigned> killed_ = 0;
  std::thread thread_;
};

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Two for each worker and keeper, four copies of the recorded memory, the objects that are kept or wait for a device, and some
// for what is under way.
size_t most_descriptors(const PoolOptions& options) {
  const size_t workers = options.compile_workers + 2 * options.devices.size();
  return 2 * workers + 4 * options.devices.size() + 128 + 2 * workers + 32;
}

TEST(Hostile, EveryConfigurationEndsInOneResultAndNothingWrongIsRight) {
  const HostileRun& run = hostile_run();
  if (run.device == DeviceKind::cuda && ::access("/dev/nvidiactl", F_OK) != 0) GTEST_SKIP() << "there is no NVIDIA GPU here";
  testing_replay::MadeDatabase database;
  auto instance = database.publish(testing_replay::scaled(kCount, 3));
  ASSERT_TRUE(instance.ok()) << instance.status().to_string();
  PoolOptions options;
  options.database = database.directory();
  options.static_hash = instance->static_hash;
  options.instances = {instance->dynamic_hash};
  options.device_kind = run.device;
  options.devices.resize(run.devices);
  std::iota(options.devices.begin(), options.devices.end(), 0);
  options.command = "/proc/self/exe";
  options.command_arguments = {"--recorded-worker"};
  options.compile_workers = std::max(2u, usable_processors() - 1);
  options.log = database.directory() / "run.jsonl";
  options.limits.compiling = std::chrono::seconds(20);
  options.limits.running = std::chrono::seconds(5);
  options.limits.compile_memory = 256_MiB;

  const size_t files_before = testing_pool::open_files(), mappings_before = testing_pool::shared_mappings();
  auto opened = Pool::open(options);
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  std::unique_ptr<Pool> pool = std::move(*opened);
  Candidates candidates(database.directory(), run.seed);
  std::vector<std::atomic<unsigned>> results(run.count);
  std::map<std::string, std::map<std::string, unsigned>> ends;  // by candidate and failure
  unsigned killed = 0, right = 0;
  uint64_t memory_at_half = 0;
  size_t most_files = 0;
  {
    Killer killer(*pool, run.count / 2, run.seed);
    for (unsigned i = 0; i < run.count; ++i) {
      Candidate candidate = candidates.next(i % 2 == 1);
      ++candidates.made;
      pool->submit(candidate.configuration, [&, i, candidate](const PoolResult& result) {
        ++results[i];
        ++ends[candidate.what][std::string(to_string(result.failure))];
        const bool allowed = candidate.allowed.contains(result.failure) || result.failure == Failure::worker_lost;
        EXPECT_TRUE(allowed) << candidate.what << " ended in " << to_string(result.failure) << ": " << result.reason << "\n"
                             << to_json(result.configuration).dump();
        EXPECT_EQ(result.failed(), !result.reason.empty());
        if (result.failed()) return;
        EXPECT_TRUE(result.details.together.verified);
        EXPECT_GE(result.exec_time().size(), 1u);
        ++right;
      });
      // Not all at once, so that what is kept of a candidate shows.
      while (pool->progress().submitted - pool->progress().done > 100) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (i == run.count / 2) memory_at_half = resident_bytes();
      most_files = std::max(most_files, testing_pool::open_files());
    }
    pool->drain();
    killed = killer.killed();
  }
  EXPECT_TRUE(pool->status().ok()) << pool->status().to_string();
  for (unsigned i = 0; i < run.count; ++i) EXPECT_EQ(results[i], 1u) << "results of " << i;
  EXPECT_GT(right, run.count / 4);
  EXPECT_GT(killed, 0u);
  EXPECT_LT(resident_bytes(), memory_at_half + (64u << 20)) << "memory of the pool's process";
  EXPECT_LT(most_files, files_before + most_descriptors(options)) << "descriptors of the pool's process meanwhile";
  const PoolProgress progress = pool->progress();
  fmt::print("{} configurations, {} right, {} workers killed, {} replaced\n", run.count, right, killed,
             progress.workers_replaced);
  for (const auto& [what, kinds] : ends)
    for (const auto& [kind, count] : kinds) fmt::print("  {:16} {:16} {:5}\n", what, kind, count);
  pool.reset();
  EXPECT_EQ(read_log(options.log)->results.size(), run.count);
  EXPECT_EQ(testing_pool::open_files(), files_before) << "descriptors of the pool's process";
  EXPECT_EQ(testing_pool::shared_mappings(), mappings_before) << "shared memory of the pool's process";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace mneme

#ifdef MNEME_TEST_ON_GPU
int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--recorded-worker") return mneme::run_worker_process(std::atoi(argv[2]));
  ::testing::InitGoogleTest(&argc, argv);
  mneme::HostileRun& run = mneme::hostile_run();
  run = {.device = mneme::DeviceKind::cuda, .count = 2000};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--device") run.device = value == "cpu" ? mneme::DeviceKind::cpu : mneme::DeviceKind::cuda;
    if (option == "--devices") run.devices = std::atoi(value.c_str());
    if (option == "--count") run.count = static_cast<unsigned>(std::atoi(value.c_str()));
    if (option == "--seed") run.seed = static_cast<uint64_t>(std::atoll(value.c_str()));
  }
  return RUN_ALL_TESTS();
}
#endif
