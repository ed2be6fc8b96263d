// Selection: which launches the options of `mneme record` let through to be recorded.
//
// A launch passes, in this order: its kernel's name (--kernels, --exclude, --slowest), --window, --skip, --every, the memory that
// it is recorded with (--max-launch-bytes), --distinct, --max. Each step counts only the launches that those before it have left.
// Thread-safe. Most launches of a program are left out by a step up to --every, or because --max launches were counted before:
// this takes no lock.
#pragma once

#include <atomic>
#include <optional>
#include <set>

#include "mneme/record/kernel_counts.h"
#include "mneme/snapshot/launch_window.h"
#include "mneme/snapshot/name_expression.h"
#include "mneme/snapshot/recording_options.h"
#include "mneme/snapshot/recording_report.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

class Selection {
 public:
  using Claim = DistinctLaunches::Claim;

  explicit Selection(const RecordingOptions& options);
  // invalid_argument: an option does not parse. Then nothing is to be recorded.
  const Status& status() const { return status_; }

  // Why no launch of the kernel is recorded, by its name. Nothing: launches of it may be.
  std::optional<NotRecorded> leaves_out(const KernelRecord& kernel) const;

  // To be called once for each launch of the process, of whatever kernel: where the launch lies for --window.
  uint64_t next_position();

  // The same for launches of which no position matters, since they are left out wherever they lie.
  void pass_positions(uint64_t launches);

  // Counts a launch of a kernel, and says why the window or a number leaves it out.
  std::optional<NotRecorded> leaves_out(KernelCounts& counts, uint64_t position) const;
  // Counts a launch that is to be recorded. False: --max launches of the kernel have been counted already.
  bool begin_attempt(KernelCounts& counts) {
    const uint64_t before = counts.attempts.fetch_add(1);
    if (before + 1 == options_.max) change();
    if (before < options_.max) return true;
    take_back_attempt(counts);
    return false;
  }
  // Counts that launch no more, since it was found to be none to record.
  void take_back_attempt(KernelCounts& counts) {
    if (counts.attempts.fetch_sub(1) == options_.max) change();
  }

  // Whether a launch that is passed through for this reason, at this position, will be for the same one whenever it is made
  // again. Nothing but change() ends that.
  bool lasts(NotRecorded reason, uint64_t position) const;
  // Whether that goes for every launch of the kernel, wherever it lies and whatever else is to be said of it.
  bool lasts_for_kernel(NotRecorded reason) const;
  // To be called when what was decided on a kernel's launches may be decided otherwise from now on, and how often it was.
  void change() { ++changes_; }
  uint64_t changes() const { return changes_; }

  std::optional<NotRecorded> leaves_out(Bytes memory) const;

  // The claim to be the one launch of its shape or arguments that is recorded; the empty one where any launch may be. Nothing: it
  // is left out for the reason same(), since another has the claim.
  std::optional<Claim> claim_launch(KernelCounts& counts, const ProgramShape& shape, ByteSpan parameters) const;
  // Likewise of its data, once memory was read. False: another has the claim, and this launch counts no more for --max.
  bool claim_data(KernelCounts& counts, const Digest& dynamic_hash, Claim& claim);
  NotRecorded same() const;

 private:
  const RecordingOptions& options_;
  Status status_;
  std::optional<NameExpression> kernels_, exclude_;
  std::set<Digest> slowest_;
  std::optional<LaunchWindow> window_;
  std::atomic<uint64_t> launches_ = 0;
  std::atomic<uint64_t> changes_ = 0;
  std::atomic<int64_t> first_launch_ = 0;  // nanoseconds of the steady clock; 0: there was none yet
};

}  // namespace mneme
