#include "mneme/store/page_writer.h"

#include <algorithm>
#include <set>

#include "mneme/base/processors.h"

namespace mneme {
namespace {

unsigned thread_count(const PublicationOptions& options) {
  return options.threads != 0 ? options.threads : std::clamp(usable_processors() / 2, 1u, 8u);
}

}  // namespace

PageWriter::PageWriter(PageStore& store, FileSystem& files, const PublicationOptions& options)
    : store_(store), files_(files), options_(options) {}

PageWriter::~PageWriter() {
  {
    std::lock_guard lock(mutex_);
    queue_.clear();
  }
  stop();
  if (!pack_) return;
  [[maybe_unused]] Status closed = pack_->close();
  [[maybe_unused]] Status removed = files_.remove(path_);
}

void PageWriter::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Status PageWriter::put(PageBatch batch) {
  uint64_t bytes = 0;
  for (const PageBatch::Page& page : batch.pages) bytes += page.size;
  std::unique_lock lock(mutex_);
  // Threads start with the second batch: a small instance is not worth one.
  if (threads_.empty() && queued_bytes_ != 0)
    for (unsigned i = 0; i < thread_count(options_); ++i) threads_.emplace_back([this] { work(); });
  changed_.wait(lock, [&] {
    return threads_.empty() || queued_bytes_ == 0 || queued_bytes_ + bytes <= options_.queue.count || !status_.ok();
  });
  if (!status_.ok()) return status_;
  queued_bytes_ += bytes;
  queue_.push_back({std::move(batch), bytes});
  changed_.notify_all();
  return {};
}

Status PageWriter::wait() {
  // This thread helps: it would only wait.
  for (;;) {
    std::unique_lock lock(mutex_);
    if (queue_.empty()) break;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    bool failed = !status_.ok();
    lock.unlock();
    Status status = failed ? Status() : write(job.batch);
    lock.lock();
    queued_bytes_ -= job.bytes;
    if (status_.ok()) status_ = status;
    changed_.notify_all();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queued_bytes_ == 0; });
  return status_;
}

void PageWriter::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Job job = std::move(queue_.front());
    queue_.pop_front();
    bool failed = !status_.ok();
    lock.unlock();
    Status status = failed ? Status() : write(job.batch);
    lock.lock();
    queued_bytes_ -= job.bytes;
    if (status_.ok()) status_ = status;
    changed_.notify_all();
  }
}

// Claimed first, and looked for then: of several threads with the same content one looks, and stores it where what is there is
// damaged.
bool PageWriter::claim(const Digest& digest, Bytes size) {
  {
    std::lock_guard lock(mutex_);
    if (!claimed_.insert(digest).second) return false;
  }
  return !store_.holds_whole(digest, size);
}

Status PageWriter::write(const PageBatch& batch) {
  ByteVector out;
  std::vector<PackedPage> pages;
  const std::byte* at = batch.bytes.get();
  for (const PageBatch::Page& page : batch.pages) {
    ByteSpan content(at, page.size);
    at += page.size;
    *page.digest = digest_of(content);
    if (!claim(*page.digest, Bytes(page.size))) continue;
    ByteVector stored = store_page(content, *page.digest, pages.emplace_back());
    out.insert(out.end(), stored.begin(), stored.end());
  }
  return pages.empty() ? Status() : append(out, std::move(pages));
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

Status PageWriter::append(ByteSpan stored, std::vector<PackedPage> pages) {
  std::lock_guard lock(pack_mutex_);
  if (written_ + stored.size() > options_.limit.count) {
    std::lock_guard flag(mutex_);
    over_limit_ = true;
    return error(Code::exhausted, "page contents of more than {} would be added to the database", options_.limit);
  }
  if (!pack_) MNEME_TRY(create_pack());
  MNEME_TRY(pack_->append(stored));
  written_ += stored.size();
  for (PackedPage& page : pages) {
    page.offset = end_;
    end_ += page.stored;
    pages_.push_back(page);
  }
  return {};
}

Status PageWriter::finish() {
  MNEME_TRY(wait());
  stop();
  if (!pack_) return {};
  Digest name;
  ByteVector tail = pack_tail(pages_, name);
  MNEME_TRY(pack_->append(tail));
  MNEME_TRY(pack_->sync());
  // Closed, and so unlocked, once the temporary name is gone.
  MNEME_TRY(files_.rename(path_, store_.directory() / pack_file_name(name)));
  MNEME_TRY(std::exchange(pack_, nullptr)->close());
  MNEME_TRY(files_.sync_directory(store_.directory()));
  written_ += tail.size() + pack_header().size();
  store_.add(name);
  return {};
}

Bytes PageWriter::written() const { return Bytes(written_); }

Bytes PageWriter::finished_size() const {
  if (!pack_) return written();
  Digest ignored;
  return written() + Bytes(pack_header().size() + pack_tail(pages_, ignored).size());
}

std::vector<Digest> PageWriter::packs_of(const MemoryState& state) const {
  Digest own;
  if (pack_) pack_tail(pages_, own);
  std::unordered_set<Digest> in_own;
  for (const PackedPage& page : pages_) in_own.insert(page.digest);
  std::set<Digest> packs;
  for (const Region& region : state.regions)
    for (const Digest& page : region.pages) packs.insert(in_own.contains(page) ? own : store_.pack_of(page).value_or(own));
  return {packs.begin(), packs.end()};
}

bool PageWriter::over_limit() const {
  std::lock_guard lock(mutex_);
  return over_limit_;
}

}  // namespace mneme
