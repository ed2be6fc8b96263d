// Trimming: drops the pages of a recorded launch that it does not touch. Which these are is found by a run of code that notes its
// accesses, and proven by a replay without them, before anything of the database is changed that an instance needs.
#pragma once

#include <functional>
#include <string>

#include "mneme/device/device.h"
#include "mneme/memory/page_upload.h"
#include "mneme/store/cleaning.h"
#include "mneme/store/database.h"

namespace mneme {

// What trimming one instance has come to.
struct Trimmed {
  Digest before, after;           // its dynamic hash; the same where there was nothing to drop
  uint64_t pages = 0;             // that were dropped now
  uint64_t all_pages = 0;         // that the memory before the launch has
  Bytes bytes;                    // of memory in the dropped pages
  Bytes stored, stored_now;       // the stored size of its pages; those that other instances share included
  std::vector<std::string> left;  // files that were not removed, and why
};

// Trims one instance. Deed::tell finds the pages, and changes nothing. The database must have been opened by Database::create()
// for Deed::remove. Failures: those of Session::prepare() and Session::find_touched_pages(); unsupported: the launch is not
// verified, as it is or without those pages; those of publishing and removing. Whenever it fails, the instance or the trimmed one
// is whole.
Result<Trimmed> trim(Database& database, const Digest& static_hash, const Digest& dynamic_hash, Device& device, Deed deed,
                     const PrepareProgress& progress = {});

}  // namespace mneme
