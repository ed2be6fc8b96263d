#include "mneme/store/trim.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace mneme {
namespace {

// The recording of an instance whose pages are stored.
Result<Recording> recording_of(const Database& database, const KernelDocument& document, const RecordedInstance& recorded) {
  Recording recording{document.kernel, {}, recorded.instance, recorded.prologue, recorded.epilogue, {}};
  if (document.kernel.level == CodeLevel::ir) {
    MNEME_ASSIGN(recording.ir, database.load_ir(document.kernel.static_hash));
  }
  for (const CodeImageRecord& image : document.kernel.images) {
    MNEME_ASSIGN(recording.images.emplace_back(), database.load_image(image));
  }
  return recording;
}

}  // namespace

RecordedInstance without_pages(const RecordedInstance& recorded, CodeLevel level, const std::vector<PagePlace>& pages) {
  RecordedInstance trimmed = recorded;
  DroppedPages dropped;
  Trimming what;
  for (const PagePlace& place : pages) {
    Region &before = trimmed.prologue.regions.at(place.region), &after = trimmed.epilogue.regions.at(place.region);
    const Bytes size = page_extent(before.range(), place.page).size;
    const Digest& digest = dropped.digest(size);
    if (before.pages.at(place.page) == digest) continue;
    before.pages[place.page] = after.pages.at(place.page) = digest;
    ++what.pages;
    what.bytes += size;
  }
  if (what.pages == 0) return trimmed;
  InstanceRecord& instance = trimmed.instance;
  if (instance.trimmed) {
    what.of = instance.trimmed->of;
    what.pages += instance.trimmed->pages;
    what.bytes += instance.trimmed->bytes;
  } else {
    what.of = {instance.dynamic_hash};
  }
  instance.trimmed = std::move(what);
  instance.dynamic_hash = dynamic_hash(instance, trimmed.prologue, level);
  return trimmed;
}

Status store_dropped(Database& database, const RecordedInstance& trimmed) {
  DroppedPages dropped;
  std::map<uint64_t, Digest> sizes;  // with the digests that the publication finds
  for (const Region& region : trimmed.prologue.regions)
    for (uint64_t i = 0; i < region.pages.size(); ++i) {
      const Bytes size = page_extent(region.range(), i).size;
      if (region.pages[i] == dropped.digest(size)) sizes[size.count];
    }
  MNEME_ASSIGN(const std::unique_ptr<Publication> publication, database.begin_publication());
  for (auto& [size, digest] : sizes) {
    PageBatch batch{std::make_unique<std::byte[]>(size), {{size, &digest}}};
    std::memset(batch.bytes.get(), static_cast<int>(kDropped), size);
    MNEME_TRY(publication->put(std::move(batch)));
  }
  MNEME_TRY(publication->wait());
  return publication->keep_pages();
}

Result<Cleaned> replace_by_trimmed(Database& database, const Digest& static_hash, const Digest& old,
                                   const RecordedInstance& trimmed) {
  MNEME_ASSIGN(KernelDocument document, database.load_document(static_hash));
  MNEME_ASSIGN(const Recording recording, recording_of(database, document, trimmed));
  {
    MNEME_ASSIGN(const std::unique_ptr<Publication> publication, database.begin_publication());
    MNEME_TRY(publication->commit(recording));
  }
  MNEME_TRY(database.add_trimmed(static_hash, trimmed.instance.dynamic_hash, trimmed.instance.trimmed->of));
  std::erase_if(document.instances, [&](const InstanceRecord& instance) { return instance.dynamic_hash != old; });
  return database.clean({document}, Deed::remove);
}

}  // namespace mneme
