// Pages of a recording on their way to the device.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/page_reader.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/database.h"

namespace mneme {

// Called during a long step, on the thread that makes it. `what` says what the step does ("reading the memory before the
// launch"), `done` how much of it is done, from 0 to 1.
using PrepareProgress = std::function<void(std::string_view what, double done)>;

// The address that the content of one page is copied to.
struct PageUpload {
  Digest digest;
  DevicePtr to;
  Bytes size;
};

// Reads pages from the database and copies them to the device. Threads read them into pinned memory while the thread that calls
// copies what was read. A content that several pages have is read and copied to the device once; the device copies it to the
// others.
//
// Used by one thread at a time. All that it is made of must outlive it. Failures are the store's and the device's.
class PageUploader {
 public:
  PageUploader(const Database& database, Device& device, Stream& stream, PrepareProgress progress = {})
      : database_(database), device_(device), stream_(stream), progress_(std::move(progress)) {}

  // Uploads pages, of which no two overlap. Returns when all is copied. What was uploaded before by this object must still be
  // there, and none of `pages` may lie there. `what` goes to the progress.
  Status upload(const std::vector<PageUpload>& pages, std::string_view what);

  // How long the uploads so far have waited for pages to be read, and how long they have copied.
  Nanoseconds reading() const { return reading_; }
  Nanoseconds copying() const { return copying_; }

 private:
  Status upload_contents(const std::vector<PageUpload>& contents, std::string_view what);
  Status copy(const std::vector<PageReader::Piece>& pieces, const std::vector<PageUpload>& contents);
  Status copy_on_device(const std::vector<ListedCopy>& copies);

  const Database& database_;
  Device& device_;
  Stream& stream_;
  PrepareProgress progress_;
  std::unique_ptr<PinnedMemory> room_;
  Nanoseconds reading_{}, copying_{};
  std::unordered_map<Digest, MemoryRange> uploaded_;  // where the device has each content
};

// Uploads pages once.
inline Status upload_pages(const Database& database, Device& device, Stream& stream, const std::vector<PageUpload>& pages) {
  return PageUploader(database, device, stream).upload(pages, "");
}

// Reads all bytes of a region from the database. Failures are the store's.
Result<ByteVector> read_region(const Database& database, const Region& region);

}  // namespace mneme
