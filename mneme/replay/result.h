// Result of one replay. A replay that does not match is a verdict here, not an error.
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

// How far a replay came, in this order.
enum class ReplayStage { preparing, compiling, loading, masking, running, done };

// The stages of ReplayResult::times in which code was made, or was found in the cache.
inline constexpr std::array<std::string_view, 8> kCompileStages = {"cache",    "prepare", "optimise",      "codegen",
                                                                   "assemble", "lower",   "host_optimise", "link"};

// A direction in which fewer threads ran than were recorded.
struct FewerThreads {
  char axis = 'x';
  uint64_t threads = 0, recorded = 0;
  friend bool operator==(const FewerThreads&, const FewerThreads&) = default;
};

// What one replay came to. Each member is the key of the same name in JSON (docs/reference/result.md), except `failure`, which is
// "failed" and "error", and `shape`, which is "grid", "block" and so on. A member that is empty is not known.
struct ReplayResult {
  ReplayStage stage = ReplayStage::preparing;  // how far it came: what `failure` is about
  bool verified = false;  // all memory is as recorded, to the byte or within its tolerance, after the first run and the last
  bool executed = false;  // the kernel ran to its end
  Status failure;         // why it could not run; ok when it ran
  std::vector<Mismatch> mismatches;
  std::optional<std::vector<NotWritten>> not_written;  // looked for by Session::replay() where the result is wrong
  std::vector<FewerThreads> fewer_threads;
  // Of a result of Session::replay() that is wrong: what in the recorded code may give another one each time, as ir::describe()
  // says.
  std::vector<std::string> order_dependences;
  std::vector<ToleranceVerdict> tolerances;  // of every piece of memory that has one
  std::string mask;                          // "on", "off", or why there is none; empty when it did not come so far
  Bytes masked_bytes;                        // that were wrong before the run that was verified

  std::vector<Nanoseconds> exec_time;      // one a timed run, each from the restored state
  bool verified_run_timed = false;         // the first of them is that of the first run that was verified
  std::string clock_source, clock_remark;  // the clock that they come from, and why it is not a better one
  std::optional<ClockReport> clocks;
  bool exclusive = false;  // no other Mneme ran kernels on the device meanwhile
  std::optional<Occupancy> occupancy;

  std::optional<uint32_t> reg_usage;                                        // registers of a thread
  std::optional<Bytes> local_mem_usage, const_mem_usage, shared_mem_usage;  // of a thread, of the image, of a block
  std::optional<Bytes> obj_size;                                            // of the object that the device loads
  std::optional<Digest> obj_hash;                                           // of its bytes
  std::optional<uint64_t> instructions;                                     // as in CodeFacts, these and the following
  std::optional<Bytes> stack_frame, spill_store_bytes, spill_load_bytes;
  std::vector<std::string> warnings;  // the assembler's
  std::string assembler;
  CacheUse cache = CacheUse::off;
  std::optional<Digest> shared_with;  // digest of the configuration whose loaded object this one ran, as its code was the same
  // session (once a session: memory brought to the device), kCompileStages, load, wait, mask; then restore, run, verify,
  // timed_runs where each is waited for, or start, meanwhile, run, timed_runs where all runs are started together.
  std::vector<StageTime> times;
  std::optional<LaunchShape> shape;                 // nothing where the configuration has none for this launch
  std::optional<SpecialisationReport> specialised;  // which facts the code was made with, where any were asked for
  std::string device;
  std::optional<DeviceKind> device_kind;
  std::optional<RecordedTime> recorded_time;  // of the launch in the program
  std::string recorded_on;                    // kind of device that made the recording: bytes of two kinds agree only by luck

  // What the result says of code that was made, and of what the device says of it when it has loaded it.
  void put(const CompiledCode& code);
  void put(const KernelResources& resources);
};

// The directions in which a launch has fewer threads than the recorded one.
std::vector<FewerThreads> fewer_threads(const LaunchShape& shape, const LaunchShape& recorded);
// What kCompileStages took together.
Nanoseconds compile_time(const ReplayResult& result);
// Why one that ran is not verified: "32768 of 65536 f32 of argument 'out' were not written (128 of 256 threads in x:
// --keep-threads keeps them)". What else differs comes behind.
std::string describe_wrong(const ReplayResult& result);

// The codec (docs/reference/result.md). Beside the members there is what follows from them: statistics of the times, and the
// ratio to the time in the program.
nlohmann::json to_json(const ReplayResult& result);
// The same without what is not known or empty.
nlohmann::json to_brief_json(const ReplayResult& result);
// Reads both, of this version or an older one. Keys that it does not know are left alone. corrupt, naming the key, for a value of
// another type.
Result<ReplayResult> replay_result_from_json(const nlohmann::json& json);

}  // namespace mneme
