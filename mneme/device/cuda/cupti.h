// CUPTI's functions, opened at run time, and the few of its types that Mneme reads.
//
// The types are declared here, as CUPTI's documented binary interface has them, so that the program is not tied to the version
// that it was built with: the beginning of a kernel's record has been the same since CUDA 9. A test compares them with CUPTI's
// own headers.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::cuda {

using CuptiResult = int;
inline constexpr CuptiResult kCuptiSuccess = 0;
inline constexpr CuptiResult kCuptiMaxLimitReached = 12;  // no further record in a buffer
inline constexpr CuptiResult kCuptiMultipleSubscribers = 39;

using CuptiSubscriber = struct CuptiSubscriberObject*;

inline constexpr uint32_t kCuptiConcurrentKernel = 10;  // kind of an activity record
inline constexpr uint32_t kCuptiDriverApi = 1, kCuptiRuntimeApi = 2;
inline constexpr uint32_t kCuptiFlushForced = 1;

struct CuptiActivity {
  uint32_t kind;
};

// The beginning of a record of kind kCuptiConcurrentKernel.
struct CuptiKernelRecord {
  uint32_t kind;
  uint8_t before_start[12];
  uint64_t start, end, completed;  // ns
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total;
  uint32_t correlation;
};

struct CuptiCallbackData {
  uint32_t site;  // 0 on entry of the function, 1 on its exit
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  CUcontext context;
  uint32_t context_uid;
  uint64_t* data;
  uint32_t correlation;
};

// The functions that launch kernels, by CUPTI's numbers: cuLaunchKernel, cuLaunchCooperativeKernel, cuGraphLaunch and
// cuLaunchKernelEx, each with its _ptsz twin; and of the runtime cudaLaunchKernel, cudaLaunchCooperativeKernel,
// cudaLaunchKernelExC and
// __cudaLaunchKernel.
inline constexpr uint32_t kCuptiDriverLaunches[] = {307, 442, 477, 478, 514, 515, 652, 653};
inline constexpr uint32_t kCuptiRuntimeLaunches[] = {211, 214, 269, 270, 430, 431, 505, 506};

struct Cupti {
  CuptiResult (*get_result_string)(CuptiResult, const char**) = nullptr;
  CuptiResult (*subscribe)(CuptiSubscriber*, void (*)(void*, uint32_t, uint32_t, const void*), void*) = nullptr;
  CuptiResult (*unsubscribe)(CuptiSubscriber) = nullptr;
  CuptiResult (*enable_callback)(uint32_t enable, CuptiSubscriber, uint32_t domain, uint32_t function) = nullptr;
  CuptiResult (*register_callbacks)(void (*requested)(uint8_t**, size_t*, size_t*),
                                    void (*completed)(CUcontext, uint32_t, uint8_t*, size_t, size_t)) = nullptr;
  CuptiResult (*activity_enable)(uint32_t kind) = nullptr;
  CuptiResult (*flush_all)(uint32_t flag) = nullptr;
  CuptiResult (*next_record)(uint8_t* buffer, size_t valid, CuptiActivity** record) = nullptr;

  std::string library;  // the name it was opened under

  // ok if `result` is success; else unavailable: "<call>: CUPTI_ERROR_NAME".
  Status check(CuptiResult result, const std::string& call) const;
};

// Where libcupti is looked for, in this order: beside this code, in CUDA_HOME, in the toolkit of the build, in /usr/local/cuda,
// and where the loader looks. Of the folders only those that have the library are named.
std::vector<std::string> cupti_paths();

// The functions of the first library of `paths` that opens and has them all. unavailable, with the reason of each: none does.
Result<Cupti> open_cupti(const std::vector<std::string>& paths);

}  // namespace mneme::cuda
