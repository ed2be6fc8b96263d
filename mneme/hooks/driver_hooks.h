// DriverHook: what an interposer puts into a slot of the driver's table. DriverSymbols: what it calls of the driver itself.
//
// A handler takes the arguments of the driver's function. Variants of one function (for per-thread default streams) share a
// handler, as a template by slot.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include "mneme/abi/driver_table.h"
#include "mneme/base/status.h"

namespace mneme::driver {

// Looks up the driver's functions that an interposer calls itself. `library` is the driver's, and stays open.
class DriverSymbols {
 public:
  explicit DriverSymbols(void* library) : library_(library) {}
  // Null: this driver lacks it.
  template <typename F>
  void find(const char* name, F*& function) const {
    function = reinterpret_cast<F*>(::dlsym(library_, name));
  }
  // unavailable: this driver lacks it.
  template <typename F>
  Status need(const char* name, F*& function) const {
    find(name, function);
    if (function) return {};
    return error(Code::unavailable, "the CUDA driver has no function {}: install a newer one", name);
  }

 private:
  void* const library_;
};

struct DriverHook {
  mneme_driver_call slot;
  mneme_driver_function handler;
};
template <typename F>
DriverHook hook(mneme_driver_call slot, F* handler) {
  return {slot, reinterpret_cast<mneme_driver_function>(handler)};
}

// What null means as a stream depends on which variant was called.
template <bool kPerThread>
CUstream stream_of_call(CUstream stream) {
  return kPerThread && stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace mneme::driver
