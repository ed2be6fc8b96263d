#include "mneme/device/hip/driver.h"

#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "mneme/base/shared_library.h"
#include "mneme/device/hip/dispatch_clock.h"

namespace mneme::hip {
namespace {

Result<std::unique_ptr<Driver>> load(const SharedLibrary& library) {
  auto driver = std::make_unique<Driver>();
  driver->library = library.name();
  if (library.find(kPropertiesSince6.function) != nullptr) driver->properties_layout = kPropertiesSince6;
#define MNEME_HIP_ROW(name, ...) {#name, reinterpret_cast<void**>(&driver->name)},
  const Status found = library.find_all(
      {MNEME_HIP_FUNCTIONS(MNEME_HIP_ROW){"hipGetErrorName", reinterpret_cast<void**>(&driver->hipGetErrorName)},
       {"hipGetErrorString", reinterpret_cast<void**>(&driver->hipGetErrorString)},
       {"_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc",
        reinterpret_cast<void**>(&driver->hipCreateSurfaceObject)},
       {"_Z23hipDestroySurfaceObjectP13__hip_surface", reinterpret_cast<void**>(&driver->hipDestroySurfaceObject)},
       {driver->properties_layout.function, reinterpret_cast<void**>(&driver->properties)}});
#undef MNEME_HIP_ROW
  if (!found.ok()) return error(Code::unavailable, "opening the HIP runtime: {}; install ROCm 5.2 or newer", found.message());
  driver->launch_cooperative =
      reinterpret_cast<decltype(driver->launch_cooperative)>(library.find("hipModuleLaunchCooperativeKernel"));
  return driver;
}

}  // namespace

std::span<const std::string> runtime_libraries() {
  static const std::array<std::string, 3> names = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  return names;
}

Result<const Driver*> open_driver(std::span<const std::string> libraries, const std::vector<std::string>& profilers) {
  static std::mutex mutex;
  static auto* drivers = new std::map<std::string, std::unique_ptr<Driver>>;  // outlives every user at exit
  std::lock_guard lock(mutex);
  std::string reason;
  bool first = true;  // of those that the process does not have yet
  // One that the process has comes before newer ones: a program that is recorded has its memory of it.
  for (const int loaded : {RTLD_NOLOAD, 0}) {
    for (const std::string& library : libraries) {
      if (auto found = drivers->find(library); found != drivers->end()) return found->second.get();
      if (loaded == 0 && std::exchange(first, false) && !profilers.empty()) DispatchClock::prepare(profilers);
      const auto opened = SharedLibrary::open(library, RTLD_LOCAL | loaded);
      if (!opened.ok()) {
        if (loaded == 0 && reason.empty()) reason = opened.status().message();
        continue;
      }
      MNEME_ASSIGN(std::unique_ptr<Driver> driver, load(*opened));
      return drivers->emplace(library, std::move(driver)).first->second.get();
    }
  }
  return error(
      Code::unavailable,
      "opening the HIP runtime: {}; install ROCm's hip-runtime-amd (libamdhip64), which must be where the loader looks, or "
      "choose another device (--device cpu)",
      reason);
}

Status find_driver(const std::string& control) {
  if (::access(control.c_str(), F_OK) != 0) {
    return error(Code::unavailable,
                 "looking for AMD GPUs: there is no {}; install AMD's kernel driver (amdgpu), start a container with --device {} "
                 "--device /dev/dri, or choose another device (--device cpu)",
                 control, control);
  }
  return open_driver(runtime_libraries(), rocprofiler_paths()).status();
}

}  // namespace mneme::hip
