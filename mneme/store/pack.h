// A pack: one file of the page store. Layout only; the bytes that are written go to whoever calls.
//
//   header | stored pages, one after another | index, one entry a page in the order of the pages | footer
//
// The footer's checksum covers header, index and footer; each index entry holds the checksum of its stored bytes; so no byte of
// the file is outside of a checksum.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

enum class PageEncoding : uint32_t { raw = 0, zstd = 1 };

struct PackedPage {
  Digest digest;        // of the content
  uint64_t offset = 0;  // of the stored bytes in the file
  uint32_t stored = 0;  // their number
  uint32_t size = 0;    // bytes of content
  PageEncoding encoding = PageEncoding::raw;
  uint64_t checksum = 0;  // of the stored bytes
};

// Content as it is stored: compressed where that makes it smaller. `page` gets everything but its offset.
ByteVector store_page(ByteSpan content, const Digest& digest, PackedPage& page);

ByteVector pack_header();
// What follows the pages: index and footer. `name` gets the pack's file name without extension, which follows from its content.
ByteVector pack_tail(const std::vector<PackedPage>& pages, Digest& name);

// Reads and checks everything but the pages themselves. `name` is what messages call the file.
Result<std::vector<PackedPage>> read_pack(ReadableFile& file, const std::string& name);
// Reads one page of a checked pack, and checks its content against its digest. `scratch` is memory for it, whatever is in it.
Status read_page(ReadableFile& file, const PackedPage& page, MutableByteSpan into, ByteVector& scratch, const std::string& name);

}  // namespace mneme
