#include "mneme/store/page_store.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

#include "mneme/base/processors.h"

namespace mneme {
namespace {

// Below this number of pages a second thread does not pay.
constexpr size_t kPagesPerThread = 32;

}  // namespace

void PageStore::load(const std::string& name) {
  const Path path = directory_ / name;
  auto read = [&]() -> Result<std::vector<PackedPage>> {
    MNEME_ASSIGN(auto file, files_.open(path));
    return read_pack(*file, path.string());
  };
  auto pages = read();
  if (pages.ok())
    insert(*pack_of_file(name), std::move(*pages));
  else
    damaged_[name] = pages.status();
  // What a disk does not read now it may read later.
  if (pages.ok() || pages.status().code() == Code::corrupt || pages.status().code() == Code::incompatible) known_.insert(name);
}

const PageStore::Pack* PageStore::insert(const Digest& name, std::vector<PackedPage> pages) {
  const std::string file = pack_file_name(name);
  damaged_.erase(file);
  auto pack = std::make_unique<Pack>(Pack{name, directory_ / file, std::move(pages), packs_.size()});
  for (uint32_t i = 0; i < pack->pages.size(); ++i) {
    const Place place{pack.get(), i};
    if (!places_.try_emplace(pack->pages[i].digest, place).second) others_.emplace(pack->pages[i].digest, place);
  }
  return packs_.emplace_back(std::move(pack)).get();
}

void PageStore::refresh() {
  const auto begin = std::chrono::steady_clock::now();
  auto names = files_.list(directory_);
  std::unique_lock lock(mutex_);
  unlisted_ = names.status().code() == Code::not_found ? Status() : names.status();
  if (names.ok())  // no directory, no packs: a page that is wanted will be missed by name
    for (const std::string& name : *names)
      if (pack_of_file(name) && !known_.contains(name)) load(name);
  looked_ = std::chrono::steady_clock::now();
  look_ = looked_ - begin;
}

void PageStore::forget() {
  std::unique_lock lock(mutex_);
  known_.clear();
  damaged_.clear();
  places_.clear();
  others_.clear();
  looked_ = {};
  look_ = {};
}

void PageStore::look_for_others() {
  constexpr int kShare = 50;  // of the time goes into looking
  {
    std::shared_lock lock(mutex_);
    if (std::chrono::steady_clock::now() - looked_ < kShare * look_) return;
  }
  refresh();
}

Bytes PageStore::add(const Digest& name, std::vector<PackedPage> pages) {
  std::unique_lock lock(mutex_);
  known_.insert(pack_file_name(name));
  Bytes added;
  for (const PackedPage& page : pages) {
    const auto found = places_.find(page.digest);
    // refresh() may have found this very pack before it is taken in, and somebody may have read it.
    const auto was_there = [&](const Place& place) { return place.counted || (place.whole && place.pack->name != name); };
    if (found == places_.end() || !was_there(found->second)) added += Bytes(page.size);
  }
  const Pack* pack = insert(name, std::move(pages));
  // Before those that may be damaged.
  for (uint32_t i = 0; i < pack->pages.size(); ++i) places_[pack->pages[i].digest] = {pack, i, true, true};
  return added;
}

// Most pages that are asked for are new: of them no message is made.
bool PageStore::holds_whole(const Digest& digest, Bytes size) {
  {
    std::shared_lock lock(mutex_);
    if (!places_.contains(digest)) return false;
  }
  return check_whole(digest, size).ok();
}

Status PageStore::check_whole(const Digest& digest, Bytes size) {
  {
    std::shared_lock lock(mutex_);
    auto found = places_.find(digest);
    if (found == places_.end()) return missing(digest);
    const Place& place = found->second;
    const uint32_t stored = place.pack->pages[place.index].size;
    if (place.whole && stored == size.count) return {};
    if (place.whole)
      return error(Code::corrupt, "{}: page {} has {} bytes, {} expected", place.pack->path.string(), digest.hex(), stored,
                   size.count);
  }
  ByteVector content(size.count);
  const PageRequest request{digest, content};
  MNEME_TRY(read_some({&request, 1}));
  std::unique_lock lock(mutex_);
  places_.at(digest).whole = true;
  return {};
}

Result<PageStore::Place> PageStore::locate(const Digest& digest) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      std::shared_lock lock(mutex_);
      if (auto found = places_.find(digest); found != places_.end()) return found->second;
    }
    if (attempt == 0) refresh();
  }
  std::shared_lock lock(mutex_);
  return missing(digest);
}

Status PageStore::missing(const Digest& page) const {
  if (!unlisted_.ok()) return unlisted_;
  // One that cannot be read at the moment may have it.
  for (const auto& [name, status] : damaged_)
    if (status.code() != Code::corrupt) return status;
  if (!damaged_.empty()) return damaged_.begin()->second;
  std::vector<std::string> gone;
  for (const std::string& name : expected_)
    if (!known_.contains(name)) gone.push_back(name);
  return error(Code::corrupt, "{}: no pack of pages holds page {}{}{}", directory_.string(), page.hex(),
               gone.empty() ? "" : "; missing, though recordings name it: ", fmt::join(gone, ", "));
}

bool PageStore::has_read(const Digest& digest, Bytes size) const {
  std::shared_lock lock(mutex_);
  auto found = places_.find(digest);
  return found != places_.end() && found->second.whole && found->second.pack->pages[found->second.index].size == size.count;
}

PageStore::Packs PageStore::find_packs(std::span<const Digest> pages) const {
  Packs packs;
  std::shared_lock lock(mutex_);
  std::vector<bool> seen(packs_.size());
  for (const Digest& page : pages) {
    const auto found = places_.find(page);
    if (found == places_.end() || !found->second.whole) {
      packs.others.push_back(page);
    } else if (const Pack* pack = found->second.pack; !seen[pack->place]) {
      seen[pack->place] = true;
      packs.names.push_back(pack->name);
    }
  }
  return packs;
}

Result<std::vector<Digest>> PageStore::packs_of(std::span<const Digest> pages) const {
  std::vector<Digest> packs;
  std::shared_lock lock(mutex_);
  for (const Digest& page : pages) {
    const auto found = places_.find(page);
    if (found == places_.end())
      return error(Code::unavailable, "{}: page {} is not stored, since the recording that was to store it has failed",
                   directory_.string(), page.hex());
    if (const Digest& name = found->second.pack->name; packs.empty() || packs.back() != name) packs.push_back(name);
  }
  return packs;
}

void PageStore::expect(const std::vector<Digest>& packs) {
  std::unique_lock lock(mutex_);
  for (const Digest& pack : packs) expected_.insert(pack_file_name(pack));
}

Result<PackedPage> PageStore::find(const Digest& digest) {
  MNEME_ASSIGN(Place place, locate(digest));
  return place.pack->pages[place.index];
}

Status PageStore::read_some(std::span<const PageRequest> requests) {
  const Pack* pack = nullptr;
  std::unique_ptr<ReadableFile> file;
  ByteVector scratch;
  for (const PageRequest& request : requests) {
    MNEME_ASSIGN(Place place, locate(request.digest));
    Status status;
    if (pack != place.pack) {
      auto opened = files_.open(place.pack->path);
      status = opened.status();
      pack = status.ok() ? place.pack : nullptr;
      file = status.ok() ? std::move(*opened) : nullptr;
    }
    if (status.ok()) status = read_page(*file, pack->pages[place.index], request.into, scratch, pack->path.string());
    if (!status.ok()) MNEME_TRY(read_elsewhere(request, place, status));
  }
  return {};
}

Result<StoredPage> PageStore::read_stored(const Digest& digest, Bytes size) {
  StoredPage stored;
  stored.content.resize(size.count);
  const PageRequest request{digest, stored.content};
  MNEME_TRY(read_some({&request, 1}));
  MNEME_ASSIGN(const Place place, locate(digest));  // where it was whole
  stored.page = place.pack->pages[place.index];
  if (stored.page.encoding == PageEncoding::raw) return stored.bytes = stored.content, stored;
  MNEME_ASSIGN(auto file, files_.open(place.pack->path));
  MNEME_ASSIGN(stored.bytes, file->read_range(stored.page.offset, Bytes(stored.page.stored)));
  return stored;
}

// Content that was damaged and recorded again is in another pack too, which is then the one to read. So is that of a pack that
// somebody else has written anew without what nothing names any more.
Status PageStore::read_elsewhere(const PageRequest& request, Place damaged, const Status& status) {
  if (status.code() == Code::not_found) refresh();
  std::vector<Place> others;
  {
    std::shared_lock lock(mutex_);
    auto [first, last] = others_.equal_range(request.digest);
    for (auto other = first; other != last; ++other)
      if (other->second.pack != damaged.pack) others.push_back(other->second);
  }
  ByteVector scratch;
  Status failure = status;  // the first that is no damage, which may be over the next time
  for (Place other : others) {
    auto file = files_.open(other.pack->path);
    const Status read = !file.ok()
                            ? file.status()
                            : read_page(**file, other.pack->pages[other.index], request.into, scratch, other.pack->path.string());
    if (!read.ok()) {
      if (failure.code() == Code::corrupt) failure = read;
      continue;
    }
    other.whole = true;
    std::unique_lock lock(mutex_);
    places_[request.digest] = other;
    return {};
  }
  return failure;
}

Status PageStore::read(std::span<const PageRequest> requests) {
  size_t most = std::min<size_t>(usable_processors(), 16);
  size_t count = std::clamp<size_t>(requests.size() / kPagesPerThread, 1, most);
  if (count == 1) return read_some(requests);
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::vector<Status> statuses((requests.size() + kPagesPerThread - 1) / kPagesPerThread);  // of so many pages each
  auto work = [&] {
    for (size_t part; !failed && (part = next++) < statuses.size();) {
      const size_t first = part * kPagesPerThread;
      try {
        statuses[part] = read_some(requests.subspan(first, std::min(kPagesPerThread, requests.size() - first)));
      } catch (const std::bad_alloc&) {
        statuses[part] = error(Code::exhausted, "reading pages of {}: there is no memory left", directory_.string());
      }
      if (!statuses[part].ok()) failed = true;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (Status& status : statuses) MNEME_TRY(std::move(status));
  return {};
}

}  // namespace mneme
