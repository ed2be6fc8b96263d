// Comparing, hashing and sets of bytes of host memory, for the devices whose memory it is.
#pragma once

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/device.h"

namespace mneme {

// Both of the same size.
Comparison compare_host_bytes(ByteSpan a, ByteSpan b);
// The hash of page `index` of a range; the last page may be short, and its length counts.
uint64_t hash_host_page(ByteSpan range, Bytes page, uint64_t index);
// How many pages of `page` bytes `size` bytes have; invalid_argument for a page of 0 bytes.
Result<uint64_t> pages_of(Bytes size, Bytes page);
// invalid_argument unless `hashes` is the number of pages of `page` bytes that `size` bytes have.
Status check_page_count(uint64_t hashes, Bytes size, Bytes page);
// Stream::update_byte_set() for bytes [8 * begin, 8 * end) of the range, as far as it has them.
void update_host_byte_set(ByteSetStep step, std::byte* set, std::byte* a, const std::byte* b, Bytes size, uint64_t begin,
                          uint64_t end);

}  // namespace mneme
