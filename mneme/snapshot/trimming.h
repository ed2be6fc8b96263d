// Trimming: what was dropped of the memory that a launch was recorded with, since its kernel does not touch it.
//
// A trimmed instance is an instance like any other: its regions stay where they were, and a page that was dropped has kDropped in
// every byte, before the launch and after it. All such pages of one size are one content, which is stored once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

class JsonCursor;

// The value of every byte of a page that was dropped. It is not zero, so that code which wrongly clears such memory is found out.
inline constexpr std::byte kDropped{0xa7};

// The digests of dropped pages, by their size: each is made once.
class DroppedPages {
 public:
  const Digest& digest(Bytes size);

 private:
  std::map<uint64_t, Digest> digests_;  // by size in bytes
};

struct Trimming {
  // The dynamic hashes of the launches as they were recorded. They are several where launches differ in nothing but memory that
  // they do not touch.
  std::vector<Digest> of;
  uint64_t pages = 0;  // that were dropped
  Bytes bytes;         // of memory in them
  friend bool operator==(const Trimming&, const Trimming&) = default;
};

nlohmann::json to_json(const Trimming& trimming);
// corrupt, with the key: a wrong type, or no hash.
Status read_trimming(const JsonCursor& at, Trimming& out);

}  // namespace mneme
