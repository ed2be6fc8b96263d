#include "mneme/memory/page_reader.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "mneme/base/processors.h"
#include "mneme/base/signals_blocked.h"

namespace mneme {
namespace {

size_t most_threads() { return std::min<size_t>(usable_processors(), 16); }

}  // namespace

// Each thread reads one piece while another is waiting to be copied.
Bytes PageReader::room_for(Bytes all) {
  const uint64_t pieces = (all.count + kPiece.count - 1) / kPiece.count;
  return Bytes(kPiece.count * std::clamp<uint64_t>(pieces, 1, 2 * most_threads() + 2));
}

PageReader::PageReader(const Database& database, const std::vector<PageContent>& pages, MutableByteSpan room)
    : database_(database), pages_(pages) {
  uint64_t size = kPiece.count;
  for (size_t i = 0; i < pages.size(); ++i) {
    size += pages[i].size.count;
    if (size <= kPiece.count) continue;
    begins_.push_back(i);
    size = pages[i].size.count;
  }
  begins_.push_back(pages.size());
  for (size_t at = 0; at + kPiece.count <= room.size(); at += kPiece.count) free_.push_back(room.subspan(at, kPiece.count));
  if (begins_.size() > 2) start_threads();
}

void PageReader::start_threads() {
  const size_t count = std::min(most_threads(), begins_.size() - 1);
  SignalsBlocked blocked;
  try {
    while (threads_.size() < count) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // Those that there are do all the work, or who takes the pieces does.
  }
}

PageReader::~PageReader() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  freed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PageReader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    freed_.wait(lock, [&] { return stopping_ || !free_.empty() || next_ + 1 == begins_.size(); });
    if (stopping_ || next_ + 1 == begins_.size()) return;
    read_next(lock);
  }
}

// Pieces begin in their order, and each that has begun is read to its end: what fails first in the list is therefore known.
void PageReader::read_next(std::unique_lock<std::mutex>& lock) {
  const size_t index = next_++;
  Piece piece{begins_[index], begins_[index + 1], free_.back()};
  free_.pop_back();
  ++reading_;
  lock.unlock();
  Status status = read(piece);
  lock.lock();
  --reading_;
  if (status.ok()) {
    ready_.push_back(piece);
  } else {
    if (failure_.ok() || index < failed_) failure_ = std::move(status), failed_ = index;
    stopping_ = true;
    freed_.notify_all();
  }
  read_.notify_one();
}

Status PageReader::read(Piece& piece) {
  try {
    std::vector<PageRequest> requests;
    uint64_t size = 0;
    for (size_t i = piece.first; i < piece.last; ++i) {
      requests.push_back({pages_[i].digest, piece.bytes.subspan(size, pages_[i].size.count)});
      size += pages_[i].size.count;
    }
    piece.bytes = piece.bytes.first(size);
    return database_.read_pages(requests);
  } catch (const std::bad_alloc&) {
    return error(Code::exhausted, "reading pages of {}: there is no memory left", database_.directory().string());
  }
}

Result<std::vector<PageReader::Piece>> PageReader::take() {
  std::unique_lock lock(mutex_);
  const size_t pieces = begins_.size() - 1;
  if (threads_.empty() && given_ < pieces && ready_.empty()) read_next(lock);
  read_.wait(lock, [&] { return !ready_.empty() || given_ == pieces || (!failure_.ok() && reading_ == 0); });
  if (!failure_.ok()) {
    read_.wait(lock, [&] { return reading_ == 0; });
    return failure_;
  }
  given_ += ready_.size();
  return std::exchange(ready_, {});
}

void PageReader::give_back(const std::vector<Piece>& pieces) {
  {
    std::lock_guard lock(mutex_);
    for (const Piece& piece : pieces) free_.emplace_back(piece.bytes.data(), kPiece.count);
  }
  freed_.notify_all();
}

}  // namespace mneme
