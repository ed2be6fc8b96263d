// Session: prepare one recorded instance on one device, then replay it under any number of configurations.
//
// prepare() reserves the recorded addresses and brings both recorded states onto the device, once. Memory is mapped in whole
// granules, and what lies between allocations there is filled and compared too. Each replay() then compiles, restores what the
// kernel writes, runs the kernel, compares all memory by hashes, and times further runs. Configurations that end in the same code
// share one loaded object. Where runs are short all are started before the first is waited for.
//
//   const HeldAddresses held = hold_recorded_addresses(database, static_hash, {&dynamic_hash, 1});
//   MNEME_ASSIGN(auto device, Device::open(kind));
//   MNEME_ASSIGN(auto session, Session::prepare(database, static_hash, dynamic_hash, *device));
//   const ReplayResult result = session->replay(configuration);
//
// Without the first line opening a device may, now and then, put something of its own where recorded memory belongs, and
// prepare() then fails (held_addresses.h). Used by one thread at a time. The device and the database must outlive the session.
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
#include "mneme/compile/code_comparison.h"
#include "mneme/compile/compiler.h"
#include "mneme/device/device.h"
#include "mneme/measure/device_lock.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/memory/output_mask.h"
#include "mneme/memory/own_state.h"
#include "mneme/memory/prepared_memory.h"
#include "mneme/replay/configuration.h"
#include "mneme/replay/mask_cache.h"
#include "mneme/replay/races.h"
#include "mneme/replay/recorded_code.h"
#include "mneme/replay/result.h"
#include "mneme/replay/run_watch.h"
#include "mneme/store/database.h"
#include "mneme/verify/verification.h"

namespace mneme {

class AccessNotes;

// Code for a program, and what it assumes of launches there.
struct ProgramCompilation {
  CompiledCode code;
  LaunchShape shape;
  Specialisation specialisation;
  std::vector<std::string> variables;  // that it reaches through a table, in its order (CompileOptions::variable_table)
};

class Session {
 public:
  // `copies` are copies of the recorded memory that another process has made, as PreparedMemory::create() takes them; where they
  // say why there is no mask, none is looked for. Failures: those of Database::load_instance(), RecordedCode::load() and
  // check_device(); unavailable: the recorded addresses cannot be had; exhausted: the device has not enough memory (the message
  // has both figures).
  static Result<std::unique_ptr<Session>> prepare(const Database& database, const Digest& static_hash, const Digest& dynamic_hash,
                                                  Device& device, const PrepareProgress& progress = {},
                                                  RecordedCopies copies = {});
  // The same for a launch that the database does not list, such as a trimmed one. The kernel and the pages must be in it.
  static Result<std::unique_ptr<Session>> prepare(const Database& database, RecordedInstance recorded, Device& device,
                                                  const PrepareProgress& progress = {});
  ~Session();

  // Compiles, runs, verifies and times. Never fails as a call: what went wrong is in the result. After a device fault every
  // further replay fails the same way.
  ReplayResult replay(const Configuration& configuration);
  // The same with code that was compiled for the configuration elsewhere, as compile_request() asks. The result lacks what only
  // replay() looks for: ReplayResult::specialised, not_written and order_dependences.
  ReplayResult measure(const Configuration& configuration, const CompiledCode& code, const RunWatch& watch = {});
  // Adds the times to results that measure() returned without them because RunWatch::leave_times said so. `results` must be all
  // of these since the last call, in their order. Fetching takes longest while the device works. On failure the times are lost.
  Status add_left_times(std::span<ReplayResult* const> results);
  // Compiles a configuration as replay() does, for measure().
  Result<CompiledCode> compile_ahead(const Configuration& configuration);
  // The same, but so that the code can reach the variables of a program into which it is loaded.
  // measure() verifies it. unsupported: no such code can be made; the message has the reason. Else as replay() fails.
  Result<ProgramCompilation> compile_for_program(const Configuration& configuration);
  // Loads such code onto the device before measure() is called with it, which then need not. Meant for RunWatch::waiting.
  Status load_ahead(const Configuration& configuration, const CompiledCode& code);
  // The caller takes the device's lock itself: as long as `lock` holds something, replay(), measure() and repeat() take none.
  // prepare_mask(), rehearse() and find_races() must not be called meanwhile: they take the lock all the same, and would wait
  // forever. `lock` must outlive the session.
  void use_lock(const DeviceLock& lock) { callers_lock_ = &lock; }
  // Looks for what can be masked now, and not in the first replay that wants it. That nothing can be masked is no failure.
  // device_fault: the code that looks for it has faulted, and the device is of no more use to this process; another process can
  // replay when its prepare() gets the reason, why_no_mask(), in RecordedCopies::no_mask.
  Status prepare_mask();
  // Runs the recorded launch twice, timing the second run, so that what happens once in a process (a profiler starts) is no part
  // of a replay. device_fault: the launch ended in one, and every replay will. Any other failure is ignored: replays will tell
  // it.
  Status rehearse();

  // Why there is no mask. Empty: there is one, or nobody has looked for one yet.
  const std::string& why_no_mask() const { return why_no_mask_.message(); }

  // The copies of the recorded memory on the device, and the mask, for another process that replays the same launch. Only for a
  // session whose prepare() was given shareable `copies`.
  Result<SharedCopies> share_copies() { return memory_->share_copies(why_no_mask()); }

  // Sessions on one device share its addresses: of two whose recorded addresses overlap only one can replay at a time. The other
  // gives its addresses up, and takes them back before it replays again. It loses what is in memory there, and keeps its copies
  // of the recorded memory. take_addresses() fails as prepare() does, and may be tried again then.
  void give_addresses_up() { memory_->give_addresses_up(); }
  Status take_addresses() { return memory_->take_addresses(); }

  // From now on compiled code, and what can be masked, are looked for in `cache` first, and kept there. A session without a cache
  // compiles everything. Called at most once; `cache` is not null.
  void use_cache(std::shared_ptr<DiskCache> cache);

  // Called after each run with the verdict on it. `memory` is what the run left, valid until the call returns. A failure that it
  // returns ends the runs, and is that of the result.
  using SeeRun = std::function<Status(unsigned run, const ReplayResult& verdict, const RunMemory& memory)>;
  // Runs a configuration several times, each from the restored state, and times none. The result is that of the last run, except
  // that it is verified only when all runs were right. `before`, where it is set, is called before each run.
  using BeforeRun = std::function<void(unsigned run)>;
  ReplayResult repeat(const Configuration& configuration, unsigned runs, const SeeRun& see, const BeforeRun& before = {});
  // Runs the configuration once, compiled to note who accesses what, and looks for races in the notes. Called after a replay,
  // from which it knows how long a launch takes. What prevents it is in the report; after a device fault every further replay
  // fails.
  RaceReport find_races(const Configuration& configuration, const std::vector<TypedRange>& ranges);

  // Makes the code as built, for the architecture of the program's, with what the configuration asks of the assembler, and
  // compares it with the program's; no such device is needed. unsupported: the configuration changes other things of the code, or
  // what was recorded allows no comparison; the message has the reason alone. Other failures: those of the compiler,
  // Database::load_image() and compare_machine_code().
  Result<CodeComparison> compare_with_program(const Configuration& configuration);

  // Which pages (page_extent()) of each region of plan() the recorded launch reads or writes, by a run of code that notes its
  // accesses. What no notes are taken of counts as touched: globals at module symbols, arrays, and memory that textures read.
  // unsupported, with the reason: the pages cannot be found, as where the kernel was recorded without IR, or the launch is not
  // right here. exhausted: the device has no room for the notes. device_fault: the code that notes the accesses has faulted.
  using TouchedPages = std::vector<std::vector<bool>>;
  Result<TouchedPages> find_touched_pages();

  // What the session works with, for benchmarks that time its steps one by one.
  PreparedMemory& memory() { return *memory_; }
  Device& device() { return device_; }
  Stream& stream() { return *stream_; }

  // The IR that a configuration compiles: the recorded one, or that of its file. It lives as long as the session. Failures: those
  // of KernelSources::find() and KernelCode::module(); unsupported: the kernel was recorded without IR.
  Result<const ir::Module*> code_of(const Configuration& configuration);
  // Whether the kernel was recorded with IR.
  bool has_ir() const { return code_->sources() != nullptr; }
  const MemoryPlan& plan() const { return plan_; }
  const KernelRecord& kernel() const { return kernel_; }
  const InstanceRecord& instance() const { return instance_; }

 private:
  // Code that is loaded onto the device, with what it needs to run.
  struct Loaded {
    std::shared_ptr<Module> module;
    Kernel* kernel = nullptr;
    SymbolPlaces symbols;
    std::shared_ptr<const OwnState> own_state;
  };
  struct Kept;  // loaded code that later configurations may share

  Session(const Database& database, Device& device) : database_(database), device_(device) {}
  Status load_kernel(const Digest& static_hash);
  Status load(RecordedInstance recorded);
  Status prepare_memory(std::chrono::steady_clock::time_point start, const PrepareProgress& progress, RecordedCopies copies);

  using Tolerated = std::vector<ToleratedRange>;
  using Runs = std::function<Status(const Loaded&, const Tolerated&, ReplayResult&)>;
  // The common part of replay(), measure() and repeat(): compiles the configuration where `code` is null, loads, takes the lock,
  // masks, and has `runs` do the rest.
  ReplayResult replay_by(const Configuration& configuration, const CompiledCode* code, const Runs& runs);
  Status prepare_and_run(const Configuration& configuration, const CompiledCode* code, const Runs& runs, ReplayResult& result);
  Result<RestoredRun> run_once(const Loaded& loaded, ReplayResult& result);
  Status launch_and_wait(const Loaded& loaded, const LaunchShape& shape);
  Status run_and_time(const Execution& execution, const RunWatch& watch, const Loaded& loaded, const Tolerated& tolerated,
                      ReplayResult& result);
  Result<CompiledCode> compile(const Configuration& configuration, ReplayResult& result);
  Result<CompiledCode> compile(const CompileOptions& options);  // compiles the recorded IR
  // The program's own code with a table of these variables; where there are none, as it is.
  Result<CompiledCode> compile_with_table(const ProgramCode& program, const Configuration& configuration,
                                          const std::vector<std::string>& variables);
  Result<Loaded> recorded_launch();  // the recorded code by default options; loaded once, and kept
  Result<Loaded> load(const Configuration& configuration, const CompiledCode& code, ReplayResult& result);
  Result<Loaded> load_code(const CompiledCode& code);
  // Configuration::digest(), which takes as long as a short run. That of the last one is kept: what is loaded ahead is measured
  // next.
  Digest digest_for(const Configuration& configuration);
  // Begins a run: puts back the recorded memory, and the variables that the code has of its own.
  Result<RestoredRun> restore(const Loaded& loaded, StartState start);
  Status restore_again(const Loaded& loaded, RestoredRun& run);
  // What each run of a configuration begins with.
  StartState start() const { return masked_ ? StartState::masked : StartState::recorded; }
  Status run_at_once(const Execution& execution, const RunWatch& watch, const Loaded& loaded, ReplayResult& result);
  Status start_verified_run(const Loaded& loaded, const LaunchShape& shape, bool timed);
  Status show_wrong_run(const CheckedRun& wrong, const Loaded& loaded, ReplayResult& result);
  Status show_wrong_end(const CheckedRun& wrong, const Execution& execution, const RunWatch& watch, const Loaded& loaded,
                        ReplayResult& result);
  static void tell_unlike(const CheckedRun& wrong, ReplayResult& result);
  // What the measurer is given. All its launches are one run, which the first of them puts into `run`. The arguments must outlive
  // the measurement.
  MeasuredLaunch measured_launch(const Loaded& loaded, const ReplayResult& result, std::optional<RestoredRun>& run);
  static void put(Measurement measured, ReplayResult& result);
  static void put(Verification verification, ReplayResult& result);
  // Checks the run, after which nothing may have been launched, and puts the verdict on it into the result.
  Status verify(RestoredRun&& run, const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result);
  // What the last run left, beside what was recorded and, where it started from masked memory, beside that.
  Result<RunMemory> observe(const Loaded& loaded);
  // Adds to a result that is wrong what was not written, and what the order of threads may change. Memory must be as the run left
  // it. Where it cannot be told it warns: the verdict is there without it.
  void explain(const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result);
  Status find_explanation(const Loaded& loaded, const Tolerated& tolerated, ReplayResult& result);
  void name_mismatches(ReplayResult& result) const;

  Status look_for_races(const Configuration& configuration, const std::vector<TypedRange>& ranges, RaceReport& report);
  // Decides whether the configuration's runs begin with masked memory, and says so in the result. Looks for a mask when one is
  // first wanted. device_fault: see prepare_mask().
  Status choose_start(const Verdict& verdict, ReplayResult& result);
  Status make_mask();
  // A digest of all that what can be masked depends on.
  Digest mask_key() const;
  // Masks what was found to be masked before.
  Status take_known_mask(const KnownMask& known);
  Status begin_masked(OutputMask& mask);
  CompileOptions tracked_options() const;
  Status mask_memory(const Loaded& recorded, Nanoseconds time, const MaskCache& cache);
  Status mask_globals(const Loaded& recorded);
  Result<RestoredRun> run_masked(const Loaded& recorded);
  // The bytes that might be masked, by a run with notes. `time` is what the recorded launch takes without.
  Result<std::unique_ptr<OutputMask>> mask_candidates(Nanoseconds time);
  // Runs the recorded launch, from masked memory where `mask` is not null. Says whether that left the recorded memory, and how
  // long the launch took.
  struct RecordedRun {
    bool right = false;
    Nanoseconds time{};
  };
  Result<RecordedRun> run_recorded(const Loaded& recorded, OutputMask* mask);
  // Notes of a run of the recorded launch, which has memory at recorded addresses. `time` is what it takes without notes.
  // unsupported, with the reason: it would take too long, or its accesses cannot be followed. exhausted: there is no room.
  Result<AccessNotes> note_accesses(Nanoseconds time);

  const Database& database_;
  Device& device_;
  KernelRecord kernel_;
  InstanceRecord instance_;
  MemoryPlan plan_;
  std::optional<RecordedCode> code_;
  std::unique_ptr<Compiler> compiler_;
  std::shared_ptr<DiskCache> cache_;  // null: none
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Measurer> measurer_;  // of stream_
  std::unique_ptr<PreparedMemory> memory_;
  Status why_no_mask_;   // ok: there is a mask, or none was looked for
  bool masked_ = false;  // whether the configuration's runs begin with masked memory
  std::optional<Loaded> recorded_launch_;
  const DeviceLock* callers_lock_ = nullptr;
  Nanoseconds prepare_time_{};
  std::vector<StageTime> session_times_;
  Nanoseconds run_time_{};                        // of the last restored runs
  std::deque<std::shared_ptr<const Kept>> kept_;  // the newest last
  std::optional<std::pair<Configuration, Digest>> last_digest_;
};

}  // namespace mneme
