// TrialMemory: copies of all memory that a launch can reach, and its arguments with pointers into these copies in the place of
// the program's. So code can be run without the program's memory: whatever it does, that stays.
//
// A launch reaches the allocations that its arguments lead to, and the kernel's variables. Whether more can be reached, memory
// tells: a word in it that is an address of other memory is a doubt, and then nothing is copied.
#pragma once

#include <optional>
#include <vector>

#include "mneme/substitute/conditions.h"
#include "mneme/substitute/trial_device.h"

namespace mneme {

class TrialMemory {
 public:
  // One piece of the program's memory and its copy.
  struct Piece {
    MemoryRange source;
    DevicePtr copy;
    DevicePtr block;  // which holds the copy, and is released
  };

  TrialMemory(TrialDevice& device, void* stream) : device_(device), stream_(stream) {}
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;

  // Finds what the launch reaches, copies it, and looks through it. `sizes` are of the parameters, `variables` the kernel's.
  // Returns why that cannot be done: unknown_memory, no_room. Failures are the device's.
  Result<std::optional<KeptBy>> take(const TunedKernel& code, const ProgramLaunch& launch, const std::vector<uint64_t>& sizes,
                                     const std::vector<MemoryRange>& variables);
  // Copies the program's memory once more, as the first time.
  Status refresh();

  const std::vector<Piece>& pieces() const { return pieces_; }
  void* const* arguments() const { return pointers_.data(); }
  // The copy of an address of the program's. It lies in a piece.
  DevicePtr copy_of(DevicePtr address) const;

 private:
  bool find_pieces(const std::vector<MemoryRange>& variables);
  bool add_pointer(uint64_t word, bool can_be_changed);
  void merge_pieces();
  Result<bool> allocate_copies(uint64_t alignment);
  const Piece* piece_at(DevicePtr address) const;
  const Piece* piece_near(DevicePtr address) const;
  void point_arguments_to_copies();
  Result<bool> leads_elsewhere() const;

  TrialDevice& device_;
  void* const stream_;
  std::vector<Piece> pieces_;  // by address, and none touches another
  std::vector<ByteVector> values_;
  std::vector<void*> pointers_;  // to the values, as a launch has them
};

// Most bytes that are on the host at once of each side.
inline constexpr Bytes kTrialChunk = 16_MiB;

}  // namespace mneme
