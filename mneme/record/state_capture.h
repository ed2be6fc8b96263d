// StateCapture: reads the memory that has changed since the last capture, and hands it to a publication.
//
// The device hashes every page. Only pages whose hash differs from that of the last capture are gathered into a PinnedRing, where
// threads digest them, and of those that are all zero the digest is known. What is remembered of a page depends on its content
// alone, so memory that was freed and allocated again at the same place is captured rightly. Used by the capturing thread only.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/address_space.h"
#include "mneme/device/device.h"
#include "mneme/record/captured_memory.h"
#include "mneme/record/pinned_ring.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/publication.h"
#include "mneme/store/writer_threads.h"

namespace mneme {

class Vendor;

struct CapturedGlobal {
  std::string name;  // in the IR
  DevicePtr address;
  Bytes size;
};

class StateCapture {
 public:
  // `device` must outlive this, and every publication that capture() was given, of which `writers` are the threads. The ring has
  // pieces of this size.
  StateCapture(Device& device, Bytes ring_piece, std::shared_ptr<WriterThreads> writers)
      : device_(device), ring_(device, ring_piece), writers_(std::move(writers)) {}

  struct Memory {
    std::vector<MemoryRange> allocations;  // this list and the next ones are sorted by address
    std::vector<MemoryRange> mapped, managed;
    std::vector<MemoryRange> arrays;  // their copies
    std::vector<MemoryRange> host;
    std::vector<CapturedGlobal> globals;
    Vendor* vendor = nullptr;  // reads the globals; null: the stream's device does
    // All lists but those of variables, and those of them that are read on the device.
    std::array<const std::vector<MemoryRange>*, 5> lists() const { return {&allocations, &mapped, &managed, &arrays, &host}; }
    std::array<const std::vector<MemoryRange>*, 4> device_lists() const { return {&allocations, &mapped, &managed, &arrays}; }
    Bytes size() const;  // without the globals
  };
  // Puts the changed pages of all but globals, and all pages of the globals, into the publication. `found` has their digests once
  // the publication's wait() is ok, and stays where it is until then or until the publication is gone. After a failure, and when
  // the publication is given up although the database does not have its pages, call forget(): a later capture would otherwise
  // take those pages for stored.
  Status capture(Stream& stream, const Memory& memory, Publication& publication, CapturedMemory& found);
  // Waits until the publication has let go of the pages of capture(), and filled in their digests.
  Status finish(Publication& publication);
  // How long captures took so far, and what they copied. Digesting is what was waited for digests.
  struct Cost {
    std::chrono::steady_clock::duration hashing{}, pinning{}, copying{}, digesting{};
    Bytes copied;
  };
  const Cost& cost() const { return cost_; }
  // Whether the last capture failed because host memory was not mapped any more.
  bool lost_host_memory() const { return lost_host_memory_; }
  void forget() { known_.clear(); }
  // Forgets the pages of memory that is not among this, which is all that there is. The next capture tells which that was.
  void forget_freed(const Memory& all);

 private:
  struct Known {
    Bytes size;
    std::vector<uint64_t> hashes;
  };

  // A page that is to be copied.
  struct Page {
    MemoryRange range;
    Digest* digest;
    bool is_first;  // of its allocation
  };

  class Source;  // where pages are read from: the device or the host
  class DeviceSource;
  class HostSource;
  Status capture_regions(Source& source, std::span<CapturedMemory::Region> regions, Publication& publication);
  Status read_variables(Stream& stream, const Memory& memory, Publication& publication, CapturedMemory& found);
  Status copy_pages(Source& source, std::span<const Page> pages, Publication& publication);
  Result<std::shared_ptr<std::byte[]>> take_piece();
  Status put_zeros(Publication& publication);
  std::optional<uint64_t> hash_zeros(Stream& stream);

  Device& device_;
  PinnedRing ring_;
  std::shared_ptr<WriterThreads> writers_;
  std::optional<uint64_t> zero_hash_;  // of a page on the device, once a capture has asked
  Cost cost_;
  std::chrono::steady_clock::duration pinned_before_{};  // of the ring's, what cost_ has
  std::unordered_map<uint64_t, Known> known_;            // by address
  std::vector<DevicePtr> freed_;                         // since the last capture
  bool lost_host_memory_ = false;
};

}  // namespace mneme
