// Annotations: what the program has said of its memory (mneme/abi/annotate.h), by address.
//
// Ranges never overlap: where two annotations meet, the later one counts. The whole elements of the earlier range that lie
// outside of the later one stay annotated as they were. Thread-safe.
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

// The tolerance that an annotation of the program asks for. invalid_argument: a number that is no enumerator, or a tolerance that
// check() (snapshot/tolerance.h) refuses.
Result<Tolerance> tolerance_of(const mneme_annotation& annotation);

// The range of the `count` elements from `pointer` on, in `memory`, which holds `pointer`. A count of 0 means all that fit.
// invalid_argument: the elements reach beyond the memory, or none fits.
Result<MemoryRange> elements_in(const MemoryRange& memory, DevicePtr pointer, uint64_t count, const Tolerance& tolerance);

class Annotations {
 public:
  void set(Annotation annotation);
  // Forgets the annotations of the elements that lie in `memory`, at least in part. Other elements of the same annotations stay.
  void forget(const MemoryRange& memory);
  void clear();
  bool empty() const;
  std::vector<Annotation> all() const;  // by address
  // The annotations whose range lies in one region of the state, by address.
  std::vector<Annotation> within(const MemoryState& state) const;

  // Warns that an annotation is ignored, once for each reason.
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
