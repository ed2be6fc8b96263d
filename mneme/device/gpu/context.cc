#include "mneme/device/gpu/context.h"

#include "mneme/device/held_addresses.h"

namespace mneme::gpu {

Result<int> count_devices(const Api& api) {
  const Words& words = api.words();
  {
    std::optional<DriverStart> start;
    if (api.remembers_mappings()) start.emplace();
    MNEME_TRY(api.status_of(api.start(), fmt::format("starting the {} driver: {}(0)", words.vendor, words.start)));
  }
  int count = 0;
  MNEME_TRY(
      api.status_of(api.count_devices(&count), fmt::format("counting the {} devices: {}", words.vendor, words.count_devices)));
  return count;
}

Result<std::unique_ptr<Context>> Context::open(std::unique_ptr<const Api> api, int ordinal) {
  const Words& words = api->words();
  MNEME_ASSIGN(const int count, count_devices(*api));
  if (ordinal < 0 || ordinal >= count) {
    return error(Code::unavailable, "opening {} device {}: {} shows {} device{}; {} selects which", words.vendor, ordinal,
                 words.driver, count, count == 1 ? "" : "s", words.visible);
  }
  int device = 0;
  MNEME_TRY(api->status_of(api->find_device(&device, ordinal), fmt::format("{}({})", words.find_device, ordinal)));
  ContextHandle handle = nullptr;
  MNEME_TRY(api->status_of(api->retain(&handle, device), fmt::format("{}({})", words.retain, ordinal)));
  return std::unique_ptr<Context>(new Context(std::move(api), device, handle));
}

Context::~Context() { api_->release(device_); }

Status Context::usable() const {
  if (!poisoned()) return {};
  std::lock_guard lock(mutex_);
  return error(Code::device_fault, "the device was lost by an earlier fault, and only a new process can use it again: {}",
               fault_);
}

Status Context::failed(ResultCode result, const std::string& call) const {
  Status status = api_->status_of(result, call);
  if (api_->is_fault(result)) {
    std::lock_guard lock(mutex_);
    if (!poisoned()) {
      fault_ = status.message();
      poisoned_.store(true, std::memory_order_release);
    }
  }
  return status;
}

ContextScope::ContextScope(const Context& context) : context_(context), status_(context.usable()) {
  if (!status_.ok()) return;
  status_ = context.check_call(context.api().make_current(context.handle(), context.device(), &previous_),
                               context.words().make_current);
}

ContextScope::~ContextScope() {
  if (previous_.changed) context_.api().restore(previous_);
}

}  // namespace mneme::gpu
