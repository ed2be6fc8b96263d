#include "mneme/replay/session.h"

#include <algorithm>

#include "mneme/base/activity.h"
#include "mneme/compile/object_cache.h"
#include "mneme/measure/stage_clock.h"
#include "mneme/memory/recorded_arguments.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_launch.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/fault_words.h"
#include "mneme/snapshot/pageable_pointers.h"

namespace mneme {

struct Session::Kept {
  Digest translation;
  Configuration configuration;  // that it was loaded for
  Digest digest;                // of that
  Loaded loaded;
};

namespace {

// Loaded objects that a session keeps for configurations to come.
constexpr size_t kMaxKept = 64;

}  // namespace

ReplayResult Session::replay(const Configuration& configuration) {
  const auto runs = [&](const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result) -> Status {
    MNEME_TRY(run_and_time(configuration.execution, {}, loaded, tolerated, result));
    if (!result.verified) explain(loaded, tolerated, result);
    return {};
  };
  ReplayResult result = replay_by(configuration, nullptr, runs);
  result.session_times = session_times_;
  return result;
}

ReplayResult Session::measure(const Configuration& configuration, const CompiledCode& code, const RunWatch& watch) {
  return replay_by(configuration, &code, [&](const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result) {
    return run_and_time(configuration.execution, watch, loaded, tolerated, result);
  });
}

Status Session::load_ahead(const Configuration& configuration, const CompiledCode& code) {
  ReplayResult ignored;
  return load(configuration, code, ignored).status();
}

ReplayResult Session::repeat(const Configuration& configuration, unsigned runs, const SeeRun& see, const BeforeRun& before) {
  return replay_by(configuration, nullptr, [&](const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result) -> Status {
    bool all_right = true;
    for (unsigned i = 0; i < runs; ++i) {
      if (before) before(i);
      MNEME_ASSIGN(RestoredRun run, run_once(loaded, result));
      MNEME_TRY(verify(std::move(run), loaded, tolerated, result));
      MNEME_ASSIGN(RunMemory memory, observe(loaded));
      MNEME_TRY(see(i, result, memory));
      all_right = all_right && result.verified;
    }
    result.verified = all_right;
    return {};
  });
}

ReplayResult Session::replay_by(const Configuration& configuration, const CompiledCode* code, const Runs& runs) {
  ReplayResult result;
  result.device = device_.properties().name;
  result.device_kind = device_.properties().kind;
  result.recorded_on = instance_.device_kind;
  result.pageable_pointers = pageable_pointers_in(instance_.attributes);
  result.recorded_time = instance_.recorded_time;
  result.times.push_back({"session", prepare_time_});
  result.failure = prepare_and_run(configuration, code, runs, result);
  if (result.stage == ReplayStage::running) result.failure = name_kernel(result.failure, kernel_.demangled, *result.shape);
  result.failure = mention_lacking_memory(result.failure, instance_);
  if (result.failure.ok())
    result.stage = ReplayStage::done;
  else
    result.verified = false;
  name_mismatches(result);
  // One that failed may have left work whose results nobody took.
  if (!result.failure.ok()) {
    memory_->forget_checks();
    measurer_->forget();
  }
  return result;
}

Status Session::prepare_and_run(const Configuration& configuration, const CompiledCode* code, const Runs& runs,
                                ReplayResult& result) {
  MNEME_ASSIGN(result.shape, configuration.launch_shape(instance_));
  result.fewer_threads = fewer_threads(*result.shape, recorded_shape(instance_));
  MNEME_TRY(check_launch_code(*code_, kernel_, configuration, *result.shape, device_.properties().kind));
  MNEME_TRY(check_execution(configuration.execution, device_.properties()));
  MNEME_ASSIGN(Tolerated tolerated, resolve_tolerances(configuration.tolerance, kernel_, instance_, plan_));
  MNEME_TRY(check_target(configuration.codegen, device_.properties()));
  CompiledCode own;
  if (code == nullptr) {
    result.stage = ReplayStage::compiling;
    MNEME_ASSIGN(own, compile(configuration, result));
    code = &own;
  }
  result.stage = ReplayStage::loading;
  MNEME_ASSIGN(Loaded loaded, load(configuration, *code, result));
  result.put(loaded.kernel->resources());

  result.stage = ReplayStage::masking;
  StageClock clock;
  DeviceLock exclusive;
  const bool held = callers_lock_ != nullptr && *callers_lock_;
  if (!configuration.execution.shared_device && !held) {
    MNEME_ASSIGN(exclusive, DeviceLock::acquire(device_.properties()));
    if (exclusive) result.times.push_back({"wait", clock.lap()});
  }
  result.exclusive = held || static_cast<bool>(exclusive);
  MNEME_TRY(choose_start(configuration.verdict, result));
  result.times.push_back({"mask", clock.lap()});
  result.stage = ReplayStage::running;
  return runs(loaded, tolerated, result);
}

Result<CompiledCode> Session::compile(const CompileOptions& options) {
  ActivityScope compiling(Activity::compiling);
  KernelCode& recorded = code_->sources()->recorded();
  if (auto known = compiler_->find(recorded.digest(), options)) return std::move(*known);
  MNEME_ASSIGN(const ir::Module* module, recorded.module());
  return compiler_->compile(*module, options);
}

Result<CompiledCode> Session::compile(const Configuration& configuration, ReplayResult& result) {
  const DeviceProperties& device = device_.properties();
  return compile_launch(*code_, {kernel_, instance_, plan_}, configuration, {device.kind, device.architecture}, *compiler_,
                        result);
}

Result<Session::Loaded> Session::recorded_launch() {
  if (!recorded_launch_) {
    ReplayResult unused;
    MNEME_ASSIGN(CompiledCode code,
                 code_->program({}) != nullptr ? compile({}, unused) : compile(compile_options({}, kernel_, plan_)));
    MNEME_ASSIGN(recorded_launch_, load_code(code));
  }
  return *recorded_launch_;
}

void Session::use_cache(std::shared_ptr<DiskCache> cache) {
  code_->use_cache(cache);
  compiler_ = create_caching_compiler(std::move(compiler_), cache);
  cache_ = std::move(cache);
}

Result<Session::Loaded> Session::load(const Configuration& configuration, const CompiledCode& code, ReplayResult& result) {
  result.put(code);

  auto same =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept->translation == code.translation_digest; });
  if (same != kept_.end()) {
    const Kept& kept = **same;  // mostly the one that was loaded ahead
    if (kept.configuration != configuration && kept.digest != digest_for(configuration)) result.shared_with = kept.digest;
    return (*same)->loaded;
  }
  StageClock clock;
  MNEME_ASSIGN(Loaded loaded, load_code(code));
  result.times.push_back({"load", clock.lap()});
  if (kept_.size() == kMaxKept) kept_.pop_front();
  kept_.push_back(std::make_shared<Kept>(Kept{code.translation_digest, configuration, digest_for(configuration), loaded}));
  return loaded;
}

Digest Session::digest_for(const Configuration& configuration) {
  const bool is_in_files = !configuration.ir.path.empty() || !configuration.pass_plugins.empty();
  if (is_in_files) return configuration.digest();
  if (!last_digest_ || last_digest_->first != configuration) last_digest_.emplace(configuration, configuration.digest());
  return last_digest_->second;
}

Result<Session::Loaded> Session::load_code(const CompiledCode& code) {
  ActivityScope loading(Activity::loading);
  Loaded loaded;
  MNEME_ASSIGN(loaded.module, device_.load(code.image));
  auto kernel = loaded.module->kernel(kernel_.name);
  if (!kernel.ok() && kernel.status().code() == Code::not_found)
    return kernel.status().with_context(
        code_->sources() == nullptr || code.assembler == kRecordedAssembler
            ? "the program's own code does not have the kernel that was recorded with it"
            : "the compiled code has lost the kernel, as a pipeline that internalises symbols does");
  MNEME_ASSIGN(loaded.kernel, std::move(kernel));
  MNEME_TRY(expect_recorded_arguments(*loaded.kernel, kernel_));
  MNEME_ASSIGN(loaded.symbols, memory_->places_in(*loaded.module));
  std::vector<std::string> own;
  std::copy_if(code.state.begin(), code.state.end(), std::back_inserter(own),
               [&](const std::string& name) { return !loaded.symbols.contains(name); });
  MNEME_ASSIGN(OwnState own_state, OwnState::keep(device_, *stream_, *loaded.module, own));
  loaded.own_state = std::make_shared<const OwnState>(std::move(own_state));
  return loaded;
}

}  // namespace mneme
