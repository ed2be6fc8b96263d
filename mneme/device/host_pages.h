// Comparisons, hashes and sets of bytes of host memory, for the streams of devices whose memory is host memory.
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/device.h"

namespace mneme {

// Compares two spans of the same size.
Comparison compare_host_bytes(ByteSpan a, ByteSpan b);
// The hash of page `index` of a range. The last page may be shorter than `page`; its length goes into the hash.
uint64_t hash_host_page(ByteSpan range, Bytes page, uint64_t index);
// How many pages of `page` bytes `size` bytes have, a short last one included. invalid_argument: `page` is 0.
Result<uint64_t> pages_of(Bytes size, Bytes page);
// invalid_argument unless `hashes` is the number of pages of `page` bytes that `size` bytes have.
Status check_page_count(uint64_t hashes, Bytes size, Bytes page);
// The same for the pages of all ranges, each of which begins with one.
Status check_page_count(uint64_t hashes, std::span<const MemoryRange> ranges, Bytes page);
// Marks the targets that the words of `words`, which begins with one, are addresses in, as Stream::find_pointers() does.
// Different threads may mark the same targets.
void mark_host_pointers(std::span<uint8_t> marks, std::span<const MemoryRange> targets, ByteSpan words);
// One step of Stream::update_byte_set() for the bytes [8 * begin, 8 * end) of a range of `size` bytes, which may end before 8 *
// end. Different threads may work on different parts.
void update_host_byte_set(ByteSetStep step, std::byte* set, std::byte* a, const std::byte* b, Bytes size, uint64_t begin,
                          uint64_t end);

}  // namespace mneme
