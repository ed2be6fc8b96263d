#include "mneme/device/cuda/driver.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>

namespace mneme::cuda {
namespace {

#define MNEME_QUOTE_(name) #name
#define MNEME_QUOTE(name) MNEME_QUOTE_(name)

Status find(void* handle, const std::string& library, const char* name, void** function) {
  *function = dlsym(handle, name);
  if (*function != nullptr) return {};
  return error(Code::unavailable,
               "opening the CUDA driver: {} has no function {}; install an NVIDIA driver for CUDA 11.8 or newer", library, name);
}

Result<std::unique_ptr<Driver>> load(const std::string& library) {
  // Never closed: the driver keeps threads and exit handlers of its own.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return error(
        Code::unavailable,
        "opening the CUDA driver: {}; install the NVIDIA driver, whose library must be where the loader looks, or choose "
        "another device (--device cpu)",
        reason != nullptr ? reason : library);
  }
  auto driver = std::make_unique<Driver>();
  driver->library = library;
#define MNEME_CUDA_FIND(name) MNEME_TRY(find(handle, library, MNEME_QUOTE(name), reinterpret_cast<void**>(&driver->name)));
  MNEME_CUDA_FUNCTIONS(MNEME_CUDA_FIND)
#undef MNEME_CUDA_FIND
  MNEME_TRY(find(handle, library, "cuEventElapsedTime", reinterpret_cast<void**>(&driver->event_elapsed_time)));
  driver->parameter_info = reinterpret_cast<decltype(driver->parameter_info)>(dlsym(handle, "cuFuncGetParamInfo"));
  return driver;
}

}  // namespace

Result<const Driver*> open_driver(const std::string& library) {
  static std::mutex mutex;
  static auto* drivers = new std::map<std::string, std::unique_ptr<Driver>>;  // outlives every user at exit
  std::lock_guard lock(mutex);
  auto found = drivers->find(library);
  if (found == drivers->end()) {
    MNEME_ASSIGN(std::unique_ptr<Driver> driver, load(library));
    found = drivers->emplace(library, std::move(driver)).first;
  }
  return found->second.get();
}

}  // namespace mneme::cuda
