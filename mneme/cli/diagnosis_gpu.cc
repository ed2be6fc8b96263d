// The part of a diagnosis that is about GPUs: their drivers, devices and timing.
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mneme/base/activity.h"
#include "mneme/cli/diagnosis.h"
#include "mneme/cli/guarded_end.h"
#include "mneme/device/backend.h"
#include "mneme/device/cuda/cupti.h"
#include "mneme/device/cuda/driver.h"
#include "mneme/device/device.h"
#include "mneme/device/device_count.h"
#include "mneme/process/guarded.h"
#include "mneme/replay/json_text.h"

namespace mneme::cli {
namespace {

constexpr char kDriver[] = "NVIDIA driver", kGpu[] = "GPU", kTiming[] = "CUPTI";
constexpr char kAmdDriver[] = "AMD driver", kAmdGpu[] = "AMD GPU";
constexpr char kGetAmdDriver[] = "AMD's instructions for ROCm; a container is started with --device /dev/kfd --device /dev/dri";
constexpr char kControl[] = "/dev/nvidiactl";
constexpr char kGetDriver[] =
    "apt-get install nvidia-driver (Debian), or NVIDIA's own; a container is started with --gpus all (NVIDIA Container Toolkit)";
constexpr char kGetCupti[] = "install the CUDA toolkit's libcupti and set CUDA_HOME: pip install nvidia-cuda-cupti has it too";
constexpr GuardLimits kLimits{.loading = GuardLimits::Seconds(30)};

Finding driver_finding(const cuda::Driver& driver) {
  int version = 0;
  if (driver.cuDriverGetVersion(&version) != 0) return {kDriver, Health::good, driver.library, ""};
  return {kDriver, Health::good, fmt::format("{}, for CUDA {}.{}", driver.library, version / 1000, version % 1000 / 10), ""};
}

// The device files are there and may not be used: what the driver says of it is another thing.
std::optional<Finding> permission_finding() {
  struct stat info{};
  if (::stat(kControl, &info) != 0 || ::access(kControl, R_OK | W_OK) == 0) return std::nullopt;
  const group* owner = ::getgrgid(info.st_gid);
  const std::string name = owner != nullptr ? owner->gr_name : std::to_string(info.st_gid);
  return Finding{kGpu, Health::broken, fmt::format("{} may not be opened by this user", kControl),
                 fmt::format("sudo usermod -aG {} $USER, and log in again", name)};
}

Finding timing_finding(Device& device) {
  auto clock = device.clock();
  if (!clock.ok()) return {kTiming, Health::broken, clock.status().message(), kGetCupti};
  if (clock->source == "cupti_activity") return {kTiming, Health::good, "kernels are timed by its activity records", ""};
  return {kTiming, Health::absent, fmt::format("kernels are timed by {}, less exactly: {}", clock->source, clock->remark),
          kGetCupti};
}

std::vector<Finding> findings_of_devices(int count) {
  std::vector<Finding> findings;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    ActivityScope opening(Activity::loading);
    auto device = Device::open(DeviceKind::cuda, ordinal);
    if (!device.ok()) {
      findings.push_back({kGpu, Health::broken, fmt::format("{}: {}", ordinal, device.status().message()), "nvidia-smi"});
      continue;
    }
    const DeviceProperties& p = (*device)->properties();
    findings.push_back({kGpu, Health::good, fmt::format("{}: {}, {}, {}", ordinal, p.name, p.architecture, p.total_memory), ""});
    if (ordinal + 1 == count) findings.push_back(timing_finding(**device));
  }
  return findings;
}

Finding cupti_without_gpu() {
  auto cupti = cuda::open_cupti(cuda::cupti_paths());
  if (cupti.ok()) return {kTiming, Health::good, cupti->library, ""};
  return {kTiming, Health::absent, "kernels on a GPU would be timed by events, less exactly", kGetCupti};
}

// In a process that may be lost to the driver.
std::vector<Finding> look(Health absent_gpu) {
  ActivityScope opening(Activity::loading);
  auto driver = cuda::open_driver();
  if (!driver.ok())
    return {{kDriver, absent_gpu, "not found: kernels run on the CPU device alone. " + driver.status().message(), kGetDriver},
            cupti_without_gpu()};
  std::vector<Finding> findings{driver_finding(**driver)};
  if (auto permission = permission_finding()) {
    findings.push_back(std::move(*permission));
    return findings;
  }
  auto count = count_devices(DeviceKind::cuda);
  if (!count.ok() || *count == 0) {
    const std::string why = count.ok() ? "the driver has no device" : count.status().message();
    findings.push_back({kGpu, absent_gpu, why, "nvidia-smi tells more; a container is started with --gpus all"});
    return findings;
  }
  for (Finding& finding : findings_of_devices(*count)) findings.push_back(std::move(finding));
  return findings;
}

// Opens what there is of AMD's; where there is no driver nothing of ROCm's is loaded.
std::vector<Finding> look_for_amd() {
  ActivityScope opening(Activity::loading);
  const Backend& hip = backend_of(DeviceKind::hip);
  if (const Status found = hip.find(); !found.ok()) return {{kAmdDriver, Health::absent, found.message(), kGetAmdDriver}};
  const auto count = hip.count();
  if (!count.ok() || *count == 0) {
    const std::string why = count.ok() ? "HIP's runtime has no device" : count.status().message();
    return {{kAmdGpu, Health::absent, why, "rocminfo tells more; the user has to be in the groups render and video"}};
  }
  std::vector<Finding> findings;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    const auto device = hip.open(ordinal);
    if (!device.ok()) {
      findings.push_back({kAmdGpu, Health::broken, fmt::format("{}: {}", ordinal, device.status().message()), "rocminfo"});
      continue;
    }
    const DeviceProperties& p = (*device)->properties();
    const bool reserves = p.allocation_granularity.count != 0;
    findings.push_back({kAmdGpu, reserves ? Health::good : Health::broken,
                        fmt::format("{}: {}, {}, {}{}", ordinal, p.name, p.architecture, p.total_memory,
                                    reserves ? "" : "; without virtual memory management, so that nothing is replayed on it"),
                        reserves ? "" : "install ROCm 6 or newer"});
  }
  return findings;
}

std::string encode(const std::vector<Finding>& findings) {
  nlohmann::json json = nlohmann::json::array();
  for (const Finding& f : findings) json.push_back({f.what, static_cast<int>(f.health), f.detail, f.remedy});
  return json_text(json);
}

std::vector<Finding> decode(const std::string& text) {
  std::vector<Finding> findings;
  for (const auto& f : json_in(text)) findings.push_back({f[0], static_cast<Health>(f[1].get<int>()), f[2], f[3]});
  return findings;
}

}  // namespace

std::vector<Finding> diagnose_amd_gpu() {
  if (backend_of(DeviceKind::hip).kind != DeviceKind::hip) return {};
  auto end = run_guarded(kLimits, [] { return encode(look_for_amd()); });
  if (end.ok() && end->how == GuardedEnd::How::finished) return decode(end->reply);
  const Status why = end.ok() ? explain(*end) : end.status();
  return {{kAmdDriver, Health::broken, why.message(), "rocminfo; where it hangs too, the machine's driver is to be restarted"}};
}

std::vector<Finding> diagnose_gpu(Health absent_gpu) {
  auto end = run_guarded(kLimits, [&] { return encode(look(absent_gpu)); });
  if (end.ok() && end->how == GuardedEnd::How::finished) return decode(end->reply);
  const Status why = end.ok() ? explain(*end) : end.status();
  return {{kDriver, Health::broken, why.message(), "nvidia-smi; where it hangs too, the machine's driver is to be restarted"}};
}

}  // namespace mneme::cli
