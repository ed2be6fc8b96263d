#include "mneme/substitute/trial.h"

#include <algorithm>
#include <cstring>

#include "mneme/device/element_comparison.h"

namespace mneme {
namespace {

// What may differ by a tolerance, in the program's memory.
struct Tolerated {
  MemoryRange range;  // whole elements
  Tolerance tolerance;
};

// Compares what the deployed code has left in the copies with what the program's own has left in its memory.
class TrialComparison {
 public:
  TrialComparison(const TrialCode& code, const ProgramLaunch& launch, const TrialMemory& memory, TrialDevice& device)
      : memory_(memory), stream_(launch.stream), device_(device) {
    for (const TunedTolerance& one : code.code.tolerances) add(one, code, launch);
    std::sort(tolerated_.begin(), tolerated_.end(),
              [](const Tolerated& a, const Tolerated& b) { return a.range.address < b.range.address; });
  }

  // What differs, for people; empty: nothing.
  Result<std::string> run() {
    for (const TrialMemory::Piece& piece : memory_.pieces()) {
      DevicePtr from = piece.source.address;
      for (const Tolerated& one : tolerated_) {
        if (!piece.source.contains(one.range.address) || one.range.address < from) continue;
        MNEME_TRY(compare_bytes(from, one.range.address));
        MNEME_TRY(compare_elements(one));
        from = one.range.end();
      }
      MNEME_TRY(compare_bytes(from, piece.source.end()));
    }
    if (differing_ != 0)
      return fmt::format("{} bytes are not as the program's own code leaves them, the first at {}", differing_, first_);
    return beyond_;
  }

 private:
  void add(const TunedTolerance& one, const TrialCode& code, const ProgramLaunch& launch) {
    const auto& [parameter, offset] = one.pointer;
    if (parameter >= code.sizes.size() || offset > code.sizes[parameter] || code.sizes[parameter] - offset < sizeof(uint64_t))
      return;
    uint64_t pointer = 0;
    std::memcpy(&pointer, static_cast<const std::byte*>(launch.arguments[parameter]) + offset, sizeof pointer);
    const DevicePtr begin(pointer + one.offset);
    for (const TrialMemory::Piece& piece : memory_.pieces()) {
      if (!piece.source.contains(DevicePtr(pointer)) || !piece.source.contains(begin)) continue;
      const uint64_t left = (piece.source.end() - begin).count, element = size_of(one.tolerance.type).count;
      const uint64_t bytes = std::min(one.bytes == 0 ? left : one.bytes, left) / element * element;
      if (bytes != 0) tolerated_.push_back({{begin, Bytes(bytes)}, one.tolerance});
    }
  }

  // Calls `see` with both sides of each chunk.
  template <typename See>
  Status each_chunk(DevicePtr begin, DevicePtr end, See see) {
    for (DevicePtr at = begin; at < end; at = at + Bytes(deployed_.size())) {
      const size_t size = std::min((end - at).count, kTrialChunk.count);
      deployed_.resize(size);
      original_.resize(size);
      MNEME_TRY(device_.read(deployed_.data(), memory_.copy_of(at), Bytes(size), stream_));
      MNEME_TRY(device_.read(original_.data(), at, Bytes(size), stream_));
      see(at);
    }
    return {};
  }

  Status compare_bytes(DevicePtr begin, DevicePtr end) {
    return each_chunk(begin, end, [&](DevicePtr at) {
      if (std::memcmp(deployed_.data(), original_.data(), original_.size()) == 0) return;
      for (size_t i = 0; i < original_.size(); ++i) {
        if (deployed_[i] == original_[i]) continue;
        if (const size_t word = i - (at.address + i) % sizeof(uint64_t); is_pointer_to_the_copy(word)) {
          i = word + sizeof(uint64_t) - 1;
          continue;
        }
        if (differing_++ == 0) first_ = at + Bytes(i);
      }
    });
  }

  // Whether there is an address in both, and the one is of the copy of what the other is of.
  bool is_pointer_to_the_copy(size_t at) const {
    if (at > original_.size() || original_.size() - at < sizeof(uint64_t)) return false;
    uint64_t deployed = 0, original = 0;
    std::memcpy(&deployed, &deployed_[at], sizeof deployed);
    std::memcpy(&original, &original_[at], sizeof original);
    return deployed != original && memory_.copy_of(DevicePtr(original)) == DevicePtr(deployed);
  }

  Status compare_elements(const Tolerated& one) {
    const Tolerance& tolerance = one.tolerance;
    const ElementComparison how{tolerance.type, tolerance.threshold, tolerance.error, tolerance.norm, tolerance.nan};
    element::Measure measure = measure_of(how);
    const uint64_t size = size_of(how.type).count;
    for (;;) {
      element::Tally tally;
      MNEME_TRY(each_chunk(one.range.address, one.range.end(), [&](DevicePtr at) {
        const uint64_t index = (at - one.range.address).count / size;
        element::merge(tally, tally_host_elements(how.type, deployed_, original_, index, measure), measure.sum);
      }));
      if (const auto again = rescaled(measure, tally); again && !is_rescaled(measure)) {
        measure = *again;
        continue;
      }
      const ElementDifferences found = judge(how, measure, tally, one.range.size.count / size);
      if (!found.within && beyond_.empty())
        beyond_ = fmt::format(
            "{} elements from {} on are not within the tolerance '{}' of what the program's own code leaves (worst error {})",
            found.failing != 0 ? found.failing : found.elements, one.range.address, format_tolerance(tolerance), found.worst);
      return {};
    }
  }
  static bool is_rescaled(const element::Measure& measure) {
    return measure.difference_scale != 1 || measure.magnitude_scale != 1;
  }

  const TrialMemory& memory_;
  void* const stream_;
  TrialDevice& device_;
  std::vector<Tolerated> tolerated_;
  ByteVector deployed_, original_;
  uint64_t differing_ = 0;
  DevicePtr first_;
  std::string beyond_;
};

class Trial {
 public:
  Trial(const TrialCode& code, const TrialLaunch& launch, Timed timed, TrialDevice& device)
      : code_(code), launch_(launch), timed_(timed), device_(device), memory_(device, launch.launch.stream) {}

  Result<TrialOutcome> run() {
    MNEME_ASSIGN(outcome_.not_compared, memory_.take(code_.code, launch_.launch, code_.sizes, code_.variables));
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
  Status run_deployed() {
    MNEME_ASSIGN(void* const handle, device_.launch_handle(code_.loaded));
    const auto launch = [&] { return launch_.deployed(handle, memory_.arguments()); };
    if (timed_ == Timed::no) return launch();
    // Once before, so that nothing is loaded meanwhile; and each time right behind a copy of the memory, as the program's own.
    MNEME_TRY(launch());
    MNEME_TRY(memory_.refresh());
    MNEME_ASSIGN(outcome_.deployed, device_.time(launch_.launch.stream, launch));
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
    MNEME_ASSIGN(outcome_.difference, TrialComparison(code_, launch_.launch, memory_, device_).run());
    return std::move(outcome_);
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
