#include "mneme/substitute/trial.h"

#include <algorithm>

namespace mneme {
namespace {

class Trial {
 public:
  Trial(const TrialCode& code, const TrialLaunch& launch, Timed timed, TrialDevice& device)
      : code_(code), launch_(launch), timed_(timed), device_(device), memory_(device, launch.launch.stream) {}

  Result<TrialOutcome> run() {
    MNEME_ASSIGN(outcome_.not_compared, memory_.take(code_, launch_.launch));
    if (outcome_.not_compared) return std::move(outcome_);
    if (!code_.variables.empty()) {
      std::vector<uint64_t> addresses;
      for (const MemoryRange& variable : code_.variables) addresses.push_back(memory_.copy_of(variable.address).address);
      MNEME_TRY(device_.write_addresses(code_.loaded, addresses));
    }
    MNEME_TRY(run_deployed());
    return run_original();
  }

  bool original_was_made() const { return original_was_made_; }

 private:
  Status launch_deployed() {
    MNEME_ASSIGN(void* const handle, device_.launch_handle(code_.loaded));
    return launch_.deployed(handle, memory_.arguments());
  }

  Status run_deployed() {
    if (timed_ == Timed::no) return launch_deployed();
    // Once before, so that nothing is loaded meanwhile; and each time right behind a copy of the memory, as the program's own.
    MNEME_TRY(launch_deployed());
    MNEME_TRY(memory_.refresh());
    MNEME_ASSIGN(outcome_.deployed, device_.time(launch_.launch.stream, [&] { return launch_deployed(); }));
    return {};
  }

  Result<TrialOutcome> run_original() {
    bool made = false;
    const auto launch = [&]() -> Status {
      original_was_made_ = true;
      made = launch_.original();
      return {};
    };
    if (timed_ == Timed::yes) {
      MNEME_TRY(warm_up());
      MNEME_ASSIGN(outcome_.original, device_.time(launch_.launch.stream, launch));
    } else {
      MNEME_TRY(launch());
    }
    if (!made) {
      outcome_.not_compared = KeptBy::failure;
      return std::move(outcome_);
    }
    TrialComparison comparison(code_, launch_.launch, memory_, device_);
    MNEME_ASSIGN(std::vector<PieceDifference> differing, comparison.run(Against::program));
    outcome_.difference = describe(differing);
    if (!outcome_.difference.empty()) MNEME_TRY(look_whether_it_counts(comparison, std::move(differing)));
    return std::move(outcome_);
  }

  // Pieces that the same code leaves otherwise when it is run again from the same memory tell nothing. The program's code leaves
  // copies where its launch has left its memory; with variables, which it does not reach through the arguments, the deployed code
  // is run against itself.
  Status look_whether_it_counts(TrialComparison& comparison, std::vector<PieceDifference> differing) {
    const bool of_deployed = !code_.variables.empty();
    bool there_is_room = memory_.keeps_what_was_before();
    if (there_is_room && of_deployed) {
      MNEME_ASSIGN(there_is_room, memory_.keep_result());
    }
    if (!there_is_room) {
      outcome_.difference += "; there was no room to see whether the same code leaves the same twice";
      return {};
    }
    for (unsigned run = 0; run < kRunsAgain; ++run) {
      MNEME_TRY(memory_.restore());
      MNEME_TRY(of_deployed ? launch_deployed() : launch_.own(memory_.arguments()));
      MNEME_ASSIGN(const auto unlike, comparison.run(of_deployed ? Against::kept : Against::program));
      for (size_t i = 0; i < differing.size(); ++i)
        if (unlike[i].any()) differing[i] = {};
      const std::string left = describe(differing);
      if (left.empty()) {
        outcome_.not_compared = KeptBy::not_deterministic;
        return {};
      }
      outcome_.difference = left;
    }
    return {};
  }

  // Reads the program's memory, as the copy before the deployed code has, so that both find the device's cache alike.
  Status warm_up() {
    uint64_t largest = 0;
    for (const TrialMemory::Piece& piece : memory_.pieces()) largest = std::max(largest, piece.source.size.count);
    const Bytes size(std::min(largest, kTrialChunk.count));
    const auto scratch = size == Bytes() ? Result<DevicePtr>(DevicePtr()) : device_.allocate(size);
    if (!scratch.ok() || size == Bytes()) return {};
    Status done;
    for (const TrialMemory::Piece& piece : memory_.pieces())
      for (uint64_t at = 0; done.ok() && at < piece.source.size.count; at += size.count)
        done = device_.copy(*scratch, piece.source.address + Bytes(at), Bytes(std::min(size.count, piece.source.size.count - at)),
                            launch_.launch.stream);
    device_.release(*scratch);
    return done;
  }

  const TrialCode& code_;
  const TrialLaunch& launch_;
  const Timed timed_;
  TrialDevice& device_;
  TrialMemory memory_;
  TrialOutcome outcome_;
  bool original_was_made_ = false;
};

}  // namespace

Result<TrialOutcome> run_trial(const TrialCode& code, const TrialLaunch& launch, Timed timed, TrialDevice& device) {
  Trial trial(code, launch, timed, device);
  auto outcome = trial.run();
  if (!trial.original_was_made()) (void)launch.original();
  return outcome;
}

}  // namespace mneme
