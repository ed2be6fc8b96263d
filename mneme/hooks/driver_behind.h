// DriverBehind: the CUDA driver that an interposer stands before. A front derives from it what else it asks of the driver.
#pragma once

#include <cuda.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "mneme/abi/driver_table.h"
#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"

namespace mneme::driver {

// Thread-safe once it is attached.
class DriverBehind {
 public:
  // The driver's own function behind a slot.
  mneme_driver_function real(mneme_driver_call slot) const { return real_[slot]; }
  // Another function of the driver's, by its exported name; null: this driver lacks it.
  mneme_driver_function find(const char* name) const;

  // Handles of images that are libraries (CUlibrary) and not modules.
  void add_library(const void* handle);
  void forget_library(const void* handle);

 protected:
  // unavailable: the driver lacks a function that every front needs.
  Status attach_to(const mneme_driver_table& table);

  bool is_library(const void* image) const;
  // Where an image that was loaded has the variable of that name. Another result than success is the driver's.
  CUresult find_variable_in(void* image, const std::string& name, MemoryRange& place) const;

  struct ParameterPlace {
    size_t offset = 0, size = 0;
  };
  // Of each parameter of a kernel. The handle is a function's (CUfunction), or a kernel's (CUkernel), which CUDA's runtime passes
  // in its place. unsupported: the driver does not tell.
  Result<std::vector<ParameterPlace>> parameter_places(const void* handle) const;

 private:
  void* library_ = nullptr;
  std::vector<mneme_driver_function> real_;
  decltype(&::cuModuleGetGlobal) module_global_ = nullptr;
  // Those that came later than the oldest driver; null there.
  decltype(&::cuLibraryGetGlobal) library_global_ = nullptr;
  decltype(&::cuLibraryGetManaged) library_managed_ = nullptr;
  decltype(&::cuFuncGetParamInfo) function_parameter_ = nullptr;
  decltype(&::cuKernelGetParamInfo) kernel_parameter_ = nullptr;
  mutable std::mutex libraries_mutex_;
  std::set<const void*> libraries_;
};

}  // namespace mneme::driver
