#include "mneme/store/tar.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mneme {
namespace {

constexpr size_t kBlock = 512;
constexpr char kRegularFile = '0';

// A block of the stream, as the format has it. Numbers are octal digits.
struct Header {
  char name[100];
  char mode[8], owner[8], group[8];
  char size[12], time[12];
  char checksum[8];
  char kind;
  char target[100];
  char magic[6], version[2];
  char owner_name[32], group_name[32];
  char major[8], minor[8];
  char prefix[155];
  char rest[12];
};
static_assert(sizeof(Header) == kBlock);
constexpr uint64_t kLargest = (uint64_t{1} << 33) - 1;  // 11 octal digits

uint64_t padding_of(uint64_t size) { return (kBlock - size % kBlock) % kBlock; }

template <size_t N>
void put_number(char (&field)[N], uint64_t value) {
  fmt::format_to_n(field, N - 1, "{:0{}o}", value, N - 1);
}

Header header_of(const std::string& name, uint64_t size) {
  Header header{};
  std::memcpy(header.name, name.data(), std::min(name.size(), sizeof header.name - 1));
  put_number(header.mode, 0644);
  put_number(header.owner, 0);
  put_number(header.group, 0);
  put_number(header.size, size);
  put_number(header.time, 0);
  header.kind = kRegularFile;
  std::memcpy(header.magic, "ustar", sizeof header.magic);
  std::memcpy(header.version, "00", sizeof header.version);
  put_number(header.major, 0);
  put_number(header.minor, 0);
  // The sum of all bytes, with blanks in its own place.
  std::memset(header.checksum, ' ', sizeof header.checksum);
  uint64_t sum = 0;
  for (const std::byte byte : std::as_bytes(std::span(&header, 1))) sum += static_cast<uint8_t>(byte);
  fmt::format_to_n(header.checksum, 7, "{:06o}{}", sum, '\0');
  return header;
}

bool is_zero(ByteSpan bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::string_view kind_name(char kind) {
  switch (kind) {
    case '1': return "a hard link";
    case '2': return "a symbolic link";
    case '3':
    case '4': return "a device";
    case '5': return "a folder";
    case '6': return "a FIFO";
    default: return "no regular file";
  }
}

// The name and the size of the file whose header stands at `at`.
Result<TarPlace> read_header(const Header& header, uint64_t at, const std::string& source) {
  if (std::memcmp(header.magic, "ustar", sizeof header.magic) != 0)
    return error(Code::corrupt, "{}: offset {}: this is no archive of recordings, or it was damaged", source, at);
  TarPlace place{std::string(header.name, ::strnlen(header.name, sizeof header.name)), at + kBlock, {}};
  if (header.kind != kRegularFile)
    return error(Code::corrupt, "{}: offset {}: '{}' is {}: an archive of recordings has regular files alone", source, at,
                 place.name, kind_name(header.kind));
  uint64_t size = 0;
  for (const char digit : std::string_view(header.size, sizeof header.size - 1))
    size = 8 * size + static_cast<uint64_t>(digit - '0');
  const Header expected = header_of(place.name, size);
  if (size > kLargest || std::memcmp(&expected, &header, sizeof header) != 0)
    return error(Code::corrupt, "{}: offset {}: the header of '{}' is not as `mneme export` writes it: it was changed or damaged",
                 source, at, place.name);
  place.size = Bytes(size);
  return place;
}

}  // namespace

Status TarWriter::add(const std::string& name, ByteSpan content) {
  if (content.size() > kLargest)
    return error(Code::unsupported, "writing {} into an archive: it has {}, and a file in one at most {}", name,
                 Bytes(content.size()), Bytes(kLargest));
  const Header header = header_of(name, content.size());
  constexpr std::array<std::byte, kBlock> kZeros{};
  MNEME_TRY(out_.append(std::as_bytes(std::span(&header, 1))));
  MNEME_TRY(out_.append(content));
  return out_.append(ByteSpan(kZeros).first(padding_of(content.size())));
}

Status TarWriter::finish() {
  constexpr std::array<std::byte, 2 * kBlock> kZeros{};
  return out_.append(kZeros);
}

Status TarReader::fill(MutableByteSpan into) {
  MNEME_ASSIGN(const size_t got, source_.read(into));
  if (got < into.size())
    return error(Code::corrupt, "{}: offset {}: the archive ends there: it was cut short", name_, offset_ + got);
  offset_ += got;
  return {};
}

Result<ByteVector> TarReader::read_content(uint64_t size) {
  constexpr uint64_t kPiece = 1 << 20;
  ByteVector content;
  while (content.size() < size) {
    const size_t from = content.size();
    content.resize(from + std::min(kPiece, size - from));
    MNEME_TRY(fill(MutableByteSpan(content).subspan(from)));
  }
  std::array<std::byte, kBlock> padding;
  const MutableByteSpan rest = MutableByteSpan(padding).first(padding_of(size));
  MNEME_TRY(fill(rest));
  if (!is_zero(rest))
    return error(Code::corrupt, "{}: offset {}: bytes between two files are not zero: it was damaged", name_,
                 offset_ - rest.size());
  return content;
}

// After the first of the two blocks that mark it.
Status TarReader::read_end() {
  std::array<std::byte, kBlock> block;
  MNEME_TRY(fill(block));
  std::byte more;
  MNEME_ASSIGN(const size_t got, source_.read({&more, 1}));
  if (!is_zero(block) || got != 0)
    return error(Code::corrupt, "{}: offset {}: something follows the archive's end: it was damaged", name_, offset_);
  return {};
}

Result<std::optional<TarEntry>> TarReader::next() {
  const uint64_t at = offset_;
  Header header;
  const auto block = std::as_writable_bytes(std::span(&header, 1));
  MNEME_TRY(fill(block));
  if (is_zero(block)) {
    if (Status end = read_end(); !end.ok()) return end;
    return std::optional<TarEntry>();
  }
  MNEME_ASSIGN(const TarPlace place, read_header(header, at, name_));
  TarEntry entry{place.name, {}, at};
  MNEME_ASSIGN(entry.content, read_content(place.size.count));
  return std::optional(std::move(entry));
}

Result<std::vector<TarPlace>> find_entries(ReadableFile& file, uint64_t offset, Bytes size, const std::string& name) {
  const uint64_t end = offset + size.count;
  std::vector<TarPlace> places;
  for (uint64_t at = offset;;) {
    Header header;
    const auto block = std::as_writable_bytes(std::span(&header, 1));
    if (end - at < kBlock) return error(Code::corrupt, "{}: offset {}: the archive ends there: it was cut short", name, end);
    MNEME_TRY(file.read(at, block));
    if (is_zero(block)) return places;
    MNEME_ASSIGN(TarPlace place, read_header(header, at, name));
    const uint64_t taken = place.size.count + padding_of(place.size.count);
    if (taken > end - place.offset)
      return error(Code::corrupt, "{}: offset {}: the archive ends there: it was cut short", name, end);
    at = place.offset + taken;
    places.push_back(std::move(place));
  }
}

}  // namespace mneme
