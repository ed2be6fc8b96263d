#include "mneme/replay/session.h"

#include "mneme/base/activity.h"
#include "mneme/replay/compile_request.h"

namespace mneme {

struct Session::Loaded {
  std::unique_ptr<Module> module;
  Kernel* kernel = nullptr;
  std::map<std::string, DevicePtr> symbols;  // address of each region placed at a module symbol that the code still has
};

namespace {

// Not $TMPDIR: all processes of the machine must find the same file.
constexpr const char* kLockDirectory = "/tmp";

class StageClock {
 public:
  Nanoseconds lap() {
    auto now = std::chrono::steady_clock::now();
    return now - std::exchange(last_, now);
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::string describe(const Region& region) {
  return region.kind == Region::Kind::global ? "global " + region.name : fmt::format("allocation {}", region.address);
}

}  // namespace

ReplayResult Session::replay(const Configuration& configuration) {
  ReplayResult result;
  result.shape = configuration.launch_shape(instance_);
  result.device = device_.properties().name;
  result.device_kind = device_.properties().kind;
  result.recorded_on = instance_.device_kind;
  result.times.push_back({"session", prepare_time_});
  result.failure = run(configuration, result);
  if (!result.failure.ok()) result.verified = false;
  // A candidate that was not right may have written anywhere.
  restore_everything_ = !result.verified;
  return result;
}

Status Session::run(const Configuration& configuration, ReplayResult& result) {
  MNEME_TRY(check_execution(configuration.execution, device_.properties()));
  MNEME_ASSIGN(Loaded loaded, compile_and_load(configuration, result));
  result.resources = loaded.kernel->resources();

  StageClock clock;
  DeviceLock exclusive;
  if (!configuration.execution.shared_device && !device_.properties().hardware_id.empty()) {
    MNEME_ASSIGN(exclusive, DeviceLock::acquire(device_.properties().hardware_id, kLockDirectory));
    result.times.push_back({"wait", clock.lap()});
  }
  result.exclusive = static_cast<bool>(exclusive);
  MNEME_TRY(restore(loaded));
  MNEME_TRY(stream_->synchronize());
  result.times.push_back({"restore", clock.lap()});
  {
    ActivityScope running(Activity::running);
    MNEME_TRY(stream_->launch(*loaded.kernel, result.shape, instance_.parameters));
    MNEME_TRY(stream_->synchronize());
  }
  result.executed = true;
  result.times.push_back({"run", clock.lap()});
  MNEME_ASSIGN(result.mismatches, verify(loaded));
  result.times.push_back({"verify", clock.lap()});
  result.verified = result.mismatches.empty();
  restore_everything_ = !result.verified;

  MNEME_ASSIGN(result.occupancy, occupancy_of(*loaded.kernel, result.shape, device_.properties()));
  MNEME_TRY(measure(configuration.execution, loaded, result));
  result.times.push_back({"timed_runs", clock.lap()});
  // What was timed is what was verified: the last timed run must have left the same bytes.
  if (result.verified && !result.exec_time.empty()) {
    MNEME_ASSIGN(result.mismatches, verify(loaded));
    result.verified = result.mismatches.empty();
  }
  return {};
}

Result<CompiledCode> Session::compile(const CompileOptions& options) {
  ActivityScope compiling(Activity::compiling);
  return compiler_->compile(*module_, options);
}

Result<Session::Loaded> Session::compile_and_load(const Configuration& configuration, ReplayResult& result) {
  MNEME_ASSIGN(CompiledCode code, compile(compile_options(configuration, kernel_, plan_)));
  result.object_size = Bytes(code.image.bytes.size());
  result.object_digest = code.digest;
  result.assembler = code.assembler;
  result.times.insert(result.times.end(), code.times.begin(), code.times.end());

  StageClock clock;
  Loaded loaded;
  MNEME_ASSIGN(loaded.module, device_.load(code.image));
  MNEME_ASSIGN(loaded.kernel, loaded.module->kernel(kernel_.name));
  for (const auto& [name, state] : symbols_) {
    auto global = loaded.module->global(name);
    // A pipeline may have removed a global that the code never needed; then nothing can have changed it.
    if (!global.ok() && global.status().code() == Code::not_found && state.prologue == state.epilogue) continue;
    if (!global.ok())
      return global.status().with_context(fmt::format("looking up the recorded global '{}' in the compiled code", name));
    if (global->size.count != 0 && global->size.count != state.prologue.size())
      return error(Code::incompatible, "the recorded global '{}' has {}, and {} in the compiled code", name,
                   Bytes(state.prologue.size()), global->size);
    loaded.symbols[name] = global->address;
  }
  result.times.push_back({"load", clock.lap()});
  return loaded;
}

Status Session::restore(const Loaded& loaded) {
  for (const PlannedRegion& region : plan_.regions) {
    if (region.placement != Placement::recorded_address) continue;
    DevicePtr copy = pristine_ + Bytes(region.offset);
    if (restore_everything_) {
      MNEME_TRY(stream_->copy(region.prologue.address, copy, region.prologue.size));
      continue;
    }
    for (const PageRun& run : region.changed)
      MNEME_TRY(stream_->copy(region.prologue.address + Bytes(run.offset), copy + Bytes(run.offset), run.size));
  }
  for (const auto& [name, address] : loaded.symbols) {
    const SymbolState& state = symbols_.at(name);
    MNEME_TRY(stream_->copy(address, state.pristine, Bytes(state.prologue.size())));
  }
  return {};
}

Status Session::read_through(const Loaded& loaded) {
  for (const PlannedRegion& region : plan_.regions)
    if (region.placement == Placement::recorded_address)
      MNEME_TRY(stream_->read_through(region.prologue.address, region.prologue.size));
  for (const auto& [name, address] : loaded.symbols)
    MNEME_TRY(stream_->read_through(address, Bytes(symbols_.at(name).prologue.size())));
  return {};
}

Status Session::measure(const Execution& execution, const Loaded& loaded, ReplayResult& result) {
  MeasuredLaunch launch{*loaded.kernel, result.shape, instance_.parameters, [&] { return restore(loaded); },
                        [&] { return read_through(loaded); }};
  MNEME_ASSIGN(Measurement measured, measurer_->measure(execution, launch));
  result.exec_time = std::move(measured.times);
  result.clock = measured.clock;
  result.clocks = measured.clocks;
  return {};
}

Result<std::vector<Mismatch>> Session::verify(const Loaded& loaded) {
  std::vector<Mismatch> mismatches;
  for (const PlannedRegion& region : plan_.regions) {
    if (region.placement != Placement::recorded_address) continue;
    MNEME_ASSIGN(Comparison comparison,
                 stream_->compare(region.prologue.address, expected_ + Bytes(region.offset), region.prologue.size));
    if (comparison.differing_bytes != 0)
      mismatches.push_back({describe(region.prologue), region.prologue.address, region.prologue.size, comparison.differing_bytes,
                            comparison.first_difference.value_or(0)});
  }
  for (const auto& [name, address] : loaded.symbols) {
    const ByteVector& expected = symbols_.at(name).epilogue;
    ByteVector actual(expected.size());
    MNEME_TRY(stream_->copy_to_host(actual, address));
    uint64_t differing = 0, first = 0;
    for (uint64_t i = actual.size(); i-- > 0;)
      if (actual[i] != expected[i]) ++differing, first = i;
    if (differing != 0) mismatches.push_back({"global " + name, address, Bytes(actual.size()), differing, first});
  }
  return mismatches;
}

}  // namespace mneme
