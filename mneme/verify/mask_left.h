// Which bytes of the memory that a run left still are the masked ones it started from: nobody wrote them.
#pragma once

#include <vector>

#include "mneme/memory/run_memory.h"

namespace mneme {

// A masked byte is the complement of what was recorded. One that a kernel wrote wrong can be that too, once in 256; so a byte
// counts only where at least this many masked bytes, one behind the other in the piece, are as they were before the run (all of
// the piece's where it has fewer). What is not masked between them does not part them.
inline constexpr size_t kSurelyLeft = 4;

class MaskLeft {
 public:
  explicit MaskLeft(const MemoryPiece& piece);

  // Whether all masked bytes of [begin, end) of the piece, at least one, were left. Such an element was not written.
  bool all_of(size_t begin, size_t end) const;

 private:
  enum class Byte : uint8_t { not_masked, left, written };
  std::vector<Byte> bytes_;  // empty: none is left
};

}  // namespace mneme
