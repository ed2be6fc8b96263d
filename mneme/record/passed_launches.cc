#include "mneme/record/passed_launches.h"

#include <new>
#include <utility>

namespace mneme {

void PassedLaunches::keep(const PassedLaunch& launch) {
  struct Ends {
    ~Ends() { delete std::exchange(own_, nullptr); }
  };
  if (!own_) {
    static thread_local Ends ends;
    (void)ends;
    own_ = new (std::nothrow) Kept;
  }
  if (own_) own_->of(launch.handle) = launch;
}

}  // namespace mneme
