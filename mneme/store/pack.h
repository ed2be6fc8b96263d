// A pack: one file of the page store. The functions here make and check its bytes; the caller writes them.
//
//   header | stored pages, one after another | index, one entry a page in the order of the pages | footer
//
// The footer's checksum covers header, index and footer, and each index entry holds the checksum of its page's stored bytes.
// Every byte of the file is therefore covered by a checksum.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

enum class PageEncoding : uint32_t { raw = 0, zstd = 1 };

struct PackedPage {
  Digest digest;        // of the content
  uint64_t offset = 0;  // where the stored bytes begin in the file
  uint32_t stored = 0;  // how many bytes are stored
  uint32_t size = 0;    // how many bytes the content has
  PageEncoding encoding = PageEncoding::raw;
  uint64_t checksum = 0;  // of the stored bytes
};

// A page with its bytes, which are its content itself where the encoding is raw.
struct StoredPage {
  PackedPage page;
  ByteVector bytes;
  ByteVector content;
};

// Makes the bytes to store for a page's content, compressed where that makes it smaller, at the beginning of `into`, which has
// the content's size. Fills in `page`, but for its offset.
void store_page(ByteSpan content, const Digest& digest, MutableByteSpan into, PackedPage& page);

ByteVector pack_header();
// The index and the footer, which follow the pages. Sets `name` to the pack's file name without extension: the footer's checksum,
// so that packs of the same pages have the same name.
ByteVector pack_tail(const std::vector<PackedPage>& pages, Digest& name);

// The name of a pack's file, inside the folder of packs, and what it is the name of.
std::string pack_file_name(const Digest& pack);
std::optional<Digest> pack_of_file(std::string_view name);

// Reads and checks everything but the pages themselves. `name` is what messages call the file.
Result<std::vector<PackedPage>> read_pack(ReadableFile& file, const std::string& name);
// Reads one page of a pack that read_pack() has checked, and checks the content against its digest. `into` has the page's size.
// `scratch` is memory that the function uses, and that its next call may use again: it begins with the stored bytes afterwards,
// unless these are the content itself.
Status read_page(ReadableFile& file, const PackedPage& page, MutableByteSpan into, ByteVector& scratch, const std::string& name);

}  // namespace mneme
