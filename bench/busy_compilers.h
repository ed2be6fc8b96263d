// Processes that compile a recorded kernel over and over, as a pool's compile workers do beside its device worker.
#pragma once

#include <sys/types.h>

#include <vector>

#include "mneme/base/status.h"
#include "mneme/pool/setup.h"

namespace mneme {

class BusyCompilers {
 public:
  // For who has one thread and no device yet. They end with the value, and with this process.
  static Result<BusyCompilers> start(const PoolSetup& setup, unsigned count);
  BusyCompilers() = default;
  BusyCompilers(BusyCompilers&& other) noexcept : processes_(std::exchange(other.processes_, {})) {}
  BusyCompilers& operator=(BusyCompilers&& other) noexcept {
    std::swap(processes_, other.processes_);
    return *this;
  }
  ~BusyCompilers();

 private:
  std::vector<pid_t> processes_;
};

}  // namespace mneme
