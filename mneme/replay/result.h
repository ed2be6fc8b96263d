// Result of one replay. A replay that does not match is a verdict here, not an error.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
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

// In order.
enum class ReplayStage { preparing, compiling, loading, masking, running, done };

// A direction in which fewer threads ran than were recorded.
struct FewerThreads {
  char axis = 'x';
  uint64_t threads = 0, recorded = 0;
};

struct ReplayResult {
  ReplayStage stage = ReplayStage::preparing;  // how far it came: what `failure` is about
  bool executed = false;                       // the kernel ran to its end
  bool verified = false;  // all memory is as recorded, to the byte or within its tolerance, after the first run and the last
  Status failure;         // why it could not run; ok when it ran
  std::vector<Mismatch> mismatches;
  std::optional<std::vector<NotWritten>> not_written;  // looked for by Session::replay() where the result is wrong
  // Of a result of Session::replay() that is wrong: what in the recorded code may give another one each time, as ir::describe()
  // says.
  std::vector<std::string> order_dependences;
  std::vector<ToleranceVerdict> tolerances;  // of every piece of memory that has one
  std::string mask;                          // "on", "off", or why there is none; empty when it did not come so far
  Bytes masked_bytes;                        // that were wrong before the run that was verified

  std::vector<Nanoseconds> exec_time;  // one a timed run, each from the restored state
  bool verified_run_timed = false;     // the first of them is that of the first run that was verified
  DeviceClock clock;                   // that they come from
  std::optional<ClockReport> clocks;
  std::optional<Occupancy> occupancy;
  bool exclusive = false;  // no other Mneme ran kernels on the device meanwhile
  KernelResources resources;
  std::optional<Bytes> object_size;
  Digest object_digest;
  std::string assembler;
  CodeFacts facts;
  std::vector<std::string> warnings;  // the assembler's
  CacheUse cache = CacheUse::off;
  std::optional<Digest> shared_with;  // digest of the configuration whose loaded object this one ran, as its code was the same
  // session (once a session: memory brought to the device), compile stages, load, wait, mask; then restore, run, verify,
  // timed_runs where each is waited for, or start, meanwhile, run, timed_runs where all runs are started together.
  std::vector<StageTime> times;
  std::optional<LaunchShape> shape;              // nothing where the configuration has none for this launch
  LaunchShape recorded_shape;                    // of the launch in the program
  std::optional<SpecialisedLaunch> specialised;  // which facts the code was made with, where any were asked for
  std::string device;
  DeviceKind device_kind = DeviceKind::cpu;
  std::optional<RecordedTime> recorded_time;  // of the launch in the program
  std::string recorded_on;                    // kind of device that made the recording: bytes of two kinds agree only by luck
};

std::vector<FewerThreads> fewer_threads(const ReplayResult& result);
// Why one that ran is not verified: "32768 of 65536 f32 of argument 'out' were not written (128 of 256 threads in x:
// --keep-threads keeps them)". What else differs comes behind.
std::string describe_wrong(const ReplayResult& result);

nlohmann::json to_json(const ReplayResult& result);

}  // namespace mneme
