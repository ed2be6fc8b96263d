#include "mneme/record/staging_memory.h"

#include <unistd.h>

#include <algorithm>

#include "mneme/record/pinned_ring.h"

namespace mneme {
namespace {

Bytes quarter_of_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? Bytes(static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) / 4) : 1_GiB;
}

}  // namespace

StagingMemory StagingMemory::of(std::optional<Bytes> option) {
  const Bytes all = option.value_or(std::min(4_GiB, quarter_of_memory()));
  // A ring of an eighth of all, in pieces of whole MiB.
  const uint64_t piece = std::clamp<uint64_t>(all.count / 8 / PinnedRing::kPieces >> 20, 1, 16) << 20;
  const Bytes ring(PinnedRing::kPieces * piece), queue(all.count / 8);
  return {Bytes(piece), all > ring + queue ? all - ring - queue : Bytes(), queue};
}

}  // namespace mneme
