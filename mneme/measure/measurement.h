// Measurement: how launches are timed. Each starts from restored memory with the cache as asked for, and nobody waits between
// restoring and launching; times are taken a batch at a time. When enough is measured is the StoppingRule's.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mneme/measure/execution.h"

namespace mneme {

struct MeasuredLaunch {
  const Kernel& kernel;
  const LaunchShape& shape;
  ByteSpan parameters;
  std::function<Status()> restore;       // puts the memory back; need not wait for it
  std::function<Status()> read_through;  // reads the kernel's memory through the cache
  Nanoseconds expected{};  // what one takes, with restoring, as far as is known; a limit of time allows many times that
};

// The hardware's clocks around a measurement.
struct ClockReport {
  uint32_t sm_mhz_before = 0, sm_mhz_after = 0;
  std::vector<std::string> throttled;  // at any of the readings, each once
};

// What a person should be told of a measurement under these clocks: that they changed by more than a hundredth, or were held
// down.
std::vector<std::string> describe_problems(const ClockReport& clocks);

struct Measurement {
  std::vector<Nanoseconds> times;
  DeviceClock clock;
  std::optional<ClockReport> clocks;  // nothing where they cannot be read, or nothing was timed
};

// Told the timed launches since its last call, whenever about kReportEvery has passed and more are to come. False: those are all.
// One that is not set is not told.
using SeeTimes = std::function<bool(std::span<const Nanoseconds> times)>;
inline constexpr std::chrono::milliseconds kReportEvery{50};

// Used by one thread at a time. Device and stream must outlive it.
class Measurer {
 public:
  Measurer(Device& device, Stream& stream) : device_(device), stream_(stream) {}
  ~Measurer();
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;

  Result<Measurement> measure(const Execution& execution, const MeasuredLaunch& launch, const SeeTimes& see = {});
  // The same in two: begin() starts the first launches and does not wait for them (unless time is what stops them), and gives the
  // number of those that are timed. Then finish(), or forget() when nobody wants the times. `counted`: so many launches that the
  // stream times already, and has no other since, are the first of the measurement.
  Result<unsigned> begin(const Execution& execution, const MeasuredLaunch& launch, const SeeTimes& see, unsigned counted = 0);
  Result<Measurement> finish();
  void forget();
  // Whether the first launch of an object, from the restored state, may be counted so: it begins as the others do, and what it
  // takes longer (DeviceClock::first_launch) is less than a hundredth of the times that were taken last.
  Result<bool> may_count_first(const Execution& execution);

  // Instead of finish(), where no launch depends on the times and the launches have ended: others can begin, and what was left is
  // taken together, the oldest first. Fetching takes longer while something runs. When it fails all of it is lost, also when
  // that was in another's finish() or forget().
  bool can_leave() const;
  void leave();
  Result<std::vector<Measurement>> take_left();

 private:
  Status prepare(const Execution& execution, const MeasuredLaunch& launch);
  Status empty_cache();
  Status start(unsigned count);
  Result<std::vector<Nanoseconds>> take_times();
  void read_clocks();

  struct UnderWay {
    Execution execution;
    MeasuredLaunch launch;
    SeeTimes see;
    Measurement measurement;
    unsigned batch = 0;  // timed launches that were started
    std::chrono::steady_clock::time_point begin;
  };
  struct Left {
    Measurement measurement;
    unsigned unfetched = 0;  // times that the stream still has
    bool clocks_read = false;
  };
  Device& device_;
  Stream& stream_;
  std::optional<UnderWay> under_way_;
  std::vector<Left> left_;
  Status left_lost_;
  Nanoseconds last_time_{};  // 0: none was taken
  DevicePtr other_memory_;   // larger than the cache
};

}  // namespace mneme
