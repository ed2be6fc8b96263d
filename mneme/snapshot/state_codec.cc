#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "mneme/base/byte_stream.h"
#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/container.h"
#include "mneme/snapshot/textures_codec.h"

namespace mneme {
namespace {

constexpr char kMagic[8] = {'M', 'N', 'E', 'M', 'E', 'M', 'E', 'M'};

// The file's first bytes, as they lie in it.
struct StateHeader {
  ContainerStart start;
  uint8_t static_hash[16];
  uint8_t dynamic_hash[16];
  uint32_t moment;
  uint32_t region_count;
  uint64_t reserved[2];
};
static_assert(sizeof(StateHeader) == 96);

// What follows it within the header's bytes: the packs' number, zero, and their names. A reader of version 1 passes over it.
constexpr uint64_t kPackCountBytes = 4 + 4;

// kind, reserved, address, size, name length, page count
constexpr uint64_t kSmallestRegion = 4 + 4 + 8 + 8 + 4 + 8;

Status read_header(ByteReader& in, ByteSpan bytes, StateHeader& header) {
  if (bytes.empty()) return in.corrupt("the file is empty");
  MNEME_ASSIGN(ByteSpan magic, in.read_bytes(sizeof kMagic));
  if (std::memcmp(magic.data(), kMagic, sizeof kMagic) != 0)
    return error(Code::corrupt, "{}: offset 0: this is no device state (wrong magic)", in.name());
  ContainerStart& start = header.start;
  MNEME_TRY(in.read(start.major));
  MNEME_TRY(in.read(start.minor));
  const FormatVersion version{start.major, start.minor};
  if (Status known = check_format_version(version, in.name()); !known.ok()) {
    const std::optional<uint16_t> right = version_of_checksum(bytes);
    return right ? damaged_version(version, *right, "offset 8", in.name()) : known;
  }
  MNEME_TRY(in.read(start.header_bytes));
  if (start.header_bytes < sizeof(StateHeader) || start.header_bytes > bytes.size())
    return error(Code::corrupt, "{}: offset 12: a header of {} bytes in a file of {}", in.name(), start.header_bytes,
                 bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  if (start.total_bytes != bytes.size())
    return error(Code::corrupt, "{}: offset 16: the file has {} bytes, {} expected", in.name(), bytes.size(), start.total_bytes);
  const Digest expected = stored_checksum(bytes);
  if (Digest found = container_checksum(bytes); found != expected)
    return error(Code::corrupt, "{}: offset 24: the file's checksum is {}, {} expected: it was damaged", in.name(), found.hex(),
                 expected.hex());
  for (uint64_t word : header.reserved)
    if (word != 0) return error(Code::corrupt, "{}: offset 80: reserved bytes are not zero", in.name());
  if (header.moment != 1 && header.moment != 2)
    return error(Code::corrupt, "{}: offset 72: {} is no moment", in.name(), header.moment);
  [[maybe_unused]] auto skipped = in.read_bytes(sizeof header - in.offset());
  return {};
}

Status read_packs(ByteReader& in, uint64_t header_bytes, std::vector<Digest>& packs) {
  const uint64_t bytes = header_bytes - in.offset();
  if (bytes >= kPackCountBytes) {
    uint32_t count = 0, reserved = 0;
    MNEME_TRY(in.read(count));
    MNEME_TRY(in.read(reserved));
    if (count > (bytes - kPackCountBytes) / sizeof(Digest) || reserved != 0)
      return in.corrupt(fmt::format("{} packs do not fit in a header of {} bytes", count, header_bytes));
    MNEME_ASSIGN(ByteSpan names, in.read_bytes(count * sizeof(Digest)));
    packs.resize(count);
    if (count != 0) std::memcpy(packs.data(), names.data(), names.size());
  }
  return in.read_bytes(header_bytes - in.offset()).status();
}

Status read_region(ByteReader& in, Region& region) {
  uint32_t kind = 0, reserved = 0;
  MNEME_TRY(in.read(kind));
  if (kind < 1 || kind > 6) return in.corrupt(fmt::format("region kind {} is not known", kind));
  MNEME_TRY(in.read(reserved));
  if (reserved != 0) return in.corrupt("reserved bytes are not zero");
  region.kind = static_cast<Region::Kind>(kind);
  MNEME_TRY(in.read(region.address.address));
  MNEME_TRY(in.read(region.size.count));
  if (region.size.count == 0 || region.address.address > ~uint64_t{0} - region.size.count - kPageSize.count)
    return in.corrupt(fmt::format("a region at {} of {} bytes", region.address, region.size.count));
  MNEME_TRY(in.read_string(region.name));
  MNEME_ASSIGN(uint64_t pages, in.read_count(sizeof(Digest)));
  if (pages != page_count(region.range()))
    return in.corrupt(fmt::format("{} pages for a region at {} of {} bytes, {} expected", pages, region.address,
                                  region.size.count, page_count(region.range())));
  MNEME_ASSIGN(ByteSpan digests, in.read_bytes(pages * sizeof(Digest)));
  region.pages.resize(pages);
  if (pages != 0) std::memcpy(region.pages.data(), digests.data(), digests.size());
  return {};
}

// Older readers know no memory of these kinds, and would not have it at its address; nor would they make the textures.
FormatVersion version_of(const MemoryState& state) {
  if (!state.textures.empty()) return kFormatVersion;
  const bool outside = std::any_of(state.regions.begin(), state.regions.end(), [](const Region& region) {
    return region.kind == Region::Kind::mapped || region.kind == Region::Kind::managed;
  });
  return outside ? kOutsideMemoryVersion : kCommonVersion;
}

}  // namespace

ByteVector encode_state(const StateDocument& document) {
  StateHeader header{};
  std::memcpy(header.start.magic, kMagic, sizeof kMagic);
  const FormatVersion version = version_of(document.state);
  header.start.major = version.major;
  header.start.minor = version.minor;
  header.start.header_bytes = static_cast<uint32_t>(sizeof header + kPackCountBytes + document.packs.size() * sizeof(Digest));
  std::memcpy(header.static_hash, document.static_hash.bytes.data(), 16);
  std::memcpy(header.dynamic_hash, document.dynamic_hash.bytes.data(), 16);
  header.moment = static_cast<uint32_t>(document.moment);
  header.region_count = static_cast<uint32_t>(document.state.regions.size());
  ByteWriter out;
  out.put(header);
  out.put(static_cast<uint32_t>(document.packs.size()));
  out.put(uint32_t{0});
  out.put_bytes(std::as_bytes(std::span(document.packs)));
  for (const Region& region : document.state.regions) {
    out.put(static_cast<uint32_t>(region.kind));
    out.put(uint32_t{0});
    out.put(region.address.address);
    out.put(region.size.count);
    out.put_string(region.name);
    out.put(uint64_t{region.pages.size()});
    out.put_bytes(std::as_bytes(std::span(region.pages)));
  }
  if (version == kFormatVersion) out.put_bytes(encode_textures(document.state.textures));
  ByteVector bytes = out.take();
  uint64_t total = bytes.size();
  std::memcpy(bytes.data() + offsetof(ContainerStart, total_bytes), &total, sizeof total);
  seal_container(bytes);
  return bytes;
}

Result<StateDocument> decode_state(ByteSpan bytes, const std::string& name) {
  ByteReader in(bytes, name);
  StateHeader header{};
  MNEME_TRY(read_header(in, bytes, header));
  StateDocument document;
  MNEME_TRY(read_packs(in, header.start.header_bytes, document.packs));
  document.moment = static_cast<Moment>(header.moment);
  std::memcpy(document.static_hash.bytes.data(), header.static_hash, 16);
  std::memcpy(document.dynamic_hash.bytes.data(), header.dynamic_hash, 16);
  if (header.region_count > in.remaining() / kSmallestRegion)
    return in.corrupt(fmt::format("{} regions do not fit in the {} bytes left", header.region_count, in.remaining()));
  uint64_t end = 0;
  for (uint32_t i = 0; i < header.region_count; ++i) {
    Region region;
    MNEME_TRY(read_region(in, region));
    if (region.address.address < end)
      return in.corrupt(fmt::format("the region at {} overlaps the one before it", region.address));
    end = region.address.address + region.size.count;
    document.state.regions.push_back(std::move(region));
  }
  if (header.start.major == kFormatVersion.major) MNEME_TRY(decode_textures(in, document.state));
  if (in.remaining() != 0) return in.corrupt(fmt::format("{} bytes are left over", in.remaining()));
  return document;
}

}  // namespace mneme
