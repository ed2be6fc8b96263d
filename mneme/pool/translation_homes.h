// TranslationHomes: which compile workers have had which translation. A compile worker remembers what LLVM made
// (translation_memory.h), so that configurations which ask LLVM the same are best compiled by one worker.
//
// A translation is known by a number that follows from what LLVM is asked (Job::translation). Two that have the same by chance
// are compiled by one worker, and nothing else comes of it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "mneme/pool/pool_worker.h"

namespace mneme {

class TranslationHomes {
 public:
  // Where a translation was done, as one worker sees it.
  enum class Home { here, nowhere, elsewhere };

  Home find(uint64_t translation, WorkerId worker) const;
  // Of translations that wait in this order, the place of the one that suits the worker best: one that it has had, else one that
  // nobody has had, else the first. `waiting` is not empty; kLookedThrough of it are enough.
  static constexpr size_t kLookedThrough = 64;
  size_t choose(std::span<const uint64_t> waiting, WorkerId worker) const;
  void add(uint64_t translation, WorkerId worker);
  // The worker has ended, and what it remembered with it.
  void forget(WorkerId worker);

 private:
  std::unordered_map<uint64_t, std::vector<WorkerId>> homes_;
};

}  // namespace mneme
