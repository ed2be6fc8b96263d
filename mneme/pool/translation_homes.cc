#include "mneme/pool/translation_homes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mneme {

TranslationHomes::Home TranslationHomes::find(uint64_t translation, WorkerId worker) const {
  const auto homes = homes_.find(translation);
  if (homes == homes_.end()) return Home::nowhere;
  return std::ranges::find(homes->second, worker) != homes->second.end() ? Home::here : Home::elsewhere;
}

size_t TranslationHomes::choose(std::span<const uint64_t> waiting, WorkerId worker) const {
  size_t best = 0;
  bool found = false;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const Home home = find(waiting[i], worker);
    if (home == Home::here) return i;
    if (home == Home::nowhere && !std::exchange(found, true)) best = i;
  }
  return best;
}

void TranslationHomes::add(uint64_t translation, WorkerId worker) {
  std::vector<WorkerId>& homes = homes_[translation];
  if (std::ranges::find(homes, worker) == homes.end()) homes.push_back(worker);
}

void TranslationHomes::forget(WorkerId worker) {
  for (auto entry = homes_.begin(); entry != homes_.end();) {
    std::erase(entry->second, worker);
    entry = entry->second.empty() ? homes_.erase(entry) : std::next(entry);
  }
}

}  // namespace mneme
