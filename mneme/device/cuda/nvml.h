// ClockMonitor: reads the clocks of a GPU through NVIDIA's management library (NVML), which is opened at run time. It sets
// nothing.
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
  // Opens the monitor of the GPU at a PCI address ("0000:1b:00.0"). unavailable, with the reason: NVML does not open, or does
  // not know the GPU.
  static Result<std::unique_ptr<ClockMonitor>> open(const std::string& pci_address, const std::string& library);
  // What the clocks are now; nothing when the GPU does not tell.
  std::optional<ClockReading> read() const;

 private:
  using Handle = void*;
  int (*clock_info_)(Handle, int domain, unsigned* mhz) = nullptr;
  int (*reasons_)(Handle, unsigned long long* bits) = nullptr;
  Handle device_ = nullptr;
};

// The names of those of NVML's clocks event reasons that keep clocks low against the user's will: "power cap". An idle GPU and
// clocks that somebody has set are not among them.
std::vector<std::string> throttle_reasons(unsigned long long bits);

}  // namespace mneme::cuda
