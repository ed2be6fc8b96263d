// TrialComparison: what code has left in the copies of a trial's memory, beside what other code has left: to the byte, and by
// tolerances where the deployed code has some.
#pragma once

#include <string>
#include <vector>

#include "mneme/substitute/trial_memory.h"

namespace mneme {

// What differs in one piece of the memory.
struct PieceDifference {
  uint64_t bytes = 0;  // that have no tolerance
  DevicePtr first;     // of these, in the program's memory
  std::string beyond;  // what is not within a tolerance, for people; empty: nothing
  bool any() const { return bytes != 0 || !beyond.empty(); }
};

// Of all pieces, for people; empty: nothing differs.
std::string describe(const std::vector<PieceDifference>& pieces);

// What the copies are compared with.
enum class Against {
  program,  // the program's memory
  kept,     // what TrialMemory::keep_result() has kept
};

class TrialComparison {
 public:
  // All are to live as long as this.
  TrialComparison(const TrialCode& code, const ProgramLaunch& launch, const TrialMemory& memory, TrialDevice& device);

  // For each piece of the memory what differs. Failures are the device's.
  Result<std::vector<PieceDifference>> run(Against against);

 private:
  // What may differ by a tolerance, in the program's memory.
  struct Tolerated {
    MemoryRange range;  // whole elements
    Tolerance tolerance;
  };

  void add(const TunedTolerance& one, const TrialCode& code, const ProgramLaunch& launch);
  std::optional<MemoryRange> memory_behind(const ArgumentPlace& place, const TrialCode& code, const ProgramLaunch& launch);
  template <typename See>
  Status each_chunk(DevicePtr begin, DevicePtr end, See see);
  Status compare_bytes(DevicePtr begin, DevicePtr end);
  Status compare_elements(const Tolerated& one);
  bool is_pointer_to_the_copy(size_t at) const;

  const TrialMemory& memory_;
  void* const stream_;
  TrialDevice& device_;
  std::vector<Tolerated> tolerated_;
  Against against_ = Against::program;
  ByteVector copied_, expected_;  // a chunk of both sides
  PieceDifference found_;         // of the piece that is looked at
};

}  // namespace mneme
