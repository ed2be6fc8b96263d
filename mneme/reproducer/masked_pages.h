// MaskedPages: pages that hold wrong bytes before a launch where the kernel writes and does not read
// (mneme/memory/output_mask.h), so that what is made of the launch finds code out that writes nothing.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/session.h"
#include "mneme/store/database.h"

namespace mneme {

class MaskedPages {
 public:
  MaskedPages() = default;  // there are none
  // What the session's runs begin with, after it has looked for a mask (Session::prepare_mask(), or a replay). None: it has found
  // nothing to mask.
  static Result<MaskedPages> of(Session& session, const Database& database);

  // The same where it is asked for and can be found: looks for the mask. `why_not` gets the reason where nothing is masked.
  // device_fault: code that looks for it has faulted.
  static Result<MaskedPages> find(Session& session, const Database& database, bool asked, std::string& why_not);

  // Puts the pages into the memory before the launch, which may have been trimmed.
  void put_into(RecordedInstance& recorded) const;
  // How many bytes hold wrong values.
  Bytes bytes() const { return bytes_; }

  // Whether a page is one of these, and not in the database. Its content is made of a page that is there.
  bool has(const Digest& digest) const { return contents_.contains(digest); }
  Result<ByteVector> read(const Database& database, const Digest& digest, Bytes size) const;

 private:
  struct Page {
    DevicePtr region;  // its address
    size_t index = 0;
    Digest recorded, masked;
  };
  // Most pages are masked as a whole, and need no memory.
  struct Content {
    Digest complement_of;
    ByteVector bytes;  // empty: the complement of that page
  };

  std::vector<Page> pages_;
  std::map<Digest, Content> contents_;
  Bytes bytes_;
};

// Reads pages that are in the database or masked.
Status read_pages(const Database& database, const MaskedPages& masked, std::span<const PageRequest> requests);

}  // namespace mneme
