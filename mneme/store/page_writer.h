// PageWriter: digests, compresses and appends pages to one new pack, with threads of its own. To be used by one thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/store/page_store.h"
#include "mneme/store/publication.h"

namespace mneme {

class PageWriter {
 public:
  PageWriter(PageStore& store, FileSystem& files, const PublicationOptions& options);
  ~PageWriter();  // removes the pack unless finish() was ok

  // As Publication::put() and wait().
  Status put(PageBatch batch);
  Status wait();
  // Waits, and makes the pack part of the store. There is no pack if the store had every page already.
  Status finish();

  Bytes written() const;
  // How many bytes finish() will have written in all. To be called after wait().
  Bytes finished_size() const;
  // The packs that will hold the pages of a memory state after finish(). To be called after wait().
  std::vector<Digest> packs_of(const MemoryState& state) const;
  bool over_limit() const;

 private:
  struct Job {
    PageBatch batch;
    uint64_t bytes;
  };

  void work();
  Status write(const PageBatch& batch);
  bool claim(const Digest& digest, Bytes size);  // true when the page must be written to this pack
  Status append(ByteSpan stored, std::vector<PackedPage> pages);
  Status create_pack();
  void stop();

  PageStore& store_;
  FileSystem& files_;
  const PublicationOptions options_;

  mutable std::mutex mutex_;  // over everything below
  std::condition_variable changed_;
  std::deque<Job> queue_;
  uint64_t queued_bytes_ = 0;  // in the queue or being worked on
  bool stopping_ = false;
  bool over_limit_ = false;
  Status status_;

  std::unordered_set<Digest> claimed_;
  std::mutex pack_mutex_;  // over the pack; never taken under mutex_
  Path path_;
  std::unique_ptr<WritableFile> pack_;
  std::vector<PackedPage> pages_;
  uint64_t end_ = 0;
  std::atomic<uint64_t> written_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace mneme
