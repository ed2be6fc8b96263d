// ReachableMemory: which of the recorder's memory a launch can reach, found as a conservative garbage collector finds what is
// alive. Whatever could be an address counts as one: from the arguments and the variables to pieces of memory, and from the words
// in these to further ones, until there is nothing new.
//
// A place in a piece, or one behind its last byte, stands for that piece alone. Any other stands for the nearest piece on either
// side that is at most kReach away: kernels are given the address of an element before the first, such as a[-1] or the border of
// a grid, and of one behind the last. Pieces that touch are one, since a program that maps memory itself may use them as one.
//
// What no word says is not found: a pointer in two halves, one that is computed from that into another allocation, and an offset
// from an address in the code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/record/state_capture.h"

namespace mneme {

class Vendor;

class ReachableMemory {
 public:
  static constexpr Bytes kReach{64 << 10};

  // Of all memory in `all` but variables, none of which is reached yet.
  explicit ReachableMemory(const StateCapture::Memory& all);

  // Reaches what a launch's parameters may point to: an address may stand at any byte of them, as those in a tensor map or a
  // packed struct do, and may have a tag in the 16 bits that no address has.
  void reach_from_parameters(ByteSpan parameters);
  // Reaches what the contents of these variables point to, which the vendor reads; null: the stream does.
  Status reach_from(std::span<const CapturedGlobal> globals, Stream& stream, Vendor* vendor = nullptr);
  // Reaches what the contents of reached memory point to, and so on, until there is nothing new or everything is reached. Reads
  // what is reached, device memory on the device. The device must be idle.
  Status follow(Stream& stream);

  // The size of what is reached.
  Bytes size() const;
  // Drops what is not reached from these lists, which are those of the constructor.
  void keep_reached(StateCapture::Memory& memory) const;

 private:
  // A piece of memory: ranges of device or host memory that touch, or one alone.
  struct Piece {
    MemoryRange range;
    std::vector<MemoryRange> on_device, host;
    bool reached = false, followed = false;
  };
  // Addresses that stand for one piece, or for the two on either side.
  struct Target {
    size_t first, last;  // indices of pieces
  };

  void add_target(DevicePtr begin, DevicePtr end, size_t first, size_t last);
  void take_marks();
  bool reaches(const MemoryRange& memory) const;

  std::vector<Piece> pieces_;         // by address
  std::vector<MemoryRange> targets_;  // by address, not overlapping
  std::vector<Target> stands_for_;    // of each
  std::vector<uint8_t> marks_;        // of each: whether something points there
};

// The words of a range that lie whole in it.
MemoryRange words_of(const MemoryRange& memory);
// Marks the targets that words of the host's memory are addresses in, as mark_host_pointers() does. Memory that the program has
// unmapped meanwhile points nowhere; its capture will find that it is gone.
void mark_from_host(const MemoryRange& memory, std::span<const MemoryRange> targets, std::span<uint8_t> marks);

}  // namespace mneme
