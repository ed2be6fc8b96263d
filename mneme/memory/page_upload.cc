#include "mneme/memory/page_upload.h"

#include "mneme/base/activity.h"
#include "mneme/memory/device_buffer.h"

namespace mneme {
namespace {

// The progress is told each time that about so much was copied.
constexpr Bytes kTold = 64_MiB;

// Adds the time for which it lives.
class Timed {
 public:
  explicit Timed(Nanoseconds& sum) : sum_(sum) {}
  ~Timed() { sum_ += std::chrono::steady_clock::now() - begin_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Nanoseconds& sum_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Status PageUploader::upload(const std::vector<PageUpload>& pages, std::string_view what) {
  std::vector<PageUpload> contents;
  std::vector<ListedCopy> copies;
  for (const PageUpload& page : pages) {
    const auto [known, is_new] = uploaded_.try_emplace(page.digest, MemoryRange{page.to, page.size});
    // A digest with two sizes is damage, which reading finds.
    if (is_new || known->second.size != page.size)
      contents.push_back(page);
    else
      copies.push_back({page.to, known->second.address, page.size});
  }
  Status status = upload_contents(contents, what);
  if (status.ok()) status = copy_on_device(copies);
  if (!status.ok()) uploaded_.clear();
  return status;
}

Status PageUploader::upload_contents(const std::vector<PageUpload>& contents, std::string_view what) {
  if (contents.empty()) return {};
  std::vector<PageContent> pages;
  Bytes all, done, told;
  for (const PageUpload& content : contents) {
    pages.push_back({content.digest, content.size});
    all += content.size;
  }
  if (const Bytes room = PageReader::room_for(all); !room_ || room_->bytes().size() < room.count) {
    Timed copying(copying_);
    ActivityScope loading(Activity::loading);
    room_.reset();
    MNEME_ASSIGN(room_, device_.allocate_pinned(room));
  }
  PageReader reader(database_, pages, room_->bytes());
  const auto take = [&] {
    Timed reading(reading_);
    return reader.take();
  };
  for (;;) {
    MNEME_ASSIGN(const std::vector<PageReader::Piece> pieces, take());
    if (pieces.empty()) return {};
    MNEME_TRY(copy(pieces, contents));
    reader.give_back(pieces);
    for (const PageReader::Piece& piece : pieces) done += Bytes(piece.bytes.size());
    if (!progress_ || (done < told + kTold && done < all)) continue;
    told = done;
    progress_(what, static_cast<double>(done.count) / static_cast<double>(all.count));
  }
}

Status PageUploader::copy(const std::vector<PageReader::Piece>& pieces, const std::vector<PageUpload>& contents) {
  ActivityScope loading(Activity::loading);
  Timed copying(copying_);
  for (const PageReader::Piece& piece : pieces) {
    uint64_t at = 0;
    for (size_t i = piece.first; i < piece.last;) {
      uint64_t size = contents[i].size.count;
      size_t next = i + 1;
      while (next < piece.last && contents[next].to == contents[i].to + Bytes(size)) size += contents[next++].size.count;
      MNEME_TRY(stream_.copy_to_device_later(contents[i].to, piece.bytes.subspan(at, size)));
      at += size;
      i = next;
    }
  }
  return stream_.synchronize();
}

Status PageUploader::copy_on_device(const std::vector<ListedCopy>& copies) {
  if (copies.empty()) return {};
  Timed copying(copying_);
  ActivityScope loading(Activity::loading);
  const auto listed = std::as_bytes(std::span(copies));
  MNEME_ASSIGN(const DeviceBuffer list, DeviceBuffer::allocate(device_, Bytes(listed.size())));
  MNEME_TRY(stream_.copy_to_device(list.address(), listed));
  MNEME_TRY(stream_.copy_listed(list.address(), copies.size()));
  return stream_.synchronize();
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
