// Context: a device's primary context, which the CUDA runtime uses too in the same process. It knows whether a fault has made
// it unusable.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "mneme/base/status.h"
#include "mneme/device/cuda/driver.h"
#include "mneme/device/cuda/error.h"

namespace mneme::cuda {

// How many devices the driver shows. unavailable: the driver does not start.
Result<int> count_devices(const Driver& driver);

// Retains the primary context while this object lives. Thread-safe. All that is made on a device refers to its Context, and is
// destroyed before it.
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

  // The status of a driver call that has returned `result`. The format and its arguments name the call and what was passed to
  // it, for the message: check(result, "cuMemAlloc({})", size). A fault poisons the context.
  template <typename... Args>
  Status check(CUresult result, fmt::format_string<Args...> call, Args&&... args) const {
    if (result == CUDA_SUCCESS) return {};
    return failed(result, fmt::format(call, std::forward<Args>(args)...));
  }

  // device_fault, with the words of the first fault, once the context is poisoned; else ok.
  Status usable() const;
  // Whether a fault has been seen. Destructors then give nothing back to the driver, since every call would fail.
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }

  // An attribute of the device; `name` is for the message.
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

// Makes the context current on this thread while the scope lives; then the context that was current before is current again.
class ContextScope {
 public:
  explicit ContextScope(const Context& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  // ok, or why the context is not current: device_fault when it is poisoned, else the driver's reason.
  const Status& status() const { return status_; }

 private:
  const Context& context_;
  Status status_;
  bool pushed_ = false;
};

}  // namespace mneme::cuda
