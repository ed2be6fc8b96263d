// Session: prepare one recorded instance on one device, then replay it under any number of configurations.
//
// prepare() reserves the recorded addresses and brings both recorded states onto the device once (PreparedMemory says what it
// keeps there, in whole granules: what lies between allocations is filled and compared too).
// Configurations that end in the same code share one loaded object. replay() then costs a compilation, copies of what the kernel
// writes, hashes of all memory, and its runs: where those are short, all are started before the first is waited for.
//
// Used by one thread at a time. The device and database must outlive the session.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/disk_cache.h"
#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/device/device.h"
#include "mneme/measure/device_lock.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/memory/output_mask.h"
#include "mneme/memory/own_state.h"
#include "mneme/memory/prepared_memory.h"
#include "mneme/replay/configuration.h"
#include "mneme/replay/kernel_code.h"
#include "mneme/replay/races.h"
#include "mneme/replay/result.h"
#include "mneme/replay/run_watch.h"
#include "mneme/store/database.h"
#include "mneme/verify/verification.h"

namespace mneme {

class Session {
 public:
  // `copies`: as PreparedMemory::create() takes them; where they say why there is no mask none is looked for. Failures: what
  // the store says of a damaged database; unavailable when the recorded addresses cannot be had; exhausted when the device has
  // not enough memory, with both figures.
  static Result<std::unique_ptr<Session>> prepare(const Database& database, const Digest& static_hash, const Digest& dynamic_hash,
                                                  Device& device, const PrepareProgress& progress = {},
                                                  RecordedCopies copies = {});
  ~Session();

  // Never fails as a call: what went wrong is in the result. After a device fault every further replay fails the same way.
  ReplayResult replay(const Configuration& configuration);
  // The same with code that was compiled for the configuration elsewhere, by compile_request(). Of a configuration that is
  // specialised the result does not say to what.
  ReplayResult measure(const Configuration& configuration, const CompiledCode& code, const RunWatch& watch = {});
  // Adds the times to what measure() gave while RunWatch::leave_times said yes: all of that, in its order. They take longest to
  // fetch while the device works. When that fails they are lost.
  Status add_left_times(std::span<ReplayResult* const> results);
  // Loads such code before it is measured, so that measure() finds it there. Meant for RunWatch::waiting.
  Status load_ahead(const Configuration& configuration, const CompiledCode& code);
  // As long as `lock` holds something, replays do not wait for the device: the caller has. It must outlive the session.
  void use_lock(const DeviceLock& lock) { callers_lock_ = &lock; }
  // Looks for what can be masked now, and not in the first replay that wants it. device_fault: the code that looks for it has
  // faulted, and the device is of no more use to this process; what why_no_mask() says can be told another's prepare().
  Status prepare_mask();
  // Runs and times the recorded launch once, so that what comes with the first of all launches (a profiler has to start) is no
  // part of a replay. device_fault: it did, and every replay will. Any other failure is for the replays to tell.
  Status rehearse();

  // Why there is no mask. Empty: there is one, or none was looked for.
  const std::string& why_no_mask() const { return why_no_mask_.message(); }

  // What another process that replays the same launch can take over, the mask included. `copies` of prepare() were shareable.
  Result<SharedCopies> share_copies() { return memory_->share_copies(why_no_mask()); }

  // Sessions on one device share its addresses: of those whose recorded addresses overlap one can replay at a time. A session
  // gives its addresses up, and with them what is in memory there, but keeps its copies of the recorded memory; it takes them
  // back before it replays again. take_addresses() fails as prepare() does, and can be tried again then.
  void give_addresses_up() { memory_->give_addresses_up(); }
  Status take_addresses() { return memory_->take_addresses(); }

  // Compiled code is looked for in `cache` first and kept there, from now on. Without one everything is compiled.
  void use_cache(std::shared_ptr<DiskCache> cache);

  // Told of each run, with the verdict on it: its memory is there until the call returns.
  using SeeRun = std::function<Status(unsigned run, const ReplayResult& verdict, const RunMemory& memory)>;
  // Runs a configuration several times, each from the restored state, and times none. The result is that of the last run;
  // verified when all were right. `before`, where it is set, is told of each run before it begins.
  using BeforeRun = std::function<void(unsigned run)>;
  ReplayResult repeat(const Configuration& configuration, unsigned runs, const SeeRun& see, const BeforeRun& before = {});
  // Runs it once more, compiled to note who comes where; why it could not is in the report. After a device fault there every
  // further replay fails.
  RaceReport find_races(const Configuration& configuration, const std::vector<Segment>& segments);

  // For who measures the parts.
  PreparedMemory& memory() { return *memory_; }
  Device& device() { return device_; }
  Stream& stream() { return *stream_; }

  // That a configuration compiles: recorded_code(), or what its file has. What reading that says; lives as long as the session.
  Result<const ir::Module*> code_of(const Configuration& configuration);
  const ir::Module& recorded_code() const { return sources_->recorded().module(); }
  const MemoryPlan& plan() const { return plan_; }
  const KernelRecord& kernel() const { return kernel_; }
  const InstanceRecord& instance() const { return instance_; }

 private:
  // A compiled configuration on the device.
  struct Loaded {
    std::shared_ptr<Module> module;
    Kernel* kernel = nullptr;
    SymbolPlaces symbols;
    std::shared_ptr<const OwnState> own_state;
  };
  struct Kept;  // one that later configurations may share

  Session(const Database& database, Device& device) : database_(database), device_(device) {}
  Status load(const Digest& static_hash, const Digest& dynamic_hash);

  using Tolerated = std::vector<ToleratedRange>;
  using Runs = std::function<Status(const Loaded&, const Tolerated&, ReplayResult&)>;
  // `code` is compiled where it is null.
  ReplayResult replay_by(const Configuration& configuration, const CompiledCode* code, const Runs& runs);
  Status prepare_and_run(const Configuration& configuration, const CompiledCode* code, const Runs& runs, ReplayResult& result);
  Result<RestoredRun> run_once(const Loaded& loaded, ReplayResult& result);
  Status launch_and_wait(const Loaded& loaded, const LaunchShape& shape);
  Status run_and_time(const Execution& execution, const RunWatch& watch, const Loaded& loaded, const Tolerated& tolerated,
                      ReplayResult& result);
  Result<CompiledCode> compile(const Configuration& configuration, ReplayResult& result);
  Result<CompiledCode> compile(const CompileOptions& options);  // the recorded code
  Result<Loaded> recorded_launch();                             // the code of it, kept
  Result<Loaded> load(const Configuration& configuration, const CompiledCode& code, ReplayResult& result);
  Result<Loaded> load_code(const CompiledCode& code);
  // Puts back what the launch was recorded with, and what the code itself begins with.
  Result<RestoredRun> restore(const Loaded& loaded, StartState start);
  Status restore_again(const Loaded& loaded, RestoredRun& run);
  // What every launch of a candidate begins with.
  StartState start() const { return masked_ ? StartState::masked : StartState::recorded; }
  Status run_at_once(const Execution& execution, const RunWatch& watch, const Loaded& loaded, ReplayResult& result);
  Status start_verified_run(const Loaded& loaded, const LaunchShape& shape, bool timed);
  Status show_wrong_run(const CheckedRun& wrong, const Loaded& loaded, ReplayResult& result);
  // All launches of it are one run, which the first of them begins. All must outlive the measurement.
  MeasuredLaunch measured_launch(const Loaded& loaded, const ReplayResult& result, std::optional<RestoredRun>& run);
  static void put(Measurement measured, ReplayResult& result);
  static void put(Verification verification, ReplayResult& result);
  // Checks the run, whose launches are the last, and puts the verdict on it into the result.
  Status verify(RestoredRun&& run, const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result);
  // What the last run left, beside what was recorded and, where it started from masked memory, beside that.
  Result<RunMemory> observe(const Loaded& loaded);
  // Adds to a result that is wrong what was not written. The memory is as the run left it.
  Status explain(const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result);
  void name_mismatches(ReplayResult& result) const;

  Status look_for_races(const Configuration& configuration, const std::vector<Segment>& segments, RaceReport& report);
  // Has the candidate's runs masked, or not, and says so in the result. Looks for a mask when that is first wanted.
  // device_fault: see prepare_mask().
  Status choose_start(const Verdict& verdict, ReplayResult& result);
  Status make_mask();
  Status mask_memory(const Loaded& recorded, Nanoseconds time);
  Status mask_globals(const Loaded& recorded);
  Result<RestoredRun> run_masked(const Loaded& recorded);
  Result<std::unique_ptr<OutputMask>> mask_candidates(Nanoseconds time);  // that the recorded launch takes
  // Runs the recorded configuration, and says whether that left the recorded memory, and how long the launch took.
  struct RecordedRun {
    bool right = false;
    Nanoseconds time{};
  };
  Result<RecordedRun> run_recorded(const Loaded& recorded, OutputMask* mask);

  const Database& database_;
  Device& device_;
  KernelRecord kernel_;
  InstanceRecord instance_;
  MemoryPlan plan_;
  std::unique_ptr<KernelSources> sources_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Measurer> measurer_;  // of stream_
  std::unique_ptr<PreparedMemory> memory_;
  Status why_no_mask_;   // ok: there is some, or none was looked for
  bool masked_ = false;  // whether a candidate's runs start from masked memory
  std::optional<Loaded> recorded_launch_;
  const DeviceLock* callers_lock_ = nullptr;
  Nanoseconds prepare_time_{};
  Nanoseconds run_time_{};                        // of the last restored runs
  std::deque<std::shared_ptr<const Kept>> kept_;  // the newest last
};

}  // namespace mneme
