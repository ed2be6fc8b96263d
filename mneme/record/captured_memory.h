// CapturedMemory: what one capture has found, as changes to what the captures before it had found.
//
//   CapturedMemory found;
//   states.capture(stream, memory, publication, found);   // the program goes on; threads fill in the digests
//   publication.wait();
//   MemoryState state = history.add(found);               // in the order of the captures
//
// So a launch that waits to be stored holds what has changed, and not all that there was.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/snapshot/snapshot.h"

namespace mneme {

struct CapturedMemory {
  struct Region {
    mneme::Region::Kind kind;
    MemoryRange range;
    std::string name;  // of a global, in the IR
    // The pages that are not as the capture before had them, by index, and their digests. Of a region that no capture had, and of
    // a global, these are all pages.
    std::vector<uint64_t> pages{};
    std::vector<Digest> digests{};
  };
  std::vector<Region> regions;   // in any order, with each name of a global
  std::vector<DevicePtr> freed;  // regions of captures before that are not there any more

  // The regions by address, each once, without digests.
  MemoryState outline() const;
  Bytes size_in_memory() const;
};

// The digests of all regions that captures have found. Used by one thread at a time.
class CaptureHistory {
 public:
  // Adds a capture, whose digests are filled in, and gives what there was. Captures are added in their order. One that was given
  // up may be left out if the next one finds all pages changed.
  MemoryState add(const CapturedMemory& captured);

 private:
  std::unordered_map<uint64_t, std::vector<Digest>> pages_;  // by address
};

}  // namespace mneme
