#include "mneme/store/page_store.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "mneme/base/processors.h"

namespace mneme {
namespace {

constexpr std::string_view kExtension = ".mneme";
// Below this number of pages a second thread does not pay.
constexpr size_t kPagesPerThread = 32;

bool is_pack_name(std::string_view name) {
  return name.ends_with(kExtension) && Digest::from_hex(name.substr(0, name.size() - kExtension.size())).ok();
}

}  // namespace

void PageStore::load(const std::string& name) {
  if (!known_.insert(name).second) return;
  auto pack = std::make_unique<Pack>();
  pack->path = directory_ / name;
  auto file = files_.open(pack->path);
  if (!file.ok()) return damaged_.push_back(file.status());
  auto pages = read_pack(**file, pack->path.string());
  if (!pages.ok()) return damaged_.push_back(pages.status());
  pack->pages = std::move(*pages);
  for (uint32_t i = 0; i < pack->pages.size(); ++i) places_.try_emplace(pack->pages[i].digest, Place{pack.get(), i});
  packs_.push_back(std::move(pack));
}

void PageStore::refresh() {
  auto names = files_.list(directory_);
  if (!names.ok()) return;  // no directory, no packs: a page that is wanted will be missed by name
  std::unique_lock lock(mutex_);
  for (const std::string& name : *names)
    if (is_pack_name(name)) load(name);
}

void PageStore::add(const Digest& name) {
  std::unique_lock lock(mutex_);
  load(name.hex() + std::string(kExtension));
}

bool PageStore::contains(const Digest& digest) const {
  std::shared_lock lock(mutex_);
  return places_.contains(digest);
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
  if (!damaged_.empty()) return damaged_.front();
  return error(Code::corrupt, "{}: no pack of pages holds page {}", directory_.string(), digest.hex());
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
    if (pack != place.pack) {
      pack = place.pack;
      MNEME_ASSIGN(file, files_.open(pack->path));
    }
    MNEME_TRY(read_page(*file, pack->pages[place.index], request.into, scratch, pack->path.string()));
  }
  return {};
}

Status PageStore::read(std::span<const PageRequest> requests) {
  size_t most = std::min<size_t>(usable_processors(), 16);
  size_t count = std::clamp<size_t>(requests.size() / kPagesPerThread, 1, most);
  if (count == 1) return read_some(requests);
  std::atomic<size_t> next = 0;
  std::vector<Status> statuses(count);
  auto work = [&](size_t thread) {
    for (size_t first; statuses[thread].ok() && (first = next.fetch_add(kPagesPerThread)) < requests.size();)
      statuses[thread] = read_some(requests.subspan(first, std::min(kPagesPerThread, requests.size() - first)));
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) MNEME_TRY(status);
  return {};
}

}  // namespace mneme
