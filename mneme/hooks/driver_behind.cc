#include "mneme/hooks/driver_behind.h"

#include <dlfcn.h>

#include "mneme/hooks/driver_hooks.h"

namespace mneme::driver {

mneme_driver_function DriverBehind::find(const char* name) const {
  return reinterpret_cast<mneme_driver_function>(::dlsym(library_, name));
}

void DriverBehind::add_library(const void* handle) {
  std::lock_guard lock(libraries_mutex_);
  libraries_.insert(handle);
}

void DriverBehind::forget_library(const void* handle) {
  std::lock_guard lock(libraries_mutex_);
  libraries_.erase(handle);
}

Status DriverBehind::attach_to(const mneme_driver_table& table) {
  const DriverSymbols symbols(table.library);
  MNEME_TRY(symbols.need("cuModuleGetGlobal_v2", module_global_));
  symbols.find("cuLibraryGetGlobal", library_global_);
  symbols.find("cuLibraryGetManaged", library_managed_);
  symbols.find("cuFuncGetParamInfo", function_parameter_);
  symbols.find("cuKernelGetParamInfo", kernel_parameter_);
  library_ = table.library;
  real_.assign(table.real, table.real + table.call_count);
  return {};
}

bool DriverBehind::is_library(const void* image) const {
  std::lock_guard lock(libraries_mutex_);
  return libraries_.contains(image);
}

CUresult DriverBehind::find_variable_in(void* image, const std::string& name, MemoryRange& place) const {
  const bool library = is_library(image);
  CUdeviceptr address = 0;
  size_t size = 0;
  CUresult code = library ? library_global_(&address, &size, static_cast<CUlibrary>(image), name.c_str())
                          : module_global_(&address, &size, static_cast<CUmodule>(image), name.c_str());
  if (code == CUDA_ERROR_NOT_FOUND && library && library_managed_)
    code = library_managed_(&address, &size, static_cast<CUlibrary>(image), name.c_str());
  place = {DevicePtr(address), Bytes(size)};
  return code;
}

Result<std::vector<DriverBehind::ParameterPlace>> DriverBehind::parameter_places(const void* handle) const {
  if (!function_parameter_ || !kernel_parameter_)
    return error(Code::unsupported, "this CUDA driver does not tell how a kernel's parameters lie: CUDA 12.4 or newer does");
  auto* const asked = const_cast<void*>(handle);
  std::vector<ParameterPlace> places;
  ParameterPlace place;
  const bool is_kernel =
      function_parameter_(static_cast<CUfunction>(asked), 0, &place.offset, &place.size) == CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0;; ++i) {
    const CUresult code = is_kernel ? kernel_parameter_(static_cast<CUkernel>(asked), i, &place.offset, &place.size)
                                    : function_parameter_(static_cast<CUfunction>(asked), i, &place.offset, &place.size);
    if (code == CUDA_ERROR_INVALID_VALUE) return places;  // there are no more
    if (code != CUDA_SUCCESS)
      return error(Code::unsupported, "asking for parameter {} of a kernel: the driver returned {}", i, static_cast<int>(code));
    places.push_back(place);
  }
}

}  // namespace mneme::driver
