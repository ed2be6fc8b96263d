// PageWriter: digests, compresses and appends pages to new packs. There is one, and several, which are written at once, where
// threads compress faster than one file takes it. To be used by one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/store/page_store.h"
#include "mneme/store/publication.h"
#include "mneme/store/ready_files.h"
#include "mneme/store/writer_threads.h"

namespace mneme {

class PageWriter {
 public:
  // Its packs are of these files.
  PageWriter(PageStore& store, FileSystem& files, const PublicationOptions& options, std::shared_ptr<ReadyFiles> ready_files);
  ~PageWriter();  // removes the packs that have no name yet

  // As Publication::put() and wait().
  Status put(PageBatch batch);
  Status wait();
  // Waits until every page is stored.
  Status settle();
  bool is_settled() const;  // whether settle() would not wait
  // Settles, and makes the packs part of the store. There is none if the store had every page already.
  Status finish();

  // finish() in steps, between which several writers' packs are synced together. The first one settles, and ends the packs.
  Status end_packs();
  // A pack that has its end and its temporary name.
  struct Unnamed {
    UnsyncedFile* file;     // the writer's
    std::string temporary;  // the name that it has in the folder of packs
    Digest name;            // the one that it is to have
  };
  // The packs that are to be synced. To be called between end_packs() and name_packs().
  std::vector<Unnamed> unnamed() const;
  // Gives the packs their names, and makes them part of the store. The folder of packs is synced in between.
  Status name_packs();
  void join_store();

  Bytes written() const;
  // How many bytes the pages have, before compression, by which the store has grown: nothing until the packs are part of it, and
  // without those that another writer, which wrote the same at the same time, has brought before.
  Bytes new_content() const { return new_content_; }
  // How many bytes finish() will have written in all. To be called after settle().
  Bytes finished_size() const;
  // Adds the pages of the packs, with their names. To be called after end_packs().
  void add_pages_to(std::unordered_map<Digest, Digest>& packs) const;
  bool over_limit() const;

 private:
  // A part of a batch, which one thread works on.
  struct Part {
    std::shared_ptr<const PageBatch> batch;
    size_t first, last;      // pages
    const std::byte* bytes;  // of the first one
    uint64_t size;
  };
  // A page that is to be stored, unless the store turns out to have it.
  struct Wanted {
    Digest digest;
    ByteSpan content;
  };
  // Pages as the pack is to have them, but for their offsets.
  struct Stored {
    uint64_t* pending;  // in which they count until they are written
    uint64_t room;      // of the memory for their bytes
    std::unique_ptr<std::byte[]> bytes{};
    uint64_t stored = 0;  // how many bytes there are
    std::vector<PackedPage> pages{};
    uint64_t size = 0;  // of the contents
  };
  struct Pack {
    Path path{};                           // temporary
    std::unique_ptr<WritableFile> file{};  // null before it is written to, and once it has its name
    std::optional<Digest> name{};          // once it has its end
    std::vector<PackedPage> pages{};       // until it is part of the store
    uint64_t end = 0;
    // Whether a thread has all of the above; whether it has written so much that the next one that brings something is to go on;
    // and whether that one is there.
    bool is_written = false, wants_relief = false, has_relief = false;
  };

  void add(WriterThreads::Order order, uint64_t& pending, uint64_t size, std::function<Status()> work);
  void note(Status status, bool no_memory);
  Status digest(const Part& part, std::vector<Wanted>& wanted);
  Status digest_lent(const Part& part);
  Status store(const std::vector<Wanted>& wanted, uint64_t& pending);
  Status append(Stored stored);
  Pack* pack_to_write(std::unique_lock<std::mutex>& lock);
  std::list<Stored> take_brought();
  Status write(Pack& pack, const std::list<Stored>& all);
  Status create(Pack& pack);
  Status wait_for(const uint64_t& pending, WriterThreads::Order upto);

  PageStore& store_;
  FileSystem& files_;
  const PublicationOptions options_;
  const std::shared_ptr<WriterThreads> writers_;
  const std::shared_ptr<ReadyFiles> ready_files_;
  const uint64_t place_;

  mutable std::mutex mutex_;  // over everything up to pack_mutex_
  std::condition_variable changed_;
  uint64_t put_ = 0, kept_ = 0;  // bytes that wait or are worked on: what wait() waits for, and copies that are not stored yet
  bool over_limit_ = false;
  Status status_;
  Status no_memory_;  // made when there was some
  std::vector<Digest> claims_;

  std::mutex pack_mutex_;                           // over everything up to brought_stored_; never taken under mutex_
  std::condition_variable taken_;                   // something was, of what was brought, or a pack can be
  std::vector<Pack> packs_;                         // which stay where they are
  std::list<Stored> brought_;                       // for threads that write
  uint64_t brought_room_ = 0, brought_stored_ = 0;  // the memory that they take, and what is stored of it

  std::atomic<uint64_t> written_ = 0;  // what was brought, and the pack's ends
  Bytes new_content_;
};

}  // namespace mneme
