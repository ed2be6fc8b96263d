// Context: what all that is made on a GPU works in, the vendor's functions among it. It knows whether a fault has made it
// unusable.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "mneme/base/status.h"
#include "mneme/device/gpu/api.h"

namespace mneme::gpu {

// How many devices the driver shows. unavailable: the driver does not start.
Result<int> count_devices(const Api& api);

// Retains the context that the vendor's runtime uses too in this process, while this object lives. Thread-safe. All that is made
// on a device refers to its Context, and is destroyed before it.
class Context {
 public:
  // unavailable: the driver does not start, or there is no device `ordinal`.
  static Result<std::unique_ptr<Context>> open(std::unique_ptr<const Api> api, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Api& api() const { return *api_; }
  const Words& words() const { return api_->words(); }
  int device() const { return device_; }
  ContextHandle handle() const { return handle_; }

  // The status of a driver call that has returned `result`. `call` names the function, and the format and its arguments what was
  // passed to it, for the message: check_call(result, words().allocate, "({})", size). A fault poisons the context.
  template <typename... Args>
  Status check_call(ResultCode result, std::string_view call, fmt::format_string<Args...> passed, Args&&... args) const {
    if (result == kSuccess) return {};
    return failed(result, std::string(call) + fmt::format(passed, std::forward<Args>(args)...));
  }
  Status check_call(ResultCode result, std::string_view call) const {
    return result == kSuccess ? Status() : failed(result, std::string(call));
  }
  // The same for functions that one vendor alone has: check(result, "cuMemcpy3DAsync({})", size).
  template <typename... Args>
  Status check(ResultCode result, fmt::format_string<Args...> call, Args&&... args) const {
    if (result == kSuccess) return {};
    return failed(result, fmt::format(call, std::forward<Args>(args)...));
  }

  // device_fault, with the words of the first fault, once the context is poisoned; else ok.
  Status usable() const;
  // Whether a fault has been seen. Destructors then give nothing back to the driver, since every call would fail.
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }

 private:
  Context(std::unique_ptr<const Api> api, int device, ContextHandle handle)
      : api_(std::move(api)), device_(device), handle_(handle) {}
  Status failed(ResultCode result, const std::string& call) const;

  std::unique_ptr<const Api> api_;
  int device_;
  ContextHandle handle_;
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
  PreviousContext previous_;
};

}  // namespace mneme::gpu
