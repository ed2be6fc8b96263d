#include "mneme/device/cuda/nvml.h"

#include "mneme/base/shared_library.h"

namespace mneme::cuda {
namespace {

constexpr int kSuccess = 0;
constexpr int kSmClock = 1;

}  // namespace

Result<std::unique_ptr<ClockMonitor>> ClockMonitor::open(const std::string& pci_address, const std::string& library) {
  const auto opened = SharedLibrary::open(library);
  if (!opened.ok()) return opened.status().with_context("reading the GPU's clocks");
  auto init = reinterpret_cast<int (*)()>(opened->find("nvmlInit_v2"));
  auto by_address = reinterpret_cast<int (*)(const char*, Handle*)>(opened->find("nvmlDeviceGetHandleByPciBusId_v2"));
  auto monitor = std::make_unique<ClockMonitor>();
  monitor->clock_info_ = reinterpret_cast<decltype(monitor->clock_info_)>(opened->find("nvmlDeviceGetClockInfo"));
  // The name before driver 535.
  for (const char* name : {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"})
    if (monitor->reasons_ == nullptr) monitor->reasons_ = reinterpret_cast<decltype(monitor->reasons_)>(opened->find(name));
  if (init == nullptr || by_address == nullptr || monitor->clock_info_ == nullptr || monitor->reasons_ == nullptr)
    return error(Code::unavailable, "reading the GPU's clocks: {} lacks a function", library);
  if (int result = init(); result != kSuccess)
    return error(Code::unavailable, "reading the GPU's clocks: nvmlInit: NVML error {}", result);
  if (int result = by_address(pci_address.c_str(), &monitor->device_); result != kSuccess)
    return error(Code::unavailable, "reading the GPU's clocks: nvmlDeviceGetHandleByPciBusId({}): NVML error {}", pci_address,
                 result);
  return monitor;
}

std::optional<ClockReading> ClockMonitor::read() const {
  unsigned mhz = 0;
  unsigned long long bits = 0;
  if (clock_info_(device_, kSmClock, &mhz) != kSuccess) return std::nullopt;
  if (reasons_(device_, &bits) != kSuccess) bits = 0;
  return ClockReading{mhz, throttle_reasons(bits)};
}

std::vector<std::string> throttle_reasons(unsigned long long bits) {
  // Not among them: an idle GPU, and clocks that somebody set.
  constexpr std::pair<unsigned long long, const char*> kReasons[] = {
      {0x04, "power cap"},        {0x08, "hardware slowdown"},         {0x10, "sync boost"},
      {0x20, "thermal slowdown"}, {0x40, "hardware thermal slowdown"}, {0x80, "power brake"},
  };
  std::vector<std::string> reasons;
  for (auto [bit, name] : kReasons)
    if ((bits & bit) != 0) reasons.emplace_back(name);
  return reasons;
}

}  // namespace mneme::cuda
