// What one candidate costs the device worker of a pool: one recording, one object that is compiled already, many candidates.
//
//   mneme-bench-candidate [--device cuda|cpu] [--ordinal N] [--elements N] [--candidates N] [--iterations N] [--mask on|off]
//                         [--compilers N] [--record FILE INSTANCE] [--json]
//
// Without --record it makes its own: a vector add, out[i] = in[i] + 1.5, of two arrays of N floats (20,500,000: 82 MB each;
// 20,000: 80 kB each). It prints what each step takes alone, waited for, and what a candidate takes with everything: load,
// restore, run and check, then the timed runs, each restored, and the last check. The floor of a candidate is its kernels and
// restores one after another and one check; the ratio is the floor to what it took. With --json it prints one object of what a
// restore and a check add on the device, and measures no candidates: what bench/throughput.py reckons a floor with.
//
// Then a pool's device worker measures as many: first each result is told before the next candidate begins, then as in a pool,
// where that is done while the next one runs. With --compilers N all is measured beside N processes that compile, as in a pool.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "busy_compilers.h"
#include "candidate_stages.h"
#include "candidate_worker.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/memory/recorded_addresses.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/session.h"
#include "vector_add.h"

namespace mneme {
namespace {

struct Options {
  DeviceKind kind = DeviceKind::cuda;
  int ordinal = 0;
  uint64_t elements = 20'500'000;
  unsigned candidates = 500, compilers = 0;
  Configuration configuration;
  Path kernel_file;
  std::string instance;
  bool json = false;
};

// The median of several calls, each until the host knows that it is done.
Result<Nanoseconds> time_of(const std::function<Status()>& call) {
  constexpr int kCalls = 31;
  std::vector<Nanoseconds> times;
  for (int i = -3; i < kCalls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    MNEME_TRY(call());
    if (i >= 0) times.emplace_back(std::chrono::steady_clock::now() - begin);
  }
  return statistics_of(times).median;
}

class Bench {
 public:
  Bench(const Options& options, Device& device, Session& session, CompiledCode code)
      : options_(options), device_(device), session_(session), code_(std::move(code)) {
    code_.times.clear();  // of compiling, which is not measured here
  }

  Status run() {
    MNEME_TRY(session_.prepare_mask());
    MNEME_ASSIGN(ReplayResult first, candidate());
    kernel_ = statistics_of(first.exec_time).median;
    if (options_.json) return print_json();
    print_memory(first);
    MNEME_TRY(time_steps());
    return time_candidates();
  }

 private:
  // Each has code of its own, as far as the session knows.
  Result<ReplayResult> candidate() {
    const uint64_t number = ++candidates_;
    code_.translation_digest = digest_of(std::as_bytes(std::span(&number, 1)));
    ReplayResult result = session_.measure(options_.configuration, code_);
    MNEME_TRY(result.failure);
    if (!result.verified) return error(Code::internal, "a candidate is wrong: {}", describe(result.mismatches));
    return result;
  }

  void print_memory(const ReplayResult& first) {
    const MemoryPlan& plan = session_.plan();
    const RecordedCopies& copies = session_.memory().copies();
    fmt::print("memory: {} in {} span{}, of which the kernel changes {} in {} piece{}; {} before the launch is held\n",
               plan.copy_size, plan.spans.size(), plan.spans.size() == 1 ? "" : "s", total_size(changed_blocks(plan)),
               changed_blocks(plan).size(), changed_blocks(plan).size() == 1 ? "" : "s",
               copies.all_before ? "all" : "only that of it");
    fmt::print("mask: {} ({} bytes); kernel: {:.2f} us by {} (median of {})\n\n", first.mask, first.masked_bytes.count,
               microseconds(kernel_), first.clock_source, first.exec_time.size());
  }

  Status time_step(const char* name, const std::function<Status()>& call, Nanoseconds* into = nullptr) {
    MNEME_ASSIGN(Nanoseconds time, time_of(call));
    fmt::print("  {:<44} {:>10.1f} us\n", name, microseconds(time));
    if (into) *into = time;
    return {};
  }

  // `count` of them for one wait; what one adds.
  Result<Nanoseconds> time_on_device(const std::function<Status()>& start) {
    Stream& stream = session_.stream();
    auto some = [&](int count) {
      return time_of([&, count]() -> Status {
        for (int i = 0; i < count; ++i) MNEME_TRY(start());
        return stream.synchronize();
      });
    };
    MNEME_ASSIGN(Nanoseconds few, some(4));
    MNEME_ASSIGN(Nanoseconds many, some(20));
    return std::max(Nanoseconds(0), (many - few) / 16);
  }

  Status time_on_device() {
    MNEME_ASSIGN(std::unique_ptr<Module> module, device_.load(code_.image));
    MNEME_ASSIGN(Kernel * kernel, module->kernel(session_.kernel().name));
    PreparedMemory& memory = session_.memory();
    MNEME_ASSIGN(SymbolPlaces symbols, memory.places_in(*module));
    const LaunchShape shape = recorded_shape(session_.instance());
    const auto checked_run = [&]() -> Status {
      MNEME_ASSIGN(RestoredRun run, memory.restore(symbols));
      MNEME_TRY(session_.stream().launch(*kernel, shape, session_.instance().parameters));
      return std::move(run).check_later();
    };
    // A right run, so that from here on only what the kernel changes is put back.
    MNEME_TRY(checked_run());
    MNEME_TRY(memory.take_checks().status());
    MNEME_ASSIGN(const Nanoseconds whole, time_on_device(checked_run));
    MNEME_TRY(memory.take_checks().status());
    MNEME_ASSIGN(RestoredRun masked, memory.restore(symbols, StartState::masked));
    MNEME_ASSIGN(restore_masked_, time_on_device([&] { return masked.restore_again(); }));
    MNEME_ASSIGN(RestoredRun run, memory.restore(symbols));
    MNEME_ASSIGN(restore_, time_on_device([&] { return run.restore_again(); }));
    MNEME_ASSIGN(const Nanoseconds unchecked, time_on_device([&]() -> Status {
                   MNEME_TRY(run.restore_again());
                   return session_.stream().launch(*kernel, shape, session_.instance().parameters);
                 }));
    check_ = std::max(Nanoseconds(0), whole - unchecked);
    return {};
  }

  Status print_json() {
    MNEME_TRY(time_on_device());
    fmt::print(R"({{"device": "{}", "kernel_ns": {}, "restore_ns": {}, "restore_masked_ns": {}, "check_ns": {}}})"
               "\n",
               device_.properties().name, kernel_.count(), restore_.count(), restore_masked_.count(), check_.count());
    return {};
  }

  Status time_steps() {
    Stream& stream = session_.stream();
    PreparedMemory& memory = session_.memory();
    fmt::print("one step alone, until the host knows:\n");
    std::unique_ptr<Module> module;
    MNEME_TRY(time_step("load and unload the object", [&]() -> Status {
      MNEME_ASSIGN(module, device_.load(code_.image));
      MNEME_TRY(module->kernel(session_.kernel().name).status());
      module.reset();
      return {};
    }));
    MNEME_TRY(time_step("read the hardware's clocks", [&]() -> Status {
      [[maybe_unused]] auto ignored = device_.read_clocks();
      return {};
    }));
    MNEME_TRY(time_step("wait for nothing", [&] { return stream.synchronize(); }));
    MNEME_ASSIGN(module, device_.load(code_.image));
    MNEME_ASSIGN(Kernel * kernel, module->kernel(session_.kernel().name));
    MNEME_ASSIGN(SymbolPlaces symbols, memory.places_in(*module));
    const InstanceRecord& instance = session_.instance();
    const LaunchShape shape = recorded_shape(instance);
    MNEME_ASSIGN(RestoredRun run, memory.restore(symbols));
    MNEME_TRY(time_step("restore", [&]() -> Status {
      MNEME_TRY(run.restore_again());
      return stream.synchronize();
    }));
    MNEME_TRY(time_step("restore, launch and check", [&]() -> Status {
      MNEME_ASSIGN(RestoredRun checked, memory.restore(symbols));
      MNEME_TRY(stream.launch(*kernel, shape, instance.parameters));
      return std::move(checked).check().status();
    }));
    // The times of launches that are done.
    std::vector<Nanoseconds> fetching;
    for (int i = 0; i < 20; ++i) {
      for (unsigned k = 0; k < options_.configuration.execution.iterations; ++k)
        MNEME_TRY(stream.launch_timed(*kernel, shape, instance.parameters));
      MNEME_TRY(stream.synchronize());
      const auto begin = std::chrono::steady_clock::now();
      MNEME_TRY(stream.take_times().status());
      fetching.emplace_back(std::chrono::steady_clock::now() - begin);
    }
    fmt::print("  {:<44} {:>10.1f} us\n", "fetch the times of launches that are done",
               microseconds(statistics_of(fetching).median));
    MNEME_TRY(time_on_device());
    MNEME_ASSIGN(const Nanoseconds launch, time_on_device([&] { return stream.launch(*kernel, shape, instance.parameters); }));
    fmt::print("what one more of them adds on the device:\n");
    const std::pair<const char*, Nanoseconds> added[] = {
        {"restore", restore_}, {"restore masked memory", restore_masked_}, {"check", check_}, {"launch", launch}};
    for (const auto& [name, time] : added) fmt::print("  {:<44} {:>10.1f} us\n", name, microseconds(time));
    // From the state that was recorded, not from what the launches above have left.
    MNEME_ASSIGN(RestoredRun fresh, memory.restore(symbols));
    return compare_restores(*kernel, shape);
  }

  // What a run takes where the driver copies what is restored, and where a kernel of Mneme's does, and what the launch behind it
  // takes: a copy by other means may leave other lines in the cache.
  Status compare_restores(const Kernel& kernel, const LaunchShape& shape) {
    Stream& stream = session_.stream();
    const std::vector<MemoryRange> changed = changed_blocks(session_.plan());
    MNEME_ASSIGN(const DeviceBuffer copy, DeviceBuffer::allocate(device_, total_size(changed)));
    std::vector<ListedCopy> pieces, list;
    DevicePtr from = copy.address();
    for (const MemoryRange& run : changed) {
      pieces.push_back({run.address, from, run.size});
      for (Bytes at; at < run.size; at += kBlock) list.push_back({run.address + at, from + at, std::min(kBlock, run.size - at)});
      from = from + run.size;
    }
    for (const ListedCopy& piece : pieces) MNEME_TRY(stream.copy(piece.from, piece.to, piece.size));
    MNEME_ASSIGN(const DeviceBuffer listed, DeviceBuffer::allocate(device_, Bytes(list.size() * sizeof(ListedCopy))));
    MNEME_TRY(stream.copy_to_device(listed.address(), std::as_bytes(std::span(list))));
    const auto by_driver = [&]() -> Status {
      for (const ListedCopy& piece : pieces) MNEME_TRY(stream.copy(piece.to, piece.from, piece.size));
      return {};
    };
    const auto by_kernel = [&] { return stream.copy_listed(listed.address(), list.size()); };
    fmt::print("a restore and a timed launch, what one more of both adds, and the launch's own time:\n");
    const std::pair<const char*, std::function<Status()>> ways[] = {{"copied by the driver", by_driver},
                                                                    {"copied by a kernel", by_kernel}};
    for (const auto& [name, restore] : ways) {
      MNEME_ASSIGN(const Nanoseconds both, time_on_device([&]() -> Status {
                     MNEME_TRY(restore());
                     return stream.launch_timed(kernel, shape, session_.instance().parameters);
                   }));
      MNEME_ASSIGN(const std::vector<Nanoseconds> times, stream.take_times());
      fmt::print("  {:<44} {:>10.1f} us {:>10.2f} us\n", name, microseconds(both), microseconds(statistics_of(times).median));
    }
    return {};
  }

  Status time_candidates() {
    MNEME_TRY(candidate().status());
    MNEME_TRY(candidate().status());
    CandidateStages stages;
    std::vector<Nanoseconds> each;
    Nanoseconds kernels{};
    size_t runs = 0;
    for (unsigned i = 0; i < options_.candidates; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      MNEME_ASSIGN(ReplayResult result, candidate());
      each.emplace_back(std::chrono::steady_clock::now() - begin);
      for (const StageTime& stage : result.times) stages.add(stage.stage, stage.time);
      for (Nanoseconds time : result.exec_time) kernels += time;
      runs += result.exec_time.size();
    }
    const auto count = static_cast<double>(options_.candidates);
    Nanoseconds total{};
    for (Nanoseconds time : each) total += time;
    const Nanoseconds kernel = kernels / static_cast<double>(std::max<size_t>(runs, 1));
    const double launches = 1 + static_cast<double>(runs) / count;
    fmt::print("\n{} candidates of {:.0f} launches, one after another:\n", options_.candidates, launches);
    stages.print(total, options_.candidates);
    const Nanoseconds floor = launches * (kernel + restore_) + check_;
    const Nanoseconds busy = launches * (kernel + restore_) + (restore_masked_ - restore_) + 2 * check_;
    CandidateStages::print_line("floor: launches x (kernel + restore) + check", floor, total / count);
    fmt::print("\n{:.1f} candidates/s (median candidate {:.1f} us); device busy {:.1f} %; {:.3f} of the floor\n",
               count * 1e9 / total.count(), microseconds(statistics_of(each).median), 100 * (busy / (total / count)),
               floor / (total / count));
    return {};
  }

  const Options& options_;
  Device& device_;
  Session& session_;
  CompiledCode code_;
  uint64_t candidates_ = 0;
  Nanoseconds kernel_{}, restore_{}, restore_masked_{}, check_{};
};

Status run(const Options& options) {
  const TemporaryFolder made("bench-candidate");
  Digest static_hash, dynamic_hash;
  if (options.kernel_file.empty()) {
    MNEME_ASSIGN(InstanceRecord instance, record_vector_add(made.path(), options.elements));
    static_hash = instance.static_hash;
    dynamic_hash = instance.dynamic_hash;
  } else {
    MNEME_ASSIGN(static_hash, Digest::from_hex(options.kernel_file.stem().string()));
    MNEME_ASSIGN(dynamic_hash, Digest::from_hex(options.instance));
  }
  MNEME_ASSIGN(Database database, Database::open(options.kernel_file.empty() ? made.path() : options.kernel_file.parent_path()));
  const PoolSetup setup{database.directory(), static_hash, {dynamic_hash}, options.kind, {}};
  BusyCompilers beside;
  if (options.compilers != 0) {
    MNEME_ASSIGN(beside, BusyCompilers::start(setup, options.compilers));
  }
  const HeldAddresses held = hold_recorded_addresses(database, static_hash, {&dynamic_hash, 1});
  MNEME_ASSIGN(auto device, Device::open(options.kind, options.ordinal));
  MNEME_ASSIGN(auto session, Session::prepare(database, static_hash, dynamic_hash, *device));
  if (!options.json) fmt::print("{}: {}\n", device->properties().name, session->kernel().demangled);
  MNEME_ASSIGN(auto compiler, Compiler::create(options.kind, device->properties().architecture));
  MNEME_ASSIGN(const ir::Module* const module, session->code_of({}));
  MNEME_ASSIGN(CompiledCode code,
               compiler->compile(*module, compile_options(options.configuration, session->kernel(), session->plan())));
  MNEME_TRY(Bench(options, *device, *session, code).run());
  if (options.json) return {};
  session.reset();  // the recorded addresses are the worker's
  code.times.clear();
  const WorkerBench worker{setup, *device, std::move(code), options.configuration, options.candidates};
  MNEME_TRY(measure_worker(worker, Telling::before_the_next_begins));
  return measure_worker(worker, Telling::while_the_next_runs);
}

constexpr char kUsage[] =
    "it is used as: mneme-bench-candidate [--device cuda|cpu] [--ordinal N] [--elements N] [--candidates N] [--iterations N] "
    "[--mask on|off] [--compilers N] [--record FILE INSTANCE] [--json]";

Result<Options> parse(int count, char** arguments) {
  Options options;
  options.configuration.execution.iterations = 7;
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    const auto number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "--json") {
      options.json = true;
      --i;
    } else if (name == "--ordinal" && number < 1024) {
      options.ordinal = static_cast<int>(number);
    } else if (name == "--device") {
      MNEME_ASSIGN(options.kind, parse_device_kind(value));
    } else if (name == "--elements" && number > 0 && number <= (1u << 30)) {
      options.elements = number;
    } else if (name == "--candidates" && number > 0) {
      options.candidates = static_cast<unsigned>(number);
    } else if (name == "--compilers" && number <= 1024) {
      options.compilers = static_cast<unsigned>(number);
    } else if (name == "--iterations" && number > 0) {
      options.configuration.execution.iterations = static_cast<unsigned>(number);
    } else if (name == "--mask" && (value == "on" || value == "off")) {
      options.configuration.verdict.mask = value == "on";
    } else if (name == "--record" && i + 2 < count) {
      options.kernel_file = value;
      options.instance = arguments[++i + 1];
    } else {
      return Status(Code::invalid_argument, kUsage);
    }
  }
  return options;
}

}  // namespace
}  // namespace mneme

int main(int count, char** arguments) {
  auto options = mneme::parse(count, arguments);
  mneme::Status status = options.ok() ? mneme::run(*options) : options.status();
  if (status.ok()) return 0;
  fmt::print(stderr, "mneme-bench-candidate: {}\n", status.message());
  return status.code() == mneme::Code::unavailable ? 77 : 2;
}
