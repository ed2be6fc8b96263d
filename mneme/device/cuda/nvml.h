// The clocks of a GPU, read through NVIDIA's management library, which is opened at run time. Nothing is ever set.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

inline constexpr const char* kManagementLibrary = "libnvidia-ml.so.1";

// Used by one thread at a time.
class ClockMonitor {
 public:
  // Of the GPU at a PCI address ("0000:1b:00.0"). unavailable, with the reason.
  static Result<std::unique_ptr<ClockMonitor>> open(const std::string& pci_address, const std::string& library);
  // Nothing when the GPU does not tell.
  std::optional<ClockReading> read() const;

 private:
  using Handle = void*;
  int (*clock_info_)(Handle, int domain, unsigned* mhz) = nullptr;
  int (*reasons_)(Handle, unsigned long long* bits) = nullptr;
  Handle device_ = nullptr;
};

// The bits of NVML's clocks event reasons that hold clocks down against the user's will.
std::vector<std::string> throttle_reasons(unsigned long long bits);

}  // namespace mneme::cuda
