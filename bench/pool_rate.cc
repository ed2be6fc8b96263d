// What the pool itself costs: made-up work that takes no time, so that only its messages, its decisions and its log are left.
// With more devices, and so many microseconds for each measurement and each compilation in which a processor does nothing, it
// shows how many devices one pool keeps busy.
//
//   mneme_bench_pool_rate [RESULTS] [COMPILE_WORKERS] [DEVICES] [MEASURING] [COMPILING]
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

#include "mneme/pool/pool.h"
#include "mneme/pool/worker.h"
#include "mneme/process/zygote.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

class NoCompile final : public CompileWork {
 public:
  explicit NoCompile(std::chrono::microseconds takes) : takes_(takes) {}
  Result<TranslatedCode> translate(const Configuration& configuration) override {
    what_ = configuration.passes;
    return TranslatedCode{digest_of(std::as_bytes(std::span(what_))).hex(),
                          {{"times", {{"prepare", 1e6}, {"optimise", 1e7}, {"codegen", 5e6}}}, {"specialised", Json::array()}}};
  }
  void keep() override { kept_.push_back(what_); }
  std::vector<Result<AssembledCode>> assemble() override {
    std::vector<Result<AssembledCode>> all;
    for (const std::string& what : std::exchange(kept_, {})) {
      std::this_thread::sleep_for(takes_);
      all.push_back(AssembledCode{ByteVector(20000),
                                  {{"digest", digest_of(std::as_bytes(std::span(what))).hex()}, {"times", {{"assemble", 2e7}}}}});
    }
    return all;
  }

 private:
  std::chrono::microseconds takes_;
  std::string what_;
  std::vector<std::string> kept_;
};

// As much to tell as a real one, and when.
class NoDevice final : public DeviceWork {
 public:
  explicit NoDevice(std::chrono::microseconds takes) : takes_(takes) {}
  PoolResult measure(const Configuration&, ByteSpan, const Json&, const Watch& watch) override {
    PoolResult result;
    static const Json kTold = Json::parse(R"({"verified":true,"executed":true,"failed":false,"mask":"on","masked_bytes":81920,
      "exec_time":[10240.5,10241.5,10242.5,10243.5,10244.5,10245.5,10246.5],"exec_time_stats":{"count":7,"min":1.5,"median":1.5,
      "mean":1.5,"standard_deviation":0.5,"relative_error":0.01},"clock_source":"cupti_activity","clocks":{"sm_mhz":[1980,1980],"throttled":[]},
      "exclusive":true,"occupancy":{"active_blocks":8,"warps":1.0},"reg_usage":32,"local_mem_usage":0,"const_mem_usage":600,
      "shared_mem_usage":0,"obj_size":20000,"obj_hash":"00112233445566778899aabbccddeeff","instructions":80,"stack_frame":0,
      "spill_store_bytes":0,"spill_load_bytes":0,"assembler":"nvptxcompiler","times":{"session":1e9,"load":16000.0,"wait":3000.0,
      "mask":900.0,"restore":9000.0,"run":12000.0,"verify":20000.0,"timed_runs":150000.0},"grid":{"x":1024,"y":1,"z":1},
      "block":{"x":256,"y":1,"z":1},"dynamic_shared_memory":0,"device":"NVIDIA H200","device_kind":"cuda","recorded_on":"cuda"})");
    result.details = result_details_from_json(kTold).value();
    const auto end = std::chrono::steady_clock::now() + takes_;
    watch.waiting();
    std::this_thread::sleep_until(end);
    if (!watch.going_on()) result.failure = Failure::cancelled;
    if (!result.failed() && watch.leave()) left_.push_back(result);
    return result;
  }
  Status fetch_left() override { return {}; }
  PoolResult take_left() override {
    PoolResult result = std::move(left_.front());
    left_.pop_front();
    return result;
  }

 private:
  std::chrono::microseconds takes_;
  std::deque<PoolResult> left_;
};

struct Takes {
  std::chrono::microseconds measuring, compiling;
};

void be_worker(Channel pool, Takes takes) {
  if (!pool.receive().ok()) return;
  run_zygote(std::move(pool), [takes](const Json& order, Channel channel) {
    if (order["role"] == "compile")
      serve_compile(std::move(channel), std::unique_ptr<CompileWork>(new NoCompile(takes.compiling)));
    else if (announce(channel, DeviceProperties()).ok())
      serve_device(std::move(channel), std::unique_ptr<DeviceWork>(new NoDevice(takes.measuring)));
  });
}

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); }

int measure(unsigned count, unsigned workers, unsigned devices, Takes takes) {
  PoolOptions options;
  options.instances = {Digest()};
  options.compile_workers = workers;
  options.devices.clear();
  for (unsigned i = 0; i < devices; ++i) options.devices.push_back(static_cast<int>(i));
  options.command = "/proc/self/exe";
  options.command_arguments = {"--worker", std::to_string(takes.measuring.count()), std::to_string(takes.compiling.count())};
  options.database = std::filesystem::temp_directory_path() / fmt::format("mneme-pool-rate-{}", ::getpid());
  std::filesystem::create_directories(options.database);
  std::ofstream(options.database / (options.static_hash.hex() + ".json"));  // which nobody reads
  options.log = options.database / "results.jsonl";
  auto pool = Pool::open(options);
  if (!pool.ok()) return fmt::print(stderr, "{}\n", pool.status().to_string()), 1;
  const auto run = [&](unsigned from, unsigned to) {
    Configuration configuration;
    for (unsigned i = from; i < to; ++i) {
      configuration.passes = fmt::format("default<O3>,function({})", i);
      (*pool)->submit(configuration);
    }
    (*pool)->drain();
  };
  run(0, 100);
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto begin = std::chrono::steady_clock::now();
  run(100, 100 + count);
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ::getrusage(RUSAGE_SELF, &after);
  const double user = seconds(after.ru_utime) - seconds(before.ru_utime),
               system = seconds(after.ru_stime) - seconds(before.ru_stime);
  fmt::print(
      "{} results, {} compile workers, {} devices: {:.0f} results a second; the pool's process takes {:.1f} us a result ({:.1f} "
      "user, {:.1f} "
      "system), log {} bytes a result\n",
      count, workers, devices, count / passed, 1e6 * (user + system) / count, 1e6 * user / count, 1e6 * system / count,
      std::filesystem::file_size(options.log) / (count + 100));
  std::filesystem::remove_all(options.database);
  return 0;
}

}  // namespace
}  // namespace mneme

int main(int argc, char** argv) {
  const auto number = [&](int place, unsigned otherwise) {
    return argc > place ? static_cast<unsigned>(std::atoi(argv[place])) : otherwise;
  };
  const auto takes = [&](int place) {
    return mneme::Takes{std::chrono::microseconds(number(place, 0)), std::chrono::microseconds(number(place + 1, 0))};
  };
  if (argc == 5 && std::string(argv[1]) == "--worker") {
    mneme::be_worker(mneme::Channel(mneme::Descriptor(std::atoi(argv[4]))), takes(2));
    return 0;
  }
  return mneme::measure(number(1, 5000), number(2, 15), number(3, 1), takes(4));
}
