// FutureState: what a Future and the pool's thread share about one configuration.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/pool/pool.h"
#include "mneme/pool/wake_up.h"

namespace mneme {

struct FutureState {
  std::mutex mutex;                  // over `result` and `times`
  std::condition_variable changed;   // there is a result
  std::optional<PoolResult> result;  // set once
  std::vector<Nanoseconds> times;    // of the timed runs so far

  // Set before anybody else has the state, and never changed.
  JobId id = 0;
  std::function<void(const PoolResult&)> on_done;
  std::shared_ptr<WakeUp> wake_up;
};

}  // namespace mneme
