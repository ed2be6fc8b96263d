// Loading of code, as the recorder sees it.
#include "mneme/hooks/driver_images.h"
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

struct RecorderFront {
  static mneme_driver_function real(mneme_driver_call slot) { return front().real(slot); }
  static mneme_driver_function find(const char* name) { return front().find(name); }
  static Registry& registry() { return recorder()->registry(); }
  static void on_load() {
    if (RecordingReport* const report = recorder()->report()) ++report->loads;
  }
  static void on_unload(const void* image) { recorder()->forget_image(image); }
  static void on_module(const void* handle) { front().add_image(handle); }
  static void on_library(const void* handle) { front().add_library(handle); }
  static void on_library_unload(const void* handle) { front().forget_library(handle); }
};

// From here on the variable's address may stand anywhere. The recorder reads memory in primary contexts alone.
void see_variable(const void* image, CUdeviceptr address, size_t size) {
  if (size == 0 || !recorder()->is_recording()) return;
  const auto device = front().current_device();
  if (!device.ok() || !front().in_primary_context() || front().is_managed(DevicePtr(address))) return;
  recorder()->see_variable({DevicePtr(address), Bytes(size)}, *device, image);
}

// The program may ask for the address alone.
template <typename Image, typename Original>
CUresult get_variable(CUdeviceptr* address, size_t* size, Image image, Original original) {
  size_t own = 0;
  const CUresult code = original(address, address && !size ? &own : size);
  if (code == CUDA_SUCCESS && address) see_variable(image, *address, size ? *size : own);
  return code;
}

CUresult on_module_get_global(CUdeviceptr* address, size_t* size, CUmodule module, const char* name) {
  return get_variable(address, size, module, [&](CUdeviceptr* a, size_t* s) {
    return MNEME_DRIVER(cuModuleGetGlobal_v2, cuModuleGetGlobal)(a, s, module, name);
  });
}
CUresult on_library_get_global(CUdeviceptr* address, size_t* size, CUlibrary library, const char* name) {
  return get_variable(address, size, library, [&](CUdeviceptr* a, size_t* s) {
    return MNEME_DRIVER(cuLibraryGetGlobal, cuLibraryGetGlobal)(a, s, library, name);
  });
}

}  // namespace

void forget_image(const void* handle) { DriverImages<RecorderFront>::forget(handle); }

std::vector<DriverHook> image_hooks() {
  std::vector<DriverHook> hooks = DriverImages<RecorderFront>::hooks();
  hooks.push_back(hook(MNEME_DRIVER_CALL_cuModuleGetGlobal_v2, &on_module_get_global));
  hooks.push_back(hook(MNEME_DRIVER_CALL_cuLibraryGetGlobal, &on_library_get_global));
  return hooks;
}

}  // namespace mneme::driver
