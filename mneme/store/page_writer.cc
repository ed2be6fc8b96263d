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
// What threads bring to those that write, before compression, before they wait for them; and what, compressed, makes one of them
// write to another pack.
constexpr uint64_t kMostBrought = Bytes(32_MiB).count, kOtherPackBytes = Bytes(1_MiB).count;
// What a thread takes of it at a time.
constexpr uint64_t kWrittenBytes = Bytes(256_KiB).count;
// Where pages compress badly one file takes them more slowly than threads bring them (bench/RESULTS.md, "Threads that compress").
constexpr size_t kMostPacks = 4;

}  // namespace

PageWriter::PageWriter(PageStore& store, FileSystem& files, const PublicationOptions& options)
    : store_(store),
      files_(files),
      options_(options),
      writers_(options.writers ? options.writers : std::make_shared<WriterThreads>(options.threads)),
      place_(writers_->next_place()) {
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

// One thread at a time writes to a pack, and what others bring meanwhile, too. They go on compressing: where many threads wait
// for one file, the system takes longer to wake them than to write.
Status PageWriter::append(Stored stored) {
  std::unique_lock lock(pack_mutex_);
  const uint64_t size = stored.stored;
  has_room_.wait(lock, [&] { return brought_bytes_ < kMostBrought; });
  if (written_ + size > options_.limit.count) {
    std::lock_guard flag(mutex_);
    over_limit_ = true;
    return error(Code::exhausted, "page contents of more than {} would be added to the database", options_.limit);
  }
  brought_.push_back(std::move(stored));
  brought_bytes_ += brought_.back().size;
  brought_stored_ += size;
  written_ += size;
  {
    std::lock_guard count(mutex_);
    *brought_.back().pending += brought_.back().size;
  }
  Pack* const pack = free_pack();
  if (!pack) return {};
  pack->is_written = true;
  Status status;
  while (!brought_.empty()) {
    const std::list<Stored> taken = take_brought();
    lock.unlock();
    has_room_.notify_all();
    if (status.ok()) status = write(*pack, taken);
    {
      std::lock_guard count(mutex_);
      for (const Stored& one : taken) *one.pending -= one.size;
      if (status_.ok()) status_ = status;
    }
    changed_.notify_all();
    lock.lock();
  }
  pack->is_written = false;
  return status;
}

// Under pack_mutex_: one that nobody writes to, or null. Another one is only begun where much waits for those that there are:
// more files are more to sync and to read.
PageWriter::Pack* PageWriter::free_pack() {
  for (Pack& pack : packs_)
    if (!pack.is_written) return &pack;
  const bool needs_one = packs_.empty() || (packs_.size() < kMostPacks && brought_stored_ >= kOtherPackBytes);
  return needs_one ? &packs_.emplace_back() : nullptr;
}

// Under pack_mutex_: what one thread writes before it looks again, and others have a part in.
std::list<PageWriter::Stored> PageWriter::take_brought() {
  std::list<Stored> taken;
  for (uint64_t stored = 0; !brought_.empty() && stored < kWrittenBytes; stored += taken.back().stored) {
    taken.splice(taken.end(), brought_, brought_.begin());
    brought_bytes_ -= taken.back().size;
    brought_stored_ -= taken.back().stored;
  }
  return taken;
}

// Memory that runs out is an error as any other one: the thread has to say that it writes no more.
Status PageWriter::write(Pack& pack, const std::list<Stored>& all) {
  try {
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
  } catch (const std::bad_alloc&) {
    return error(Code::exhausted, "there is no memory to store pages with");
  }
}

Status PageWriter::create(Pack& pack) {
  MNEME_TRY(files_.create_directories(store_.directory()));
  MNEME_ASSIGN(TemporaryFile temporary, files_.create_temporary(store_.directory() / "pack"));
  pack.path = std::move(temporary.path);
  pack.file = std::move(temporary.file);
  const ByteVector header = pack_header();
  MNEME_TRY(pack.file->append(header));
  pack.end = header.size();
  return {};
}

Status PageWriter::finish() {
  MNEME_TRY(end_packs());
  if (packs_.empty()) return {};
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
