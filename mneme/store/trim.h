// Trimming an instance: its pages that the launch does not touch are dropped (mneme/snapshot/trimming.h). Which these are, and
// whether the launch is right without them, `replay` finds out (mneme/replay/trim.h); here is what becomes of the files.
//
//   const RecordedInstance trimmed = without_pages(recorded, kernel.level, untouched);
//   store_dropped(database, trimmed);                      // now its memory can be read
//   …                                                      // a replay proves it
//   replace_by_trimmed(database, kernel, hash, trimmed);
//
// Stopped at any moment, the database has the old instance or the new one, or both, and each is whole.
#pragma once

#include <vector>

#include "mneme/store/database.h"

namespace mneme {

// A page of both states: page `page` of region `region`.
struct PagePlace {
  size_t region = 0;
  uint64_t page = 0;
  friend bool operator==(const PagePlace&, const PagePlace&) = default;
};

// The instance without these pages, under the dynamic hash that follows from its new prologue. Its `trimmed` has what was
// dropped, with what was dropped before. Pages that have the content of dropped ones already do not count; where there are no
// others, the result is `recorded`.
RecordedInstance without_pages(const RecordedInstance& recorded, CodeLevel level, const std::vector<PagePlace>& pages);

// Stores the contents of dropped pages that `trimmed` has, and nothing else. The database must have been opened by
// Database::create().
Status store_dropped(Database& database, const RecordedInstance& trimmed);

// Publishes `trimmed`, and then removes the instance `old` and what no instance needs any more. Where an instance of its hash is
// there already, which was made of a launch that differs in dropped memory alone, that one stands for both. Failures before it is
// published leave the old instance, later ones both.
Result<Cleaned> replace_by_trimmed(Database& database, const Digest& static_hash, const Digest& old,
                                   const RecordedInstance& trimmed);

}  // namespace mneme
