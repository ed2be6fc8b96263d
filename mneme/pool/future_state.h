// FutureState: what a Future and the pool's thread share.
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
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<PoolResult> result;
  std::vector<Nanoseconds> times;

  // These do not change.
  JobId id = 0;
  std::function<void(const PoolResult&)> on_done;
  std::shared_ptr<WakeUp> wake_up;
};

}  // namespace mneme
