// Which bytes of the memory that a run left still are the poison it started from: nobody wrote them.
#pragma once

#include <vector>

#include "mneme/replay/run_memory.h"

namespace mneme {

// A poisoned byte is the complement of what was recorded. One that a kernel wrote wrong can be that too, once in 256; so a byte
// counts only where at least this many poisoned bytes, one behind the other in the piece, hold their poison (all of the piece's
// where it has fewer). What is not poisoned between them does not part them.
inline constexpr size_t kSurelyPoison = 4;

class PoisonLeft {
 public:
  explicit PoisonLeft(const MemoryPiece& piece);

  // Whether all poisoned bytes of [begin, end) of the piece, at least one, were left. Such an element was not written.
  bool all_of(size_t begin, size_t end) const;

 private:
  enum class Byte : uint8_t { not_poisoned, left, written };
  std::vector<Byte> bytes_;  // empty: none is left
};

}  // namespace mneme
