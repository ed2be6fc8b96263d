#include "mneme/reproducer/masked_pages.h"

#include <algorithm>

namespace mneme {
namespace {

void complement(MutableByteSpan bytes) {
  for (std::byte& byte : bytes) byte = ~byte;
}

}  // namespace

Result<MaskedPages> MaskedPages::of(Session& session, const Database& database) {
  MaskedPages masked;
  MNEME_TRY(session.memory().read_masked([&](size_t region, size_t index, ByteSpan content) -> Status {
    const PlannedRegion& planned = session.plan().regions[region];
    const Digest &before = planned.prologue.pages[index], &after = planned.epilogue.pages[index];
    const Digest digest = digest_of(content);
    if (digest == before) return {};
    masked.pages_.push_back({planned.prologue.address, index, before, digest});
    if (masked.contents_.contains(digest)) return {};
    ByteVector expected(content.size());
    const PageRequest request{after, expected};
    MNEME_TRY(database.read_pages({&request, 1}));
    complement(expected);
    Content& made = masked.contents_[digest];
    made.complement_of = after;
    if (!std::ranges::equal(expected, content)) made.bytes.assign(content.begin(), content.end());
    return {};
  }));
  if (!masked.pages_.empty()) masked.bytes_ = session.memory().masked_bytes();
  return masked;
}

Result<MaskedPages> MaskedPages::find(Session& session, const Database& database, bool asked, std::string& why_not) {
  if (!asked) {
    why_not = "none was asked for";
    return MaskedPages();
  }
  MNEME_TRY(session.prepare_mask());
  MNEME_ASSIGN(MaskedPages masked, of(session, database));
  if (masked.bytes() == Bytes()) why_not = session.why_no_mask();
  return masked;
}

void MaskedPages::put_into(RecordedInstance& recorded) const {
  for (const Page& page : pages_) {
    const auto region = std::ranges::find(recorded.prologue.regions, page.region, &Region::address);
    if (region != recorded.prologue.regions.end() && region->pages[page.index] == page.recorded)
      region->pages[page.index] = page.masked;
  }
}

Result<ByteVector> MaskedPages::read(const Database& database, const Digest& digest, Bytes size) const {
  const Content& content = contents_.at(digest);
  if (!content.bytes.empty()) return content.bytes;
  ByteVector bytes(size.count);
  const PageRequest request{content.complement_of, bytes};
  MNEME_TRY(database.read_pages({&request, 1}));
  complement(bytes);
  return bytes;
}

Status read_pages(const Database& database, const MaskedPages& masked, std::span<const PageRequest> requests) {
  std::vector<PageRequest> stored;
  for (const PageRequest& request : requests) {
    if (!masked.has(request.digest)) {
      stored.push_back(request);
      continue;
    }
    MNEME_ASSIGN(const ByteVector bytes, masked.read(database, request.digest, Bytes(request.into.size())));
    std::ranges::copy(bytes, request.into.begin());
  }
  return database.read_pages(stored);
}

}  // namespace mneme
