#include "mneme/device/cuda/driver.h"

#include <map>
#include <memory>
#include <mutex>

#include "mneme/base/shared_library.h"

namespace mneme::cuda {
namespace {

#define MNEME_QUOTE_(name) #name
#define MNEME_QUOTE(name) MNEME_QUOTE_(name)

Result<std::unique_ptr<Driver>> load(const std::string& name) {
  const auto library = SharedLibrary::open(name);
  if (!library.ok())
    return error(
        Code::unavailable,
        "opening the CUDA driver: {}; install the NVIDIA driver, whose library must be where the loader looks, or choose "
        "another device (--device cpu)",
        library.status().message());
  auto driver = std::make_unique<Driver>();
  driver->library = name;
#define MNEME_CUDA_ROW(name) {MNEME_QUOTE(name), reinterpret_cast<void**>(&driver->name)},
  const Status found = library->find_all(
      {MNEME_CUDA_FUNCTIONS(MNEME_CUDA_ROW){"cuEventElapsedTime", reinterpret_cast<void**>(&driver->event_elapsed_time)}});
#undef MNEME_CUDA_ROW
  if (!found.ok())
    return error(Code::unavailable, "opening the CUDA driver: {}; install an NVIDIA driver for CUDA 11.8 or newer",
                 found.message());
  driver->parameter_info = reinterpret_cast<decltype(driver->parameter_info)>(library->find("cuFuncGetParamInfo"));
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
