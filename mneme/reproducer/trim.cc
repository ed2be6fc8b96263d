#include "mneme/reproducer/trim.h"

#include <algorithm>
#include <map>

#include "mneme/store/archive.h"

namespace mneme {
namespace {

// Returns how many bytes were dropped. Both moments have the region.
Bytes drop_pages(Region& before, Region& after, const std::vector<bool>& touched, DroppedPages& dropped) {
  Bytes bytes;
  for (size_t i = 0; i < touched.size(); ++i) {
    if (touched[i]) continue;
    const Bytes size = page_extent(before.range(), i).size;
    before.pages[i] = after.pages[i] = dropped.digest(size);
    bytes += size;
  }
  return bytes;
}

std::map<Digest, Bytes> pages_of(const RecordedInstance& recorded) {
  std::map<Digest, Bytes> pages;
  for (const MemoryState* state : {&recorded.prologue, &recorded.epilogue})
    for (const Region& region : state->regions)
      for (size_t i = 0; i < region.pages.size(); ++i) pages.emplace(region.pages[i], page_extent(region.range(), i).size);
  return pages;
}

Status put_page(ByteSpan content, const Digest& digest, ArchiveWriter& archive) {
  StoredPage stored;
  stored.bytes.resize(content.size());
  store_page(content, digest, stored.bytes, stored.page);
  stored.bytes.resize(stored.page.stored);
  return archive.put_page(stored);
}

Status put_pages(const Database& database, const MaskedPages& masked, const RecordedInstance& recorded, ArchiveWriter& archive) {
  constexpr size_t kPagesAtOnce = 256;
  std::vector<std::pair<Digest, ByteVector>> contents;
  const auto flush = [&]() -> Status {
    std::vector<PageRequest> requests;
    for (auto& [digest, content] : contents) requests.push_back({digest, content});
    MNEME_TRY(read_pages(database, masked, requests));
    for (const auto& [digest, content] : contents) MNEME_TRY(put_page(content, digest, archive));
    contents.clear();
    return {};
  };
  DroppedPages dropped;
  for (const auto& [digest, size] : pages_of(recorded)) {
    if (digest == dropped.digest(size)) {
      MNEME_TRY(put_page(ByteVector(size.count, kDropped), digest, archive));
      continue;
    }
    contents.emplace_back(digest, ByteVector(size.count));
    if (contents.size() == kPagesAtOnce) MNEME_TRY(flush());
  }
  return flush();
}

}  // namespace

TrimmedRecording untrimmed(const RecordedInstance& recorded) { return {recorded, recorded.prologue.bytes(), Bytes()}; }

TrimmedRecording trim(const RecordedInstance& recorded, const Session::TouchedPages& touched) {
  TrimmedRecording trimmed{recorded, {}, {}};
  MemoryState& before = trimmed.recorded.prologue;
  MemoryState& after = trimmed.recorded.epilogue;
  before.regions.clear();
  after.regions.clear();
  DroppedPages dropped;
  for (size_t i = 0; i < recorded.prologue.regions.size(); ++i) {
    Region prologue = recorded.prologue.regions[i], epilogue = recorded.epilogue.regions[i];
    const bool any = std::find(touched[i].begin(), touched[i].end(), true) != touched[i].end();
    if (!any && prologue.kind != Region::Kind::global) {
      trimmed.left_out += prologue.size;
      continue;
    }
    trimmed.left_out += drop_pages(prologue, epilogue, touched[i], dropped);
    before.regions.push_back(std::move(prologue));
    after.regions.push_back(std::move(epilogue));
  }
  std::erase_if(trimmed.recorded.instance.annotations, [&](const Annotation& annotation) {
    return std::ranges::none_of(before.regions, [&](const Region& region) {
      return region.address <= annotation.address && annotation.range().end() <= region.range().end();
    });
  });
  trimmed.memory = recorded.prologue.bytes() - trimmed.left_out;
  trimmed.recorded.instance.state_bytes = before.bytes();
  return trimmed;
}

Configuration run_once(const Configuration& configuration, bool whole) {
  Configuration once = configuration;
  once.execution = {};
  once.execution.iterations = 1;
  if (whole) once.verdict.mask = false;
  return once;
}

Result<ReducedRecording> reduce(Session& session, const Database& database, const RecordedInstance& recorded, bool whole,
                                bool mask) {
  ReducedRecording reduced{untrimmed(recorded), {}, {}, {}};
  if (whole) {
    reduced.kept = "all was asked for";
    reduced.unmasked = "it is not looked at what the kernel touches";
    return reduced;
  }
  const auto touched = session.find_touched_pages();
  if (touched.status().code() == Code::device_fault)
    return error(Code::device_fault,
                 "finding the memory that the kernel touches: {}; with --whole nothing is left out, and it is not looked for",
                 touched.status().message());
  if (touched.ok())
    reduced.trimmed = trim(recorded, *touched);
  else
    reduced.kept = touched.status().message();
  MNEME_ASSIGN(reduced.masked, MaskedPages::find(session, database, mask, reduced.unmasked));
  reduced.masked.put_into(reduced.trimmed.recorded);
  return reduced;
}

Status write_trimmed(const Database& database, const MaskedPages& masked, const KernelRecord& kernel,
                     const RecordedInstance& recorded, WritableFile& out) {
  MNEME_ASSIGN(KernelDocument document, database.load_document(kernel.static_hash));
  document.instances = {recorded.instance};
  document.lists_instances = false;
  ArchiveWriter archive(out, ArchivedCode::none);
  MNEME_TRY(archive.begin({document}));
  MNEME_TRY(archive.begin_kernel({document, {}, {}}));
  MNEME_TRY(put_pages(database, masked, recorded, archive));
  MNEME_TRY(archive.put_instance(recorded));
  return archive.finish();
}

}  // namespace mneme
