// How soon a pool has another device worker when it lost one, to a fault or to the limit of a kernel that never ends.
//
//   mneme-bench-replacement [--device cuda|cpu] [--elements N] [--rounds N] [--limit SECONDS]
//
// The recorded kernel is a vector add of two arrays of N floats (default: 20,500,000, 82 MB each). In each round a device worker
// that waits for work is given a candidate that takes it down, and a right one behind it, of code that is compiled already.
// Counted from the moment at which the former is given, and where it never ends from --limit after that: when its result is
// there, when another worker is ready, and when the right candidate has its result.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "mneme/pool/pool.h"
#include "mneme/pool/worker_process.h"
#include "vector_add.h"

namespace mneme {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Options {
  DeviceKind kind = DeviceKind::cuda;
  uint64_t elements = 20'500'000;
  unsigned rounds = 10;
  Seconds limit{1};
};

struct Replacement {
  Seconds known{}, ready{}, next{};
};

class Bench {
 public:
  Bench(const Options& options, const Path& folder, Pool& pool) : options_(options), folder_(folder), pool_(pool) {}

  Status run() {
    const Configuration recorded = candidate({});
    PoolResult first = pool_.submit(recorded).get();
    MNEME_TRY(pool_.status());
    if (first.failed()) return error(Code::internal, "the recorded kernel fails: {}", first.reason);
    fmt::print("{:<32}{:>20}{:>26}{:>24}\n", fmt::format("{} rounds, median (longest)", options_.rounds), "result is there",
               "another worker is ready", "next result is there");
    MNEME_TRY(measure("fault", "  store float %r, ptr inttoptr (i64 64 to ptr)\n  br label %end\n", Failure::device_fault, {}));
    return measure("never ends",
                   "  %to = getelementptr float, ptr %out, i32 %i\n  br label %again\n"
                   "again:\n  store volatile float %r, ptr %to\n  br label %again\n",
                   Failure::run_timeout, options_.limit);
  }

 private:
  // Of another launch each time, so that it is measured.
  Configuration candidate(const Path& ir) {
    Configuration configuration;
    configuration.ir.path = ir.string();
    configuration.execution.iterations = 1;
    configuration.block.x = 32 + launches_++ % 225;
    configuration.grid.x = static_cast<uint32_t>((options_.elements + *configuration.block.x - 1) / *configuration.block.x);
    return configuration;
  }

  Status measure(const std::string& name, const std::string& body, Failure end, Seconds after) {
    const Path file = folder_ / (name + ".ll");
    std::ofstream(file) << vector_add_ir(body);
    std::vector<Replacement> all;
    for (unsigned round = 0; round <= options_.rounds; ++round) {
      MNEME_ASSIGN(Replacement times, replace(file, end, after));
      if (round > 0) all.push_back(times);  // the first one was compiled too
    }
    fmt::print("{:<32}{:>20}{:>26}{:>24}\n", after.count() > 0 ? fmt::format("{}, {} s after", name, after.count()) : name,
               describe(all, &Replacement::known), describe(all, &Replacement::ready), describe(all, &Replacement::next));
    std::fflush(stdout);
    return {};
  }

  Result<Replacement> replace(const Path& file, Failure end, Seconds after) {
    MNEME_TRY(wait_for([&] { return pool_.progress().devices_ready == 1; }));
    const auto given = Clock::now();
    const auto since = [&] { return Clock::now() - given - after; };
    const Future bad = pool_.submit(candidate(file)), next = pool_.submit(candidate({}));
    Replacement times;
    const PoolResult lost = bad.get();
    times.known = since();
    if (lost.failure != end)
      return error(Code::internal, "a candidate that should end as {} is {}: {}", to_string(end), to_string(lost.failure),
                   lost.reason);
    MNEME_TRY(wait_for([&] { return pool_.progress().devices_ready == 0 || next.done(); }));
    MNEME_TRY(wait_for([&] { return pool_.progress().devices_ready == 1; }));
    times.ready = since();
    if (PoolResult result = next.get(); result.failed())
      return error(Code::internal, "the candidate behind one that ended as {} fails: {}", to_string(end), result.reason);
    times.next = since();
    return times;
  }

  Status wait_for(const std::function<bool()>& there) {
    while (!there()) {
      MNEME_TRY(pool_.status());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return {};
  }

  static std::string describe(const std::vector<Replacement>& all, Seconds Replacement::* what) {
    std::vector<double> sorted;
    for (const Replacement& times : all) sorted.push_back((times.*what).count());
    std::sort(sorted.begin(), sorted.end());
    return fmt::format("{:.3f} ({:.3f}) s", sorted[sorted.size() / 2], sorted.back());
  }

  const Options& options_;
  Path folder_;
  Pool& pool_;
  uint32_t launches_ = 0;
};

Status run(const Options& options) {
  const TemporaryFolder folder("bench-replacement");
  MNEME_ASSIGN(InstanceRecord instance, record_vector_add(folder.path(), options.elements));
  PoolOptions how;
  how.database = folder.path();
  how.static_hash = instance.static_hash;
  how.instances = {instance.dynamic_hash};
  how.device_kind = options.kind;
  how.compile_workers = 1;
  how.limits.running = options.limit;
  how.command = "/proc/self/exe";
  how.command_arguments = {"--worker"};
  MNEME_ASSIGN(auto pool, Pool::open(how));
  return Bench(options, folder.path(), *pool).run();
}

constexpr char kUsage[] =
    "it is used as: mneme-bench-replacement [--device cuda|cpu] [--elements N] [--rounds N] [--limit SECONDS]";

Result<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    const double number = std::strtod(value.c_str(), nullptr);
    if (name == "--device") {
      MNEME_ASSIGN(options.kind, parse_device_kind(value));
    } else if (name == "--elements" && number >= 1 && number <= 1e9) {
      options.elements = static_cast<uint64_t>(number);
    } else if (name == "--rounds" && number >= 1 && number <= 50) {
      options.rounds = static_cast<unsigned>(number);
    } else if (name == "--limit" && number > 0) {
      options.limit = Seconds(number);
    } else {
      return Status(Code::invalid_argument, kUsage);
    }
  }
  return options;
}

}  // namespace
}  // namespace mneme

int main(int count, char** arguments) {
  if (count == 3 && std::string(arguments[1]) == "--worker") return mneme::run_worker_process(std::atoi(arguments[2]));
  auto options = mneme::parse(count, arguments);
  mneme::Status status = options.ok() ? mneme::run(*options) : options.status();
  if (status.ok()) return 0;
  fmt::print(stderr, "mneme-bench-replacement: {}\n", status.message());
  return status.code() == mneme::Code::unavailable ? 77 : 2;
}
