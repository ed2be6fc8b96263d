#include "mneme/store/page_writer.h"

#include <algorithm>
#include <new>
#include <utility>

namespace mneme {
namespace {

// What one thread digests of a lent batch, which is so many parts where these are not too small or too large.
constexpr uint64_t kPartBytes = Bytes(1_MiB).count, kLeastPartBytes = Bytes(128_KiB).count, kParts = 16;
// How much of it one thread compresses at a time where other threads would have nothing to do: it takes thirty times as long as
// digesting.
constexpr uint64_t kSharedPartBytes = Bytes(128_KiB).count;
// Another pack is begun where so much, compressed, waits for the threads that write.
constexpr uint64_t kOtherPackBytes = Bytes(1_MiB).count;
// What such a thread takes of it at a time, and after how much it lets another one go on, since it may be the program's.
constexpr uint64_t kTakenAtOnce = Bytes(256_KiB).count, kWrittenAtOnce = Bytes(4_MiB).count;
// Packs of one publication that are written at once (bench/RESULTS.md, "Threads that compress do not wait for a file").
constexpr size_t kMostPacks = 4;

}  // namespace

PageWriter::PageWriter(PageStore& store, FileSystem& files, const PublicationOptions& options,
                       std::shared_ptr<ReadyFiles> ready_files)
    : store_(store),
      files_(files),
      options_(options),
      writers_(options.writers ? options.writers : std::make_shared<WriterThreads>(options.threads)),
      ready_files_(std::move(ready_files)),
      place_(writers_->next_place()),
      no_memory_(error(Code::exhausted, "there is no memory to store pages with")) {
  packs_.reserve(kMostPacks);
}

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
  for (const Pack& pack : packs_) {
    if (!pack.file) continue;
    [[maybe_unused]] Status closed = pack.file->close();
    [[maybe_unused]] Status removed = files_.remove(pack.path);
  }
  if (packs_.size() > 1) writers_->give_back_files(static_cast<int>(packs_.size() - 1));
}

// Under mutex_. The first failure is this writer's.
void PageWriter::note(Status status, bool no_memory) {
  if (status_.ok() && (no_memory || !status.ok())) status_ = std::move(no_memory ? no_memory_ : status);
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
    bool no_memory = false;
    try {
      if (!failed) status = work();
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
    work = nullptr;  // lets go of the pages
    lock.lock();
    note(std::move(status), no_memory);
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
  uint64_t size = 0;
  for (const PageBatch::Page& page : shared->pages) size += page.size;
  const uint64_t most = std::clamp(size / kParts, kLeastPartBytes, kPartBytes);
  for (size_t i = 0; i < shared->pages.size(); ++i) {
    part.size += shared->pages[i].size;
    if (part.size < most && i + 1 < shared->pages.size()) continue;
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
  Stored stored{&pending, size, std::make_unique_for_overwrite<std::byte[]>(size)};
  for (const Wanted& page : wanted) {
    if (store_.holds_whole(page.digest, Bytes(page.content.size()))) continue;
    PackedPage& packed = stored.pages.emplace_back();
    store_page(page.content, page.digest, {stored.bytes.get() + stored.stored, page.content.size()}, packed);
    stored.stored += packed.stored;
    stored.size += page.content.size();
  }
  return stored.pages.empty() ? Status() : append(std::move(stored));
}

// One thread at a time writes to a pack, and what others bring meanwhile, too. They go on compressing: where many threads wait
// for one file, the system takes longer to wake them than to write. Nothing here may throw once others count on this thread.
Status PageWriter::append(Stored stored) {
  std::unique_lock lock(pack_mutex_);
  taken_.wait(lock, [&] { return brought_room_ < writers_->most_brought(); });
  const uint64_t size = stored.stored;
  if (written_ + size > options_.limit.count) {
    std::lock_guard flag(mutex_);
    over_limit_ = true;
    return error(Code::exhausted, "page contents of more than {} would be added to the database", options_.limit);
  }
  brought_.push_back(std::move(stored));
  brought_room_ += brought_.back().room;
  brought_stored_ += size;
  written_ += size;
  {
    std::lock_guard count(mutex_);
    *brought_.back().pending += brought_.back().size;
  }
  Pack* const pack = pack_to_write(lock);
  if (!pack) return {};
  pack->is_written = true;
  bool failed = false;
  for (uint64_t so_far = 0; !brought_.empty() && !pack->has_relief;) {
    std::list<Stored> some = take_brought();
    lock.unlock();
    taken_.notify_all();
    Status status;
    bool no_memory = false;
    try {
      if (!failed) status = write(*pack, some);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
    failed = failed || no_memory || !status.ok();
    {
      std::lock_guard count(mutex_);
      for (const Stored& one : some) *one.pending -= one.size, so_far += one.stored;
      note(std::move(status), no_memory);
    }
    changed_.notify_all();
    some.clear();  // while others may bring
    lock.lock();
    pack->wants_relief = so_far >= kWrittenAtOnce;
  }
  pack->is_written = pack->wants_relief = false;
  taken_.notify_all();
  return {};
}

// The pack that this thread is to write to, if any: one that nobody writes to, or whose thread has written for long enough, which
// it waits for. Another one is only begun where much waits for those that there are: more files are more to sync and to read.
PageWriter::Pack* PageWriter::pack_to_write(std::unique_lock<std::mutex>& lock) {
  for (Pack& pack : packs_)
    if (!pack.is_written && !pack.has_relief) return &pack;
  const bool needs_one = packs_.empty() || (packs_.size() < kMostPacks && brought_stored_ >= kOtherPackBytes);
  if (needs_one && (packs_.empty() || writers_->take_file())) return &packs_.emplace_back();
  const auto tired = std::ranges::find_if(packs_, [](const Pack& pack) { return pack.wants_relief && !pack.has_relief; });
  if (tired == packs_.end()) return nullptr;
  tired->has_relief = true;
  taken_.wait(lock, [&] { return !tired->is_written; });
  tired->has_relief = false;
  return &*tired;
}

// Under pack_mutex_: what one thread writes before it looks again, and others have a part in.
std::list<PageWriter::Stored> PageWriter::take_brought() {
  std::list<Stored> taken;
  for (uint64_t stored = 0; !brought_.empty() && stored < kTakenAtOnce; stored += taken.back().stored) {
    taken.splice(taken.end(), brought_, brought_.begin());
    brought_room_ -= taken.back().room;
    brought_stored_ -= taken.back().stored;
  }
  return taken;
}

Status PageWriter::write(Pack& pack, const std::list<Stored>& all) {
  if (!pack.file) MNEME_TRY(create(pack));
  for (const Stored& stored : all) {
    MNEME_TRY(pack.file->append({stored.bytes.get(), stored.stored}));
    for (PackedPage page : stored.pages) {
      page.offset = pack.end;
      pack.end += page.stored;
      pack.pages.push_back(page);
    }
  }
  return {};
}

Status PageWriter::create(Pack& pack) {
  MNEME_TRY(files_.create_directories(store_.directory()));
  MNEME_ASSIGN(TemporaryFile temporary, ready_files_->take(ReadyFiles::Kind::pack));
  pack.path = std::move(temporary.path);
  pack.file = std::move(temporary.file);
  const ByteVector header = pack_header();
  MNEME_TRY(pack.file->append(header));
  pack.end = header.size();
  return {};
}

Status PageWriter::finish() {
  MNEME_TRY(end_packs());
  if (std::ranges::all_of(packs_, [](const Pack& pack) { return pack.pages.empty(); })) return {};
  for (const Pack& pack : packs_)
    if (pack.file) MNEME_TRY(pack.file->sync());
  MNEME_TRY(name_packs());
  MNEME_TRY(files_.sync_directory(store_.directory()));
  join_store();
  return {};
}

Status PageWriter::end_packs() {
  MNEME_TRY(settle());
  for (Pack& pack : packs_) {
    if (pack.name) continue;
    Digest name;
    const ByteVector tail = pack_tail(pack.pages, name);
    if (Status appended = pack.file->append(tail); !appended.ok()) {
      std::lock_guard lock(mutex_);
      return status_ = appended;  // half an end may be there: no other one is put behind it
    }
    pack.name = name;
    written_ += tail.size() + pack_header().size();
  }
  return {};
}

std::vector<PageWriter::Unnamed> PageWriter::unnamed() const {
  std::vector<Unnamed> all;
  for (const Pack& pack : packs_)
    if (pack.file) all.push_back({pack.file.get(), pack.path.filename().string(), *pack.name});
  return all;
}

// Closed, and so unlocked, once the temporary name is gone.
Status PageWriter::name_packs() {
  for (Pack& pack : packs_) {
    if (!pack.file) continue;
    MNEME_TRY(files_.rename(pack.path, store_.directory() / pack_file_name(*pack.name)));
    MNEME_TRY(std::exchange(pack.file, nullptr)->close());
  }
  return {};
}

void PageWriter::join_store() {
  for (Pack& pack : packs_)
    if (!pack.pages.empty()) new_content_ += store_.add(*pack.name, std::exchange(pack.pages, {}));
}

Bytes PageWriter::written() const { return Bytes(written_); }

Bytes PageWriter::finished_size() const {
  Bytes size = written();
  for (const Pack& pack : packs_) {
    Digest ignored;
    if (!pack.name) size += Bytes(pack_header().size() + pack_tail(pack.pages, ignored).size());
  }
  return size;
}

void PageWriter::add_pages_to(std::unordered_map<Digest, Digest>& packs) const {
  for (const Pack& pack : packs_)
    for (const PackedPage& page : pack.pages) packs.try_emplace(page.digest, *pack.name);
}

bool PageWriter::over_limit() const {
  std::lock_guard lock(mutex_);
  return over_limit_;
}

}  // namespace mneme
