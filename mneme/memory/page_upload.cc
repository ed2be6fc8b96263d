#include "mneme/memory/page_upload.h"

#include <future>

#include "mneme/base/activity.h"

namespace mneme {
namespace {

// Pages travel to the device in batches of about this size.
constexpr Bytes kBatch = 64_MiB;

struct Batch {
  ByteVector bytes;
  size_t first = 0, last = 0;  // indices into the uploads
};

Result<Batch> read_batch(const Database& database, const std::vector<PageUpload>& pages, size_t first) {
  Batch batch{{}, first, first};
  uint64_t size = 0;
  while (batch.last < pages.size() && size < kBatch.count) size += pages[batch.last++].size.count;
  batch.bytes.resize(size);
  std::vector<PageRequest> requests;
  uint64_t at = 0;
  for (size_t i = first; i < batch.last; ++i) {
    requests.push_back({pages[i].digest, MutableByteSpan(batch.bytes).subspan(at, pages[i].size.count)});
    at += pages[i].size.count;
  }
  MNEME_TRY(database.read_pages(requests));
  return batch;
}

Status copy_batch(Stream& stream, const std::vector<PageUpload>& pages, const Batch& batch) {
  ActivityScope loading(Activity::loading);
  uint64_t at = 0;
  for (size_t i = batch.first; i < batch.last;) {
    uint64_t size = pages[i].size.count;
    size_t next = i + 1;
    while (next < batch.last && pages[next].to == pages[i].to + Bytes(size)) size += pages[next++].size.count;
    MNEME_TRY(stream.copy_to_device(pages[i].to, ByteSpan(batch.bytes).subspan(at, size)));
    at += size;
    i = next;
  }
  return {};
}

}  // namespace

Status upload_pages(const Database& database, Stream& stream, const std::vector<PageUpload>& pages,
                    const PrepareProgress& progress, std::string_view what) {
  if (pages.empty()) return {};
  auto read = [&](size_t first) {
    return std::async(std::launch::async, read_batch, std::cref(database), std::cref(pages), first);
  };
  std::future<Result<Batch>> reading = read(0);
  for (;;) {
    MNEME_ASSIGN(Batch batch, reading.get());
    bool more = batch.last < pages.size();
    if (more) reading = read(batch.last);
    if (progress) progress(what, static_cast<double>(batch.last) / static_cast<double>(pages.size()));
    Status status = copy_batch(stream, pages, batch);
    if (!status.ok() && more) reading.wait();
    MNEME_TRY(status);
    if (!more) return {};
  }
}

Result<ByteVector> read_region(const Database& database, const Region& region) {
  ByteVector bytes(region.size.count);
  std::vector<PageRequest> requests;
  for (uint64_t i = 0; i < region.pages.size(); ++i) {
    MemoryRange extent = page_extent(region.range(), i);
    requests.push_back(
        {region.pages[i], MutableByteSpan(bytes).subspan((extent.address - region.address).count, extent.size.count)});
  }
  MNEME_TRY(database.read_pages(requests));
  return bytes;
}

}  // namespace mneme
