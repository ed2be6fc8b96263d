// The device's primary context, which is also the CUDA runtime's in the same process, and whether it is still of use.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "mneme/base/status.h"
#include "mneme/device/cuda/driver.h"
#include "mneme/device/cuda/error.h"

namespace mneme::cuda {

// How many devices the driver shows. unavailable: it does not start.
Result<int> count_devices(const Driver& driver);

// Retained while this object lives. Thread-safe. Everything made on a device refers to its Context and is destroyed before it.
class Context {
 public:
  // unavailable: the driver does not start, or there is no device `ordinal`.
  static Result<std::unique_ptr<Context>> open(const Driver& driver, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }

  // The status of a driver call; the format and its arguments name the call and what was passed, and are only used on failure.
  // A fault poisons the context.
  template <typename... Args>
  Status check(CUresult result, fmt::format_string<Args...> call, Args&&... args) const {
    if (result == CUDA_SUCCESS) return {};
    return failed(result, fmt::format(call, std::forward<Args>(args)...));
  }

  // device_fault once a fault has been seen, with the words of the first.
  Status usable() const;
  // For destructors: whether giving things back to the driver still makes sense.
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }

  Result<int> attribute(CUdevice_attribute attribute, const char* name) const;

 private:
  Context(const Driver& driver, CUdevice device, CUcontext handle) : driver_(driver), device_(device), handle_(handle) {}
  Status failed(CUresult result, const std::string& call) const;

  const Driver& driver_;
  CUdevice device_;
  CUcontext handle_;
  mutable std::atomic<bool> poisoned_{false};
  mutable std::mutex mutex_;
  mutable std::string fault_;
};

// Makes the context current on this thread for as long as it lives, and leaves the thread as it was found.
class ContextScope {
 public:
  explicit ContextScope(const Context& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  // device_fault when the context is poisoned, or why it could not be made current.
  const Status& status() const { return status_; }

 private:
  const Context& context_;
  Status status_;
  bool pushed_ = false;
};

}  // namespace mneme::cuda
