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
#include "mneme/replay/facts.h"
#include "mneme/replay/measurement.h"
#include "mneme/replay/occupancy.h"
#include "mneme/snapshot/recorded_time.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {

// A piece of memory that a tolerance is for, and how far it is from what was recorded.
struct ToleranceVerdict {
  std::string where;  // "argument 'out'", "global table", "annotation forces", "range 0x…+4096"
  DevicePtr address;
  Bytes size;
  Tolerance tolerance;
  ElementDifferences differences;
};

// One piece of memory whose content after the kernel is not what was recorded.
struct Mismatch {
  std::string where;  // "allocation 0x7a0000000000" or "global table"
  DevicePtr address;
  Bytes size;
  uint64_t differing_bytes = 0;
  uint64_t first_offset = 0;
  std::optional<ToleranceVerdict> tolerance;  // the one that it is not within
  bool outside = false;                       // of every allocation: mapped memory that belongs to none
};

// In order.
enum class ReplayStage { preparing, compiling, loading, poisoning, running, done };

// "memory differs in 2 places, first allocation 0x7a0000000000 (12 bytes, from offset 0 on)"
std::string describe(const std::vector<Mismatch>& mismatches);

struct ReplayResult {
  ReplayStage stage = ReplayStage::preparing;  // how far it came: what `failure` is about
  bool executed = false;                       // the kernel ran to its end
  bool verified = false;  // all memory is as recorded, to the byte or within its tolerance, after the first run and the last
  Status failure;         // why it could not run; ok when it ran
  std::vector<Mismatch> mismatches;
  std::vector<ToleranceVerdict> tolerances;  // of every piece of memory that has one
  std::string poison;                        // "on", "off", or why there is none; empty when it did not come so far
  Bytes poisoned_bytes;                      // that were wrong before the run that was verified

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
  // session (once a session: memory brought to the device), compile stages, load, wait, poison; then restore, run, verify,
  // timed_runs where each is waited for, or start, meanwhile, run, timed_runs where all runs are started together.
  std::vector<StageTime> times;
  std::optional<LaunchShape> shape;              // nothing where the configuration has none for this launch
  std::optional<SpecialisedLaunch> specialised;  // which facts the code was made with, where any were asked for
  std::string device;
  DeviceKind device_kind = DeviceKind::cpu;
  std::optional<RecordedTime> recorded_time;  // of the launch in the program
  std::string recorded_on;                    // kind of device that made the recording: bytes of two kinds agree only by luck
};

nlohmann::json to_json(const ReplayResult& result);

}  // namespace mneme
