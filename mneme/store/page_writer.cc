#include "mneme/store/page_writer.h"

#include <algorithm>
#include <new>
#include <utility>

namespace mneme {
namespace {

// What one thread takes of a lent batch.
constexpr uint64_t kPartBytes = Bytes(1_MiB).count;
// How much of it one thread compresses at a time where other threads would have nothing to do: it takes thirty times as long as
// digesting.
constexpr uint64_t kSharedPartBytes = Bytes(128_KiB).count;
// What threads bring to the one that writes, before compression, before they wait for it.
constexpr uint64_t kMostBrought = Bytes(32_MiB).count;

}  // namespace

PageWriter::PageWriter(PageStore& store, FileSystem& files, const PublicationOptions& options)
    : store_(store),
      files_(files),
      options_(options),
      writers_(options.writers ? options.writers : std::make_shared<WriterThreads>(options.threads)),
      place_(writers_->next_place()) {}

PageWriter::~PageWriter() {
  std::unique_lock lock(mutex_);
  if (status_.ok()) status_ = error(Code::unavailable, "the publication was given up");  // work that is left does nothing then
  while (put_ != 0 || kept_ != 0) {
    lock.unlock();
    const auto left = writers_->take_all(this);
    for (const auto& work : left) work();
    lock.lock();
    // The last of it may have been done since it was looked at.
    if (left.empty()) changed_.wait(lock, [&, before = put_ + kept_] { return put_ + kept_ != before || put_ + kept_ == 0; });
  }
  lock.unlock();
  writers_->release_claims(place_, claims_);
  if (!pack_) return;
  [[maybe_unused]] Status closed = pack_->close();
  [[maybe_unused]] Status removed = files_.remove(path_);
}

// `size` counts as pending until the work is done, and its status is this writer's.
void PageWriter::add(WriterThreads::Order order, uint64_t& pending, uint64_t size, std::function<Status()> work) {
  {
    std::lock_guard lock(mutex_);
    pending += size;
  }
  auto run = [this, &pending, size, work = std::move(work)]() mutable {
    std::unique_lock lock(mutex_);
    const bool failed = !status_.ok();
    lock.unlock();
    Status status;
    try {
      if (!failed) status = work();
    } catch (const std::bad_alloc&) {
      status = error(Code::exhausted, "there is no memory to store pages with");
    }
    work = nullptr;  // lets go of the pages
    lock.lock();
    if (status_.ok()) status_ = std::move(status);
    pending -= size;
    changed_.notify_all();
  };
  try {
    writers_->add(order, this, std::move(run));
  } catch (const std::bad_alloc&) {
    std::lock_guard lock(mutex_);
    pending -= size;  // nobody will do it
    throw;
  }
}

Status PageWriter::put(PageBatch batch) {
  auto shared = std::make_shared<const PageBatch>(std::move(batch));
  Part part{shared, 0, 0, shared->bytes.get(), 0};
  if (!shared->lent) {
    for (const PageBatch::Page& page : shared->pages) part.size += page.size;
    part.last = shared->pages.size();
    {
      std::unique_lock lock(mutex_);
      const auto has_room = [&] { return put_ == 0 || put_ + part.size <= options_.queue.count || !status_.ok(); };
      while (!has_room()) {
        lock.unlock();
        const bool helped = !writers_->start() && writers_->help(WriterThreads::Order::first);
        lock.lock();
        if (!helped) changed_.wait(lock, has_room);
      }
      if (!status_.ok()) return status_;
    }
    add(WriterThreads::Order::first, put_, part.size, [this, part]() -> Status {
      std::vector<Wanted> wanted;
      MNEME_TRY(digest(part, wanted));
      return store(wanted, put_);
    });
    return {};
  }
  for (size_t i = 0; i < shared->pages.size(); ++i) {
    part.size += shared->pages[i].size;
    if (part.size < kPartBytes && i + 1 < shared->pages.size()) continue;
    part.last = i + 1;
    add(WriterThreads::Order::first, put_, part.size, [this, part] { return digest_lent(part); });
    part = {shared, i + 1, i + 1, part.bytes + part.size, 0};
  }
  std::lock_guard lock(mutex_);
  return status_;
}

// This thread helps: it would only wait.
Status PageWriter::wait_for(const uint64_t& pending, WriterThreads::Order upto) {
  std::unique_lock lock(mutex_);
  while (put_ != 0 || pending != 0) {
    lock.unlock();
    const bool helped = writers_->help(upto);
    lock.lock();
    if (!helped)
      changed_.wait(lock, [&, before = put_ + kept_] { return put_ + kept_ != before || (put_ == 0 && pending == 0); });
  }
  return status_;
}

Status PageWriter::wait() { return wait_for(put_, WriterThreads::Order::first); }
Status PageWriter::settle() { return wait_for(kept_, WriterThreads::Order::later); }
bool PageWriter::is_settled() const {
  std::lock_guard lock(mutex_);
  return put_ == 0 && kept_ == 0;
}

// Claimed first, and looked for then: of several threads with the same content one looks, and stores it where what is there is
// damaged.
Status PageWriter::digest(const Part& part, std::vector<Wanted>& wanted) {
  const std::byte* at = part.bytes;
  std::vector<Digest> digests;
  std::vector<ByteSpan> contents;
  for (size_t i = part.first; i < part.last; ++i) {
    const PageBatch::Page& page = part.batch->pages[i];
    contents.emplace_back(at, page.size);
    at += page.size;
    digests.push_back(*page.digest = digest_of(contents.back()));
  }
  {
    // Before they are claimed, so that none stays claimed where memory runs out.
    std::lock_guard lock(mutex_);
    claims_.insert(claims_.end(), digests.begin(), digests.end());
  }
  const std::vector<bool> claimed = writers_->claim(digests, place_);
  for (size_t i = 0; i < digests.size(); ++i)
    if (claimed[i]) wanted.push_back({digests[i], contents[i]});
  std::erase_if(wanted, [&](const Wanted& page) { return store_.has_read(page.digest, Bytes(page.content.size())); });
  return {};
}

Status PageWriter::digest_lent(const Part& part) {
  std::vector<Wanted> wanted;
  MNEME_TRY(digest(part, wanted));
  if (wanted.empty()) return {};
  std::vector<ByteSpan> contents;
  uint64_t size = 0;
  for (const Wanted& page : wanted) {
    contents.push_back(page.content);
    size += page.content.size();
  }
  const std::shared_ptr<std::byte> kept = writers_->keep(contents);
  if (!kept) return store(wanted, kept_);
  const std::byte* at = kept.get();
  const uint64_t most = writers_->is_short_of_work() ? kSharedPartBytes : size;
  std::vector<Wanted> piece;
  uint64_t piece_size = 0;
  for (const Wanted& page : wanted) {
    piece.push_back({page.digest, {at, page.content.size()}});
    at += page.content.size();
    piece_size += page.content.size();
    if (piece_size < most && at != kept.get() + size) continue;
    add(WriterThreads::Order::later, kept_, piece_size, [this, kept, piece = std::move(piece)] { return store(piece, kept_); });
    piece = {};
    piece_size = 0;
  }
  return {};
}

Status PageWriter::store(const std::vector<Wanted>& wanted, uint64_t& pending) {
  uint64_t size = 0;
  for (const Wanted& page : wanted) size += page.content.size();
  Stored stored{&pending, std::make_unique_for_overwrite<std::byte[]>(size)};
  for (const Wanted& page : wanted) {
    if (store_.holds_whole(page.digest, Bytes(page.content.size()))) continue;
    PackedPage& packed = stored.pages.emplace_back();
    store_page(page.content, page.digest, {stored.bytes.get() + stored.stored, page.content.size()}, packed);
    stored.stored += packed.stored;
    stored.size += page.content.size();
  }
  return stored.pages.empty() ? Status() : append(std::move(stored));
}

Status PageWriter::create_pack() {
  MNEME_TRY(files_.create_directories(store_.directory()));
  MNEME_ASSIGN(TemporaryFile temporary, files_.create_temporary(store_.directory() / "pack"));
  path_ = std::move(temporary.path);
  pack_ = std::move(temporary.file);
  ByteVector header = pack_header();
  MNEME_TRY(pack_->append(header));
  end_ = header.size();
  return {};
}

// One thread at a time writes to the pack, and what others bring meanwhile, too. They go on compressing: where many threads wait
// for one file, the system takes longer to wake them than to write.
Status PageWriter::append(Stored stored) {
  std::unique_lock lock(pack_mutex_);
  const uint64_t size = stored.stored;
  has_room_.wait(lock, [&] { return !is_writing_ || brought_bytes_ < kMostBrought; });
  if (written_ + size > options_.limit.count) {
    std::lock_guard flag(mutex_);
    over_limit_ = true;
    return error(Code::exhausted, "page contents of more than {} would be added to the database", options_.limit);
  }
  brought_.push_back(std::move(stored));
  brought_bytes_ += brought_.back().size;
  written_ += size;
  {
    std::lock_guard count(mutex_);
    *brought_.back().pending += brought_.back().size;
  }
  if (is_writing_) return {};
  is_writing_ = true;
  Status status;
  while (!brought_.empty()) {
    const std::vector<Stored> some = std::exchange(brought_, {});
    brought_bytes_ = 0;
    lock.unlock();
    has_room_.notify_all();
    if (status.ok()) status = write(some);
    {
      std::lock_guard count(mutex_);
      for (const Stored& one : some) *one.pending -= one.size;
      if (status_.ok()) status_ = status;
    }
    changed_.notify_all();
    lock.lock();
  }
  is_writing_ = false;
  has_room_.notify_all();
  return status;
}

// On one thread at a time. Memory that runs out is an error as any other one: the thread has to say that it writes no more.
Status PageWriter::write(const std::vector<Stored>& all) {
  try {
    if (!pack_) MNEME_TRY(create_pack());
    for (const Stored& stored : all) {
      MNEME_TRY(pack_->append({stored.bytes.get(), stored.stored}));
      for (PackedPage page : stored.pages) {
        page.offset = end_;
        end_ += page.stored;
        pages_.push_back(page);
      }
    }
    return {};
  } catch (const std::bad_alloc&) {
    return error(Code::exhausted, "there is no memory to store pages with");
  }
}

Status PageWriter::finish() {
  MNEME_TRY(end_pack());
  if (pages_.empty()) return {};
  if (pack_) {
    MNEME_TRY(pack_->sync());
    MNEME_TRY(name_pack());
  }
  MNEME_TRY(files_.sync_directory(store_.directory()));
  join_store();
  return {};
}

Status PageWriter::end_pack() {
  MNEME_TRY(settle());
  if (!pack_ || name_) return {};
  Digest name;
  const ByteVector tail = pack_tail(pages_, name);
  if (Status appended = pack_->append(tail); !appended.ok()) {
    std::lock_guard lock(mutex_);
    return status_ = appended;  // half an end may be there: no other one is put behind it
  }
  name_ = name;
  written_ += tail.size() + pack_header().size();
  return {};
}

// Closed, and so unlocked, once the temporary name is gone.
Status PageWriter::name_pack() {
  if (!pack_) return {};
  MNEME_TRY(files_.rename(path_, store_.directory() / pack_file_name(*name_)));
  return std::exchange(pack_, nullptr)->close();
}

void PageWriter::join_store() {
  if (name_ && !pages_.empty()) new_content_ += store_.add(*name_, std::exchange(pages_, {}));
}

Bytes PageWriter::written() const { return Bytes(written_); }

Bytes PageWriter::finished_size() const {
  if (!pack_ || name_) return written();
  Digest ignored;
  return written() + Bytes(pack_header().size() + pack_tail(pages_, ignored).size());
}

void PageWriter::add_pages_to(std::unordered_map<Digest, Digest>& packs) const {
  if (!name_) return;
  for (const PackedPage& page : pages_) packs.try_emplace(page.digest, *name_);
}

bool PageWriter::over_limit() const {
  std::lock_guard lock(mutex_);
  return over_limit_;
}

}  // namespace mneme
