// Annotations: what the program has said of its memory (mneme/abi/annotate.h), by address.
//
// Ranges never overlap: the later word counts, and what it leaves of an earlier range stays as whole elements of that range.
// Thread-safe.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "mneme/abi/annotate.h"
#include "mneme/base/range_map.h"
#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// What the tolerance of a program's annotation is; invalid_argument for an enumerator that is none and for what check() refuses.
Result<Tolerance> tolerance_of(const mneme_annotation& annotation);

// The elements that `count` (0: all) from `pointer` on are in the memory that holds them. invalid_argument when they reach
// beyond it, or when no element fits.
Result<MemoryRange> elements_in(const MemoryRange& memory, DevicePtr pointer, uint64_t count, const Tolerance& tolerance);

class Annotations {
 public:
  void set(Annotation annotation);
  // Forgets what was said of any byte of it.
  void forget(const MemoryRange& memory);
  void clear();
  bool empty() const;
  std::vector<Annotation> all() const;  // by address
  // What was said of the regions' memory, by address.
  std::vector<Annotation> within(const MemoryState& state) const;

  // Warns, once for each text.
  void refuse(const std::string& why);

 private:
  struct Said {
    std::string tag;
    Tolerance tolerance;
  };
  void cut(MemoryRange memory);  // under the lock

  mutable std::mutex mutex_;
  RangeMap<Said> ranges_;
  std::set<std::string> refused_;
};

}  // namespace mneme
