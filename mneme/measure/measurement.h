// Measurement: how launches are timed. Each timed launch starts from restored memory, with the cache as Execution asks for. The
// host does not wait between restoring and launching: it starts a batch of launches and then takes their times together. The
// StoppingRule decides when enough is measured.
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
  std::function<Status()> restore;       // puts the memory back, in the stream; it need not wait until that is done
  std::function<Status()> read_through;  // reads the kernel's memory, so that it comes into the cache
  Nanoseconds expected{};  // how long one launch takes with restoring, or zero; the time limit allows many times that
};

// The device's clocks before, during and after a measurement.
struct ClockReport {
  uint32_t sm_mhz_before = 0, sm_mhz_after = 0;
  std::vector<std::string> throttled;  // why clocks were held down at any of the readings; each reason once
};

// What a person should know about times that were measured under these clocks: that the clock changed by more than a hundredth,
// or was held down. Empty where neither is so.
std::vector<std::string> describe_problems(const ClockReport& clocks);

struct Measurement {
  std::vector<Nanoseconds> times;
  DeviceClock clock;
  std::optional<ClockReport> clocks;  // nothing where they cannot be read, or nothing was timed
};

// Is given the times of the launches since its last call, about every kReportEvery while more launches are to come. Returns
// whether to go on; after false no further launch is timed. May be unset.
using SeeTimes = std::function<bool(std::span<const Nanoseconds> times)>;
inline constexpr std::chrono::milliseconds kReportEvery{50};

// Used by one thread at a time. Device and stream must outlive it.
class Measurer {
 public:
  Measurer(Device& device, Stream& stream) : device_(device), stream_(stream) {}
  ~Measurer();
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;

  // Times launches until the stopping rule has enough, and waits for them.
  Result<Measurement> measure(const Execution& execution, const MeasuredLaunch& launch, const SeeTimes& see = {});
  // The same in two steps. begin() starts the first launches and returns how many of them are timed; it does not wait for them
  // (where StopWhen::time stops, it waits for the warm-up). Then call finish() for the measurement, or forget() when nobody wants
  // it. `counted` is the number of launches that the stream has timed already and whose times nobody has taken; they must be the
  // latest that it has timed, and count as the first of this measurement.
  Result<unsigned> begin(const Execution& execution, const MeasuredLaunch& launch, const SeeTimes& see, unsigned counted = 0);
  Result<Measurement> finish();
  void forget();
  // Whether the first launch of a loaded object from restored memory may be passed to begin() as `counted`. It may when it begins
  // as the later ones do, and when what a first launch takes longer (DeviceClock::first_launch) is less than a hundredth of the
  // time that was taken last.
  Result<bool> may_count_first(const Execution& execution);

  // leave() may stand in place of finish(): it leaves the times on the device, so that the next measurement can begin before they
  // are fetched. Fetching takes longer while something runs, so several measurements are fetched together.
  //
  // can_leave(): whether leave() may be called, which is so when all launches are started, so that none depends on the times. The
  // caller must also have waited until those launches have ended. take_left() fetches what was left and returns the measurements,
  // the oldest first. A finish() or forget() in between fetches them with its own. If a fetch fails, all measurements that were
  // left are lost, and take_left() returns that failure.
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
  DevicePtr other_memory_;   // twice as large as the cache; writing it empties the cache
};

}  // namespace mneme
