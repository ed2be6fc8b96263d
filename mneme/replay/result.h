// ReplayResult: what became of one replay. That memory is not as recorded is a verdict of the result, and no failure.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"
#include "mneme/device/device.h"
#include "mneme/measure/measurement.h"
#include "mneme/measure/occupancy.h"
#include "mneme/replay/facts.h"
#include "mneme/snapshot/recorded_time.h"
#include "mneme/verify/mismatch.h"

namespace mneme {

// How far a replay came, in this order; one that only compiles has come to its end with `compiled`.
enum class ReplayStage { preparing, compiling, compiled, loading, masking, running, done };

// The stages of ReplayResult::times in which code was made, or was found in the cache.
inline constexpr std::array<std::string_view, 8> kCompileStages = {"cache",    "prepare", "optimise",      "codegen",
                                                                   "assemble", "lower",   "host_optimise", "link"};

// A direction in which fewer threads ran than were recorded.
struct FewerThreads {
  char axis = 'x';
  uint64_t threads = 0, recorded = 0;
  friend bool operator==(const FewerThreads&, const FewerThreads&) = default;
};

// Each member is the key of the same name in JSON (docs/reference/result.md), except `failure`, which is "failed" and "error",
// and `shape`, which is "grid", "block" and so on. A member that is empty is not known.
struct ReplayResult {
  ReplayStage stage = ReplayStage::preparing;  // how far the replay came: `failure` is about this stage
  bool verified = false;  // all memory is as recorded, to the byte or within its tolerance, after the first run and the last
  bool executed = false;  // the kernel ran to its end
  Status failure;         // why the replay could not run; ok when it ran
  std::vector<Mismatch> mismatches;
  // Elements that the kernel has not written. Session::replay() alone looks for them, where the result is wrong and memory was
  // masked; else nothing.
  std::optional<std::vector<NotWritten>> not_written;
  std::vector<FewerThreads> fewer_threads;
  // What in the recorded code may give another result each time, as ir::describe() says. Session::replay() alone looks for it,
  // where the result is wrong.
  std::vector<std::string> order_dependences;
  std::vector<ToleranceVerdict> tolerances;  // one for each piece of memory with a tolerance
  std::string mask;                          // "on", "off", or why there is no mask; empty: the replay did not come so far
  Bytes masked_bytes;                        // how many bytes were made wrong before each run

  std::vector<Nanoseconds> exec_time;      // of each timed run, in their order; empty where the result is wrong
  bool verified_run_timed = false;         // the first of `exec_time` is the run that was verified first
  std::string clock_source, clock_remark;  // the clock that the times come from, and why it is not a better one
  std::optional<ClockReport> clocks;
  bool exclusive = false;  // the device's lock was held, so that no other Mneme ran kernels on the device meanwhile
  std::optional<Occupancy> occupancy;

  std::optional<uint32_t> reg_usage;                                        // registers of a thread
  std::optional<Bytes> local_mem_usage, const_mem_usage, shared_mem_usage;  // of a thread, of the image, of a block
  std::optional<Bytes> obj_size;                                            // of the object that the device loads
  std::optional<Digest> obj_hash;                                           // of that object's bytes
  std::optional<uint64_t> instructions;                                     // this and the next three: as in CodeFacts
  std::optional<Bytes> stack_frame, spill_store_bytes, spill_load_bytes;
  std::optional<uint32_t> sgpr_usage, agpr_usage, vgpr_spills, sgpr_spills, waves_per_eu;  // of AMD GPUs, as in CodeFacts
  std::vector<std::string> warnings;                                                       // the assembler's
  std::string assembler;  // which one made the object: "nvptxcompiler", "ptxas", "lld"
  CacheUse cache = CacheUse::off;
  std::optional<Digest> shared_with;  // digest of the configuration whose loaded object this one ran, as its code was the same
  // Host time of each stage: "session" (preparing it, the same in all results of a session), kCompileStages, "load", "wait" (for
  // the device's lock), "mask". Then, where each run is waited for: "restore", "run", "verify", "timed_runs"; where all runs are
  // started together: "start", "meanwhile" (RunWatch::waiting), "run", "timed_runs". Where a run was repeated a stage may come
  // twice; JSON has the last.
  std::vector<StageTime> times;
  // Host time of each stage of "session": "recording" (its files but for the pages), "addresses" (taking the recorded addresses),
  // "read" (waiting for pages to be read), "upload" (copying them). In front of them Session's callers may put "device" (opening
  // it). Only of Session::replay().
  std::vector<StageTime> session_times;
  std::optional<LaunchShape> shape;                 // what was launched; nothing where the configuration allows no such launch
  std::optional<SpecialisationReport> specialised;  // which facts the code was compiled with, where any were asked for
  std::string device;
  std::optional<DeviceKind> device_kind;
  std::optional<RecordedTime> recorded_time;  // how long the launch took in the program
  std::string pageable_pointers;  // where the launch held addresses of pageable memory of the host, as its attribute has it
  std::string recorded_on;        // the kind of device that recorded; bytes from two kinds agree only by luck

  // Fill in what the compiler says of the code, and what the device says of it once it is loaded.
  void put(const CompiledCode& code);
  void put(const KernelResources& resources);
};

// The directions in which a launch has fewer threads than the recorded one.
std::vector<FewerThreads> fewer_threads(const LaunchShape& shape, const LaunchShape& recorded);
// How long kCompileStages took together.
Nanoseconds compile_time(const ReplayResult& result);
// Why a replay that ran is not verified, for a person: "32768 of 65536 f32 of argument 'out' were not written (128 of 256 threads
// in x: --keep-threads keeps them)". Memory that differs for another reason is named behind what was not written.
std::string describe_wrong(const ReplayResult& result);

// The result as JSON (docs/reference/result.md), with what follows from its members: statistics of the times, and the ratio to
// the time in the program.
nlohmann::json to_json(const ReplayResult& result);
// The same without members that are unknown or empty.
nlohmann::json to_brief_json(const ReplayResult& result);
// Reads either form, as this version or an older one wrote it. Unknown keys are ignored. corrupt, naming the key: a value has
// another type.
Result<ReplayResult> replay_result_from_json(const nlohmann::json& json);

}  // namespace mneme
