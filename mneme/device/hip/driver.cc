#include "mneme/device/hip/driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "mneme/device/hip/dispatch_clock.h"

namespace mneme::hip {
namespace {

Status find(void* handle, const std::string& library, const char* name, void** function) {
  *function = dlsym(handle, name);
  if (*function != nullptr) return {};
  return error(Code::unavailable, "opening the HIP runtime: {} has no function {}; install ROCm 5.2 or newer", library, name);
}

Result<std::unique_ptr<Driver>> load(void* handle, const std::string& library) {
  auto driver = std::make_unique<Driver>();
  driver->library = library;
#define MNEME_HIP_FIND(name, ...) MNEME_TRY(find(handle, library, #name, reinterpret_cast<void**>(&driver->name)));
  MNEME_HIP_FUNCTIONS(MNEME_HIP_FIND)
#undef MNEME_HIP_FIND
  MNEME_TRY(find(handle, library, "hipGetErrorName", reinterpret_cast<void**>(&driver->hipGetErrorName)));
  MNEME_TRY(find(handle, library, "hipGetErrorString", reinterpret_cast<void**>(&driver->hipGetErrorString)));
  driver->launch_cooperative =
      reinterpret_cast<decltype(driver->launch_cooperative)>(dlsym(handle, "hipModuleLaunchCooperativeKernel"));
  if (dlsym(handle, kPropertiesSince6.function) != nullptr) driver->properties_layout = kPropertiesSince6;
  MNEME_TRY(find(handle, library, driver->properties_layout.function, reinterpret_cast<void**>(&driver->properties)));
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
      // Never closed: the runtime keeps threads and exit handlers of its own.
      void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | loaded);
      if (handle == nullptr) {
        const char* words = dlerror();
        if (loaded == 0 && reason.empty()) reason = words != nullptr ? words : library;
        continue;
      }
      MNEME_ASSIGN(std::unique_ptr<Driver> driver, load(handle, library));
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
