#include "mneme/store/pack.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "mneme/base/compress.h"
#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/corrupt.h"

namespace mneme {
namespace {

constexpr std::string_view kExtension = ".mneme";
constexpr char kHeaderMagic[8] = {'M', 'N', 'E', 'M', 'E', 'P', 'A', 'G'};
constexpr char kFooterMagic[8] = {'M', 'N', 'E', 'M', 'E', 'E', 'N', 'D'};

struct Header {
  char magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t header_bytes;
  uint64_t reserved[2];
};
static_assert(sizeof(Header) == 32);

struct Entry {
  uint8_t digest[16];
  uint64_t offset;
  uint32_t stored;
  uint32_t size;
  uint32_t encoding;
  uint32_t reserved;
  uint64_t checksum;
};
static_assert(sizeof(Entry) == 48);

struct Footer {
  uint64_t index_offset;
  uint64_t page_count;
  uint8_t checksum[16];  // of header, index and footer, with this field zero
  uint64_t reserved[2];
  uint16_t major;
  uint16_t minor;
  uint32_t footer_bytes;
  char magic[8];
};
static_assert(sizeof(Footer) == 64);

uint64_t short_checksum(const Digest& digest) {
  uint64_t first;
  std::memcpy(&first, digest.bytes.data(), sizeof first);
  return first;
}

template <typename T>
ByteSpan object_bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

Digest checksum_of(ByteSpan header, ByteSpan index, Footer footer) {
  std::memset(footer.checksum, 0, sizeof footer.checksum);
  return Hasher().add(header).add(index).add(object_bytes(footer)).finish();
}

// Both ends of a pack, as they lie in it.
struct Ends {
  Header header;
  Footer footer;
  uint64_t footer_at;
};

template <typename T>
Status read_value(ReadableFile& file, uint64_t offset, T& value) {
  return file.read(offset, std::as_writable_bytes(std::span(&value, 1)));
}

Status check_header(const Header& header, const std::string& name) {
  if (header.header_bytes != sizeof header)
    return corrupt(name, 12, "a header of {} bytes, {} expected", header.header_bytes, sizeof header);
  if (header.reserved[0] != 0 || header.reserved[1] != 0) return corrupt(name, 16, "reserved bytes are not zero");
  return {};
}

Status check_footer(const Footer& footer, uint64_t at, const std::string& name) {
  if (std::memcmp(footer.magic, kFooterMagic, sizeof kFooterMagic) != 0)
    return corrupt(name, at + offsetof(Footer, magic), "the end of the pack is missing: the file was truncated or damaged");
  if (footer.footer_bytes != sizeof footer)
    return corrupt(name, at + offsetof(Footer, footer_bytes), "a footer of {} bytes, {} expected", footer.footer_bytes,
                   sizeof footer);
  if (footer.reserved[0] != 0 || footer.reserved[1] != 0)
    return corrupt(name, at + offsetof(Footer, reserved), "reserved bytes are not zero");
  bool fits = footer.index_offset >= sizeof(Header) && footer.index_offset <= at &&
              footer.page_count == (at - footer.index_offset) / sizeof(Entry) && (at - footer.index_offset) % sizeof(Entry) == 0;
  if (!fits)
    return corrupt(name, at, "an index of {} pages at {} does not fit in the file", footer.page_count, footer.index_offset);
  return {};
}

Result<Ends> read_ends(ReadableFile& file, const std::string& name) {
  const uint64_t size = file.size().count;
  if (size == 0) return corrupt(name, 0, "the file is empty");
  if (size < sizeof(Header) + sizeof(Footer))
    return corrupt(name, size, "the file is too short for a pack of pages ({} bytes)", size);
  Ends ends{};
  ends.footer_at = size - sizeof(Footer);
  MNEME_TRY(read_value(file, 0, ends.header));
  MNEME_TRY(read_value(file, ends.footer_at, ends.footer));
  if (std::memcmp(ends.header.magic, kHeaderMagic, sizeof kHeaderMagic) != 0)
    return corrupt(name, 0, "this is no pack of pages (wrong magic)");
  return ends;
}

Result<ByteVector> read_index(ReadableFile& file, const Ends& ends, const std::string& name) {
  const Footer& footer = ends.footer;
  MNEME_TRY(check_header(ends.header, name));
  MNEME_TRY(check_footer(footer, ends.footer_at, name));
  auto index = file.read_range(footer.index_offset, Bytes(ends.footer_at - footer.index_offset));
  if (index.status().code() == Code::exhausted) return index.status().with_context(fmt::format("reading the index of {}", name));
  if (!index.ok()) return index;
  Digest expected;
  std::memcpy(expected.bytes.data(), footer.checksum, sizeof footer.checksum);
  if (Digest found = checksum_of(object_bytes(ends.header), *index, footer); found != expected)
    return corrupt(name, ends.footer_at + offsetof(Footer, checksum), "the index's checksum is {}, {} expected: it was damaged",
                   found.hex(), expected.hex());
  return index;
}

// A version that is not known is believed unless the checksum is right without it. A footer that is none has no version.
Status check_versions(ReadableFile& file, const Ends& ends, const std::string& name) {
  const bool in_header = !check_format_version({ends.header.major, ends.header.minor}, name).ok();
  const FormatVersion version =
      in_header ? FormatVersion{ends.header.major, ends.header.minor} : FormatVersion{ends.footer.major, ends.footer.minor};
  if (!in_header && std::memcmp(ends.footer.magic, kFooterMagic, sizeof kFooterMagic) != 0) return {};
  const Status known = check_format_version(version, name);
  if (known.ok()) return known;
  Ends ours = ends;
  for (uint16_t right = kFormatVersion.major; right >= 1; --right) {
    ours.header.major = ours.footer.major = right;
    if (!read_index(file, ours, name).ok()) continue;
    const uint64_t at = in_header ? offsetof(Header, major) : ends.footer_at + offsetof(Footer, major);
    return damaged_version(version, right, fmt::format("offset {}", at), name);
  }
  return known;
}

}  // namespace

void store_page(ByteSpan content, const Digest& digest, MutableByteSpan into, PackedPage& page) {
  size_t stored = compress_into(content, into);
  page.encoding = PageEncoding::zstd;
  if (stored == 0 || stored + stored / 32 >= content.size()) {
    std::ranges::copy(content, into.begin());
    stored = content.size();
    page.encoding = PageEncoding::raw;
  }
  page.digest = digest;
  page.stored = static_cast<uint32_t>(stored);
  page.size = static_cast<uint32_t>(content.size());
  page.checksum = short_checksum(digest_of(into.first(stored)));
}

ByteVector pack_header() {
  Header header{};
  std::memcpy(header.magic, kHeaderMagic, sizeof kHeaderMagic);
  header.major = kCommonVersion.major;
  header.minor = kCommonVersion.minor;
  header.header_bytes = sizeof header;
  ByteSpan bytes = object_bytes(header);
  return ByteVector(bytes.begin(), bytes.end());
}

ByteVector pack_tail(const std::vector<PackedPage>& pages, Digest& name) {
  ByteVector tail(pages.size() * sizeof(Entry) + sizeof(Footer));
  Footer footer{};
  footer.index_offset = sizeof(Header);
  for (size_t i = 0; i < pages.size(); ++i) {
    const PackedPage& page = pages[i];
    Entry entry{};
    std::memcpy(entry.digest, page.digest.bytes.data(), sizeof entry.digest);
    entry.offset = page.offset;
    entry.stored = page.stored;
    entry.size = page.size;
    entry.encoding = static_cast<uint32_t>(page.encoding);
    entry.checksum = page.checksum;
    std::memcpy(tail.data() + i * sizeof entry, &entry, sizeof entry);
    footer.index_offset += page.stored;
  }
  footer.page_count = pages.size();
  footer.major = kCommonVersion.major;
  footer.minor = kCommonVersion.minor;
  footer.footer_bytes = sizeof footer;
  std::memcpy(footer.magic, kFooterMagic, sizeof kFooterMagic);
  name = checksum_of(pack_header(), ByteSpan(tail).first(pages.size() * sizeof(Entry)), footer);
  std::memcpy(footer.checksum, name.bytes.data(), sizeof footer.checksum);
  std::memcpy(tail.data() + pages.size() * sizeof(Entry), &footer, sizeof footer);
  return tail;
}

std::string pack_file_name(const Digest& pack) { return pack.hex() + std::string(kExtension); }

std::optional<Digest> pack_of_file(std::string_view name) {
  if (!name.ends_with(kExtension)) return std::nullopt;
  const auto pack = Digest::from_hex(name.substr(0, name.size() - kExtension.size()));
  return pack.ok() && pack_file_name(*pack) == name ? std::optional(*pack) : std::nullopt;
}

Result<std::vector<PackedPage>> read_pack(ReadableFile& file, const std::string& name) {
  MNEME_ASSIGN(const Ends ends, read_ends(file, name));
  MNEME_TRY(check_versions(file, ends, name));
  MNEME_ASSIGN(const ByteVector index, read_index(file, ends, name));
  const Footer& footer = ends.footer;
  std::vector<PackedPage> pages(footer.page_count);
  uint64_t end = sizeof(Header);
  for (uint64_t i = 0; i < footer.page_count; ++i) {
    const uint64_t at = footer.index_offset + i * sizeof(Entry);
    Entry entry;
    std::memcpy(&entry, index.data() + i * sizeof entry, sizeof entry);
    if (entry.offset != end || entry.stored > footer.index_offset - end)
      return corrupt(name, at, "{} stored bytes at {} do not follow the page before", entry.stored, entry.offset);
    if (entry.size == 0 || entry.size > kPageSize.count) return corrupt(name, at, "a page of {} bytes", entry.size);
    if (entry.encoding > 1 || entry.reserved != 0 || (entry.encoding == 0 && entry.stored != entry.size))
      return corrupt(name, at, "page encoding {} is not known", entry.encoding);
    PackedPage& page = pages[i];
    std::memcpy(page.digest.bytes.data(), entry.digest, sizeof entry.digest);
    page.offset = entry.offset;
    page.stored = entry.stored;
    page.size = entry.size;
    page.encoding = static_cast<PageEncoding>(entry.encoding);
    page.checksum = entry.checksum;
    end += entry.stored;
  }
  if (end != footer.index_offset) return corrupt(name, end, "{} bytes belong to no page", footer.index_offset - end);
  return pages;
}

Status read_page(ReadableFile& file, const PackedPage& page, MutableByteSpan into, ByteVector& scratch, const std::string& name) {
  if (into.size() != page.size)
    return corrupt(name, page.offset, "page {} has {} bytes, {} expected", page.digest.hex(), page.size, into.size());
  const bool raw = page.encoding == PageEncoding::raw;
  if (!raw && scratch.size() < page.stored) scratch.resize(page.stored);
  const MutableByteSpan stored = raw ? into : MutableByteSpan(scratch).first(page.stored);
  MNEME_TRY(file.read(page.offset, stored));
  const Digest of_stored = digest_of(stored);
  if (short_checksum(of_stored) != page.checksum)
    return corrupt(name, page.offset, "the stored bytes of page {} are damaged (checksum)", page.digest.hex());
  if (!raw)
    if (Status status = decompress_into(stored, into); !status.ok())
      return corrupt(name, page.offset, "decompressing page {}: {}", page.digest.hex(), status.message());
  if ((raw ? of_stored : digest_of(into)) != page.digest)
    return corrupt(name, page.offset, "the content of page {} has another digest", page.digest.hex());
  return {};
}

}  // namespace mneme
