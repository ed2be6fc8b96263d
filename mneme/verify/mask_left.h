// MaskLeft: which elements a run has not written, told from the masked bytes (memory/output_mask.h) that they still hold.
#pragma once

#include <vector>

#include "mneme/memory/run_memory.h"

namespace mneme {

// How many masked bytes in a row must still be as they were before the run, so that they count as left. (All masked bytes of a
// piece, where it has fewer.) One alone says little: a masked byte is the complement of the recorded one, and a byte that a
// kernel writes wrong is that, too, once in 256. Bytes between them that are not masked do not interrupt a row.
inline constexpr size_t kSurelyLeft = 4;

class MaskLeft {
 public:
  // Looks through a piece of the memory that a run left. Keeps nothing of it.
  explicit MaskLeft(const MemoryPiece& piece);

  // Whether the bytes [begin, end) of the piece have masked ones, all of which were left: the element there was not written.
  bool all_of(size_t begin, size_t end) const;

 private:
  enum class Byte : uint8_t { not_masked, left, written };
  std::vector<Byte> bytes_;  // empty: the run did not start from masked memory
};

}  // namespace mneme
