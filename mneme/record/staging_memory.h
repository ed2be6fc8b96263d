// How the memory that `mneme record --staging` allows is used.
#pragma once

#include <optional>

#include "mneme/base/types.h"

namespace mneme {

struct StagingMemory {
  Bytes ring_piece;  // of a device's PinnedRing
  Bytes pages;       // in which pages wait to be stored
  Bytes queue;       // of what waits to be stored with them; 0: the program waits until each launch is stored

  // Of what the option says; without it, of 4 GiB, or of a quarter of the machine's memory where that is less.
  static StagingMemory of(std::optional<Bytes> option);
};

}  // namespace mneme
