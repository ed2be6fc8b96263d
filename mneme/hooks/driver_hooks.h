// DriverHook: what an interposer puts into a slot of the driver's table.
//
// A handler takes the arguments of the driver's function. Variants of one function (for per-thread default streams) share a
// handler, as a template by slot.
#pragma once

#include <cuda.h>

#include "mneme/abi/driver_table.h"

namespace mneme::driver {

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
