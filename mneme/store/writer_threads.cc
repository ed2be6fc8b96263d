#include "mneme/store/writer_threads.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "mneme/base/idle_threads.h"
#include "mneme/base/processors.h"

namespace mneme {
namespace {

// So many free blocks are kept for the next pages, which saves their first touch. The system gets the others back.
constexpr size_t kKeptBlocks = 64;
// Blocks of which a part has contents, at most: as many as threads fill at once.
constexpr size_t kFillings = 16;

int more_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 16, 64)) : 0;
}

}  // namespace

WriterThreads::WriterThreads(unsigned threads, Bytes memory)
    : count_(threads != 0 ? threads : std::clamp(usable_processors() / 2, 1u, 8u)),
      hurried_count_(std::max(count_, std::min(usable_processors(), 16u))),
      most_brought_(std::clamp(memory.count / 8, Bytes(2_MiB).count, Bytes(32_MiB).count)),
      files_left_(more_files()),
      blocks_left_(memory.count / kBlock.count) {}

WriterThreads::~WriterThreads() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ == 0; });
  }
  fillings_.clear();  // to the free blocks
  for (std::byte* block : free_blocks_) std::free(block);
}

void WriterThreads::start_all() {
  try {
    for (; running_ < most(); ++running_) start_idle_thread([this] { run_all(); });
  } catch (const std::system_error&) {
    // Those that there are do all the work.
  }
}

bool WriterThreads::start() {
  std::lock_guard lock(mutex_);
  start_all();
  return running_ != 0;
}

WriterThreads::Hurry::Hurry(WriterThreads& threads) : threads_(threads) {
  {
    std::lock_guard lock(threads_.mutex_);
    ++threads_.hurries_;
    if (!threads_.queues_[0].empty() || !threads_.queues_[1].empty()) threads_.start_all();
  }
  threads_.changed_.notify_all();
}

WriterThreads::Hurry::~Hurry() {
  std::lock_guard lock(threads_.mutex_);
  --threads_.hurries_;
}

void WriterThreads::add(Order order, const void* owner, std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (!queues_[0].empty() || !queues_[1].empty()) start_all();
    queues_[static_cast<size_t>(order)].push_back({owner, std::move(work)});
  }
  changed_.notify_one();
}

bool WriterThreads::take(Work& work, Order upto) {
  for (size_t order = 0; order <= static_cast<size_t>(upto); ++order) {
    if (queues_[order].empty()) continue;
    work = std::move(queues_[order].front());
    queues_[order].pop_front();
    return true;
  }
  return false;
}

bool WriterThreads::help(Order upto) {
  Work work;
  {
    std::lock_guard lock(mutex_);
    if (!take(work, upto)) return false;
  }
  work.run();
  return true;
}

bool WriterThreads::is_short_of_work() {
  std::lock_guard lock(mutex_);
  return queues_[0].size() + queues_[1].size() < most();
}

void WriterThreads::run_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Work work;
    (void)changed_.wait_for(lock, kIdleThreadsEnd, [&] { return stopping_ || (working_ < most() && take(work, Order::later)); });
    if (!work.run) break;
    ++working_;
    lock.unlock();
    work.run();
    work = {};
    lock.lock();
    --working_;
  }
  --running_;
  changed_.notify_all();
}

std::vector<std::function<void()>> WriterThreads::take_all(const void* owner) {
  std::vector<std::function<void()>> taken;
  std::lock_guard lock(mutex_);
  for (auto& queue : queues_)
    std::erase_if(queue, [&](Work& work) {
      if (work.owner != owner) return false;
      taken.push_back(std::move(work.run));
      return true;
    });
  return taken;
}

WriterThreads::Block WriterThreads::take_block() {
  std::byte* block = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (blocks_left_ == 0) return nullptr;
    --blocks_left_;
    if (!free_blocks_.empty()) {
      block = free_blocks_.back();
      free_blocks_.pop_back();
    }
  }
  if (!block) {
    block = static_cast<std::byte*>(std::aligned_alloc(kBlock.count, kBlock.count));
    if (block) (void)::madvise(block, kBlock.count, MADV_HUGEPAGE);
  }
  if (block) return Block(block, [this](std::byte* used) { give_back(used); });
  std::lock_guard lock(mutex_);
  ++blocks_left_;
  return nullptr;
}

void WriterThreads::give_back(std::byte* block) {
  {
    std::lock_guard lock(mutex_);
    ++blocks_left_;
    if (free_blocks_.size() < kKeptBlocks) {
      free_blocks_.push_back(block);
      return;
    }
  }
  std::free(block);
}

// So that no two threads touch the same memory for the first time: the system would clear it for each.
std::shared_ptr<WriterThreads::Filling> WriterThreads::take_filling(uint64_t size) {
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(fillings_, [&](const auto& one) { return one->used + size <= kBlock.count; });
    if (found != fillings_.end()) {
      std::shared_ptr<Filling> filling = std::move(*found);
      fillings_.erase(found);
      ++filling->contents;
      filling->used += size;
      return filling;
    }
  }
  Block block = take_block();
  return block ? std::make_shared<Filling>(Filling{std::move(block), size, 1}) : nullptr;
}

void WriterThreads::put_filling(std::shared_ptr<Filling> filling) {
  std::shared_ptr<Filling> full;  // goes when the mutex is free
  std::lock_guard lock(mutex_);
  fillings_.push_back(std::move(filling));
  if (fillings_.size() <= kFillings) return;
  const auto fullest = std::ranges::max_element(fillings_, {}, [](const auto& one) { return one->used; });
  full = std::move(*fullest);
  fillings_.erase(fullest);
}

std::shared_ptr<std::byte> WriterThreads::keep(std::span<const ByteSpan> contents) {
  uint64_t size = 0;
  for (ByteSpan content : contents) size += content.size();
  std::shared_ptr<Filling> filling = size <= kBlock.count ? take_filling(size) : nullptr;
  if (!filling) return nullptr;
  std::byte* const begin = filling->block.get() + filling->used - size;
  std::shared_ptr<std::byte> kept(begin, [this, filling](std::byte*) {
    std::lock_guard lock(mutex_);
    if (--filling->contents == 0) filling->used = 0;
  });
  std::byte* to = begin;
  for (ByteSpan content : contents) to = std::ranges::copy(content, to).out;
  put_filling(std::move(filling));
  return kept;
}

bool WriterThreads::take_file() {
  if (--files_left_ >= 0) return true;
  ++files_left_;
  return false;
}

uint64_t WriterThreads::next_place() {
  std::lock_guard lock(mutex_);
  return places_++;
}

std::vector<bool> WriterThreads::claim(std::span<const Digest> digests, uint64_t place) {
  std::vector<bool> taken(digests.size());
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < digests.size(); ++i) {
    const auto [claimed, is_first] = claimed_.try_emplace(digests[i], place);
    taken[i] = is_first || claimed->second > place;
    if (taken[i]) claimed->second = place;
  }
  return taken;
}

void WriterThreads::release_claims(uint64_t place, const std::vector<Digest>& digests) {
  std::lock_guard lock(mutex_);
  for (const Digest& digest : digests)
    if (auto claimed = claimed_.find(digest); claimed != claimed_.end() && claimed->second == place) claimed_.erase(claimed);
}

}  // namespace mneme
