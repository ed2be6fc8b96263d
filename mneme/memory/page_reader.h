// PageReader: reads pages of a recording on threads of its own, some ahead of whoever takes them, into a memory of bounded size.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/store/database.h"

namespace mneme {

// The content of one page.
struct PageContent {
  Digest digest;
  Bytes size;
};

// Used by one thread. The threads that read block all signals, and end with the object.
class PageReader {
 public:
  // What is read at a time: some pages that follow each other in the list.
  static constexpr Bytes kPiece{16 * kPageSize.count};
  struct Piece {
    size_t first = 0, last = 0;  // indices into the pages; `last` is the one behind the last
    MutableByteSpan bytes;       // their contents, one behind the other
  };

  // How much memory is worth giving to a reader of so many bytes.
  static Bytes room_for(Bytes all);

  // Begins to read. `room` holds one piece at least. The database, `pages` and `room` must outlive the object.
  PageReader(const Database& database, const std::vector<PageContent>& pages, MutableByteSpan room);
  ~PageReader();
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  // Waits until pieces have been read, and gives all of them, in no particular order. None: all were given. Their bytes are the
  // caller's until give_back(), which must have been called for all before more are taken. Failures: those of
  // Database::read_pages(), always of the first page of the list that cannot be read; exhausted: no memory is left.
  Result<std::vector<Piece>> take();
  // The memory of these pieces is read into again.
  void give_back(const std::vector<Piece>& pieces);

 private:
  void start_threads();
  void work();
  void read_next(std::unique_lock<std::mutex>& lock);
  Status read(Piece& piece);

  const Database& database_;
  const std::vector<PageContent>& pages_;
  std::vector<size_t> begins_;  // of each piece, and the end

  std::mutex mutex_;  // over what follows
  std::condition_variable read_, freed_;
  std::vector<MutableByteSpan> free_;
  std::vector<Piece> ready_;
  size_t next_ = 0;     // the next piece to be read
  size_t given_ = 0;    // how many pieces were given
  size_t reading_ = 0;  // how many are being read
  bool stopping_ = false;
  size_t failed_ = 0;  // the first piece that could not be read, where `failure_` is one
  Status failure_;

  std::vector<std::thread> threads_;
};

}  // namespace mneme
