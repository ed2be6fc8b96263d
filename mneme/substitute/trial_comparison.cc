#include "mneme/substitute/trial_comparison.h"

#include <algorithm>
#include <cstring>

#include "mneme/device/element_comparison.h"

namespace mneme {
namespace {

bool is_rescaled(const element::Measure& measure) { return measure.difference_scale != 1 || measure.magnitude_scale != 1; }

std::optional<MemoryRange> variable_of(uint32_t index, const TrialCode& code) {
  return index < code.variables.size() ? std::optional(code.variables[index]) : std::nullopt;
}

}  // namespace

std::string describe(const std::vector<PieceDifference>& pieces) {
  uint64_t bytes = 0;
  DevicePtr first;
  std::string beyond;
  for (const PieceDifference& piece : pieces) {
    if (piece.bytes != 0 && bytes == 0) first = piece.first;
    bytes += piece.bytes;
    if (beyond.empty()) beyond = piece.beyond;
  }
  return bytes != 0 ? fmt::format("{} bytes are not as the program's own code leaves them, the first at {}", bytes, first)
                    : beyond;
}

TrialComparison::TrialComparison(const TrialCode& code, const ProgramLaunch& launch, const TrialMemory& memory,
                                 TrialDevice& device)
    : memory_(memory), stream_(launch.stream), device_(device) {
  for (const TunedTolerance& one : code.code.tolerances) add(one, code, launch);
  std::sort(tolerated_.begin(), tolerated_.end(),
            [](const Tolerated& a, const Tolerated& b) { return a.range.address < b.range.address; });
}

Result<std::vector<PieceDifference>> TrialComparison::run(Against against) {
  against_ = against;
  std::vector<PieceDifference> all;
  for (const TrialMemory::Piece& piece : memory_.pieces()) {
    found_ = {};
    DevicePtr from = piece.source.address;
    for (const Tolerated& one : tolerated_) {
      if (!piece.source.contains(one.range.address) || one.range.address < from) continue;
      MNEME_TRY(compare_bytes(from, one.range.address));
      MNEME_TRY(compare_elements(one));
      from = one.range.end();
    }
    MNEME_TRY(compare_bytes(from, piece.source.end()));
    all.push_back(std::move(found_));
  }
  return all;
}

void TrialComparison::add(const TunedTolerance& one, const TrialCode& code, const ProgramLaunch& launch) {
  const auto whole = one.variable ? variable_of(*one.variable, code) : memory_behind(one.pointer, code, launch);
  if (!whole || one.offset >= whole->size.count) return;
  const uint64_t left = whole->size.count - one.offset, element = size_of(one.tolerance.type).count;
  const uint64_t bytes = std::min(one.bytes == 0 ? left : one.bytes, left) / element * element;
  if (bytes != 0) tolerated_.push_back({{whole->address + Bytes(one.offset), Bytes(bytes)}, one.tolerance});
}

// From where the pointer leads, to the end of the variable or the allocation.
std::optional<MemoryRange> TrialComparison::memory_behind(const ArgumentPlace& place, const TrialCode& code,
                                                          const ProgramLaunch& launch) {
  const auto& [parameter, offset] = place;
  if (parameter >= code.sizes.size() || offset > code.sizes[parameter] || code.sizes[parameter] - offset < sizeof(uint64_t))
    return std::nullopt;
  uint64_t word = 0;
  std::memcpy(&word, static_cast<const std::byte*>(launch.arguments[parameter]) + offset, sizeof word);
  const DevicePtr pointer(word);
  const auto& pieces = memory_.pieces();
  if (std::none_of(pieces.begin(), pieces.end(), [&](const auto& piece) { return piece.source.contains(pointer); }))
    return std::nullopt;
  const auto variable = std::find_if(code.variables.begin(), code.variables.end(),
                                     [&](const MemoryRange& range) { return range.contains(pointer); });
  const auto own = variable != code.variables.end() ? std::optional(*variable) : device_.allocation_of(pointer);
  if (!own || !own->contains(pointer)) return std::nullopt;
  return MemoryRange{pointer, own->end() - pointer};
}

// Calls `see` with both sides of each chunk.
template <typename See>
Status TrialComparison::each_chunk(DevicePtr begin, DevicePtr end, See see) {
  for (DevicePtr at = begin; at < end; at = at + Bytes(copied_.size())) {
    const size_t size = std::min((end - at).count, kTrialChunk.count);
    copied_.resize(size);
    expected_.resize(size);
    MNEME_TRY(device_.read(copied_.data(), memory_.copy_of(at), Bytes(size), stream_));
    MNEME_TRY(device_.read(expected_.data(), against_ == Against::kept ? memory_.kept_of(at) : at, Bytes(size), stream_));
    see(at);
  }
  return {};
}

Status TrialComparison::compare_bytes(DevicePtr begin, DevicePtr end) {
  return each_chunk(begin, end, [&](DevicePtr at) {
    if (std::memcmp(copied_.data(), expected_.data(), expected_.size()) == 0) return;
    for (size_t i = 0; i < expected_.size(); ++i) {
      if (copied_[i] == expected_[i]) continue;
      if (const size_t word = i - (at.address + i) % sizeof(uint64_t); is_pointer_to_the_copy(word)) {
        i = word + sizeof(uint64_t) - 1;
        continue;
      }
      if (found_.bytes++ == 0) found_.first = at + Bytes(i);
    }
  });
}

// Whether there is an address in both, and the one is of the copy of what the other is of.
bool TrialComparison::is_pointer_to_the_copy(size_t at) const {
  if (at > expected_.size() || expected_.size() - at < sizeof(uint64_t)) return false;
  uint64_t copied = 0, expected = 0;
  std::memcpy(&copied, &copied_[at], sizeof copied);
  std::memcpy(&expected, &expected_[at], sizeof expected);
  return copied != expected && memory_.copy_of(DevicePtr(expected)) == DevicePtr(copied);
}

Status TrialComparison::compare_elements(const Tolerated& one) {
  const Tolerance& tolerance = one.tolerance;
  const ElementComparison how{tolerance.type, tolerance.threshold, tolerance.error, tolerance.norm, tolerance.nan};
  element::Measure measure = measure_of(how);
  const uint64_t size = size_of(how.type).count;
  for (;;) {
    element::Tally tally;
    MNEME_TRY(each_chunk(one.range.address, one.range.end(), [&](DevicePtr at) {
      const uint64_t index = (at - one.range.address).count / size;
      element::merge(tally, tally_host_elements(how.type, copied_, expected_, index, measure), measure.sum);
    }));
    if (const auto again = rescaled(measure, tally); again && !is_rescaled(measure)) {
      measure = *again;
      continue;
    }
    const ElementDifferences found = judge(how, measure, tally, one.range.size.count / size);
    if (!found.within && found_.beyond.empty())
      found_.beyond = fmt::format(
          "{} elements from {} on are not within the tolerance '{}' of what the program's own code leaves (worst error {})",
          found.failing != 0 ? found.failing : found.elements, one.range.address, format_tolerance(tolerance), found.worst);
    return {};
  }
}

}  // namespace mneme
