#include "mneme/device/cuda/context.h"

#include "mneme/device/held_addresses.h"

namespace mneme::cuda {

Result<int> count_devices(const Driver& driver) {
  {
    const DriverStart start;
    MNEME_TRY(status_of(driver, driver.cuInit(0), "starting the CUDA driver: cuInit(0)"));
  }
  int count = 0;
  MNEME_TRY(status_of(driver, driver.cuDeviceGetCount(&count), "counting the CUDA devices: cuDeviceGetCount"));
  return count;
}

Result<std::unique_ptr<Context>> Context::open(const Driver& driver, int ordinal) {
  MNEME_ASSIGN(const int count, count_devices(driver));
  if (ordinal < 0 || ordinal >= count) {
    return error(Code::unavailable, "opening CUDA device {}: the driver shows {} device{}; CUDA_VISIBLE_DEVICES selects which",
                 ordinal, count, count == 1 ? "" : "s");
  }
  CUdevice device = 0;
  MNEME_TRY(status_of(driver, driver.cuDeviceGet(&device, ordinal), fmt::format("cuDeviceGet({})", ordinal)));
  CUcontext handle = nullptr;
  MNEME_TRY(
      status_of(driver, driver.cuDevicePrimaryCtxRetain(&handle, device), fmt::format("cuDevicePrimaryCtxRetain({})", ordinal)));
  return std::unique_ptr<Context>(new Context(driver, device, handle));
}

Context::~Context() { driver_.cuDevicePrimaryCtxRelease(device_); }

Status Context::usable() const {
  if (!poisoned()) return {};
  std::lock_guard lock(mutex_);
  return error(Code::device_fault, "the device was lost by an earlier fault, and only a new process can use it again: {}",
               fault_);
}

Status Context::failed(CUresult result, const std::string& call) const {
  Status status = status_of(driver_, result, call);
  if (is_fault(result)) {
    std::lock_guard lock(mutex_);
    if (!poisoned()) {
      fault_ = status.message();
      poisoned_.store(true, std::memory_order_release);
    }
  }
  return status;
}

Result<int> Context::attribute(CUdevice_attribute attribute, const char* name) const {
  int value = 0;
  MNEME_TRY(check(driver_.cuDeviceGetAttribute(&value, attribute, device_), "cuDeviceGetAttribute({})", name));
  return value;
}

ContextScope::ContextScope(const Context& context) : context_(context), status_(context.usable()) {
  if (!status_.ok()) return;
  const Driver& driver = context.driver();
  CUcontext current = nullptr;
  if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context.handle()) return;
  status_ = context.check(driver.cuCtxPushCurrent(context.handle()), "cuCtxPushCurrent");
  pushed_ = status_.ok();
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) context_.driver().cuCtxPopCurrent(&popped);
}

}  // namespace mneme::cuda
