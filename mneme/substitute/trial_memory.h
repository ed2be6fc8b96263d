// TrialMemory: copies of all memory that a launch can reach, and its arguments with pointers into these copies in the place of
// the program's. So code can be run without the program's memory: whatever it does, that stays.
//
// A launch reaches the allocations that its arguments lead to, the kernel's variables, and the memory of managed ones to which
// the code has pointers. Whether more can be reached, memory tells: a word in it that is an address of other memory is a doubt,
// and then nothing is copied.
#pragma once

#include <optional>
#include <vector>

#include "mneme/substitute/conditions.h"
#include "mneme/substitute/trial_device.h"

namespace mneme {

struct TrialCode {
  const TunedKernel& code;
  const std::vector<uint64_t>& sizes;  // of the parameters
  // Code of its own, whose table of variables is the trial's.
  CodeLoader::Loaded loaded;
  std::vector<MemoryRange> variables;            // the program's, in the order of the table
  std::vector<DevicePtr> managed_pointers = {};  // where those of them lie that are pointers to managed memory
};

class TrialMemory {
 public:
  // One piece of the program's memory and its copy.
  struct Piece {
    MemoryRange source;
    DevicePtr copy;
    DevicePtr block;   // which holds the copy, and is released
    DevicePtr before;  // a second copy, which stays as the first was; null: there is none
    DevicePtr result;  // a third, of what was left in the first once; likewise
  };

  TrialMemory(TrialDevice& device, void* stream) : device_(device), stream_(stream) {}
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;

  // Finds what the launch reaches, copies it, and looks through it. Returns why that cannot be done: unknown_memory, no_room.
  // Failures are the device's.
  Result<std::optional<KeptBy>> take(const TrialCode& code, const ProgramLaunch& launch);
  // Copies the program's memory once more, as the first time.
  Status refresh();
  // Whether there was room for keeping what was copied first, so that restore() can be called.
  bool keeps_what_was_before() const { return keeps_before_; }
  // Puts it back into the copies. The program's launch may have changed its memory meanwhile.
  Status restore();
  // Keeps what the copies hold now, for kept_of(). False: there is no room.
  Result<bool> keep_result();

  const std::vector<Piece>& pieces() const { return pieces_; }
  void* const* arguments() const { return pointers_.data(); }
  // The copy of an address of the program's. It lies in a piece.
  DevicePtr copy_of(DevicePtr address) const;
  // The same of what is kept.
  DevicePtr kept_of(DevicePtr address) const;

 private:
  Result<bool> find_pieces(const TrialCode& code);
  Result<bool> add_managed_memory();
  bool add_pointer(uint64_t word, bool can_be_changed);
  void merge_pieces();
  Result<bool> allocate_copies(uint64_t alignment);
  // Fills a member of each piece with memory of the piece's size; `left` bytes of memory may be taken.
  bool allocate_all(DevicePtr Piece::* member, uint64_t left);
  const Piece* piece_at(DevicePtr address) const;
  const Piece* piece_near(DevicePtr address) const;
  void point_arguments_to_copies();
  Status point_managed_variables_to_copies();
  Result<bool> leads_elsewhere() const;

  TrialDevice& device_;
  void* const stream_;
  std::vector<Piece> pieces_;  // by address, and none touches another
  bool keeps_before_ = false;
  std::vector<std::pair<DevicePtr, DevicePtr>> managed_;  // where a pointer to managed memory lies, and where it leads
  std::vector<ByteVector> values_;
  std::vector<void*> pointers_;  // to the values, as a launch has them
};

// Most bytes that are on the host at once of each side.
inline constexpr Bytes kTrialChunk = 16_MiB;

}  // namespace mneme
