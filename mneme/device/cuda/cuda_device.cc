#include "mneme/device/cuda/cuda_device.h"

#include <dlfcn.h>

namespace mneme::cuda {

Result<std::unique_ptr<Device>> open_device(int ordinal) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    return error(Code::unavailable, "opening CUDA device {}: {}; install the NVIDIA driver, or use the device cpu", ordinal, ::dlerror());
  }
  ::dlclose(driver);
  return error(Code::unavailable, "opening CUDA device {}: this build cannot use the NVIDIA driver; use the device cpu", ordinal);
}

}  // namespace mneme::cuda
