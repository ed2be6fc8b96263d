#include "mneme/cpu/cuda_runtime/slots.h"

#include <atomic>

#include "mneme/base/log.h"

namespace mneme::emulation {
namespace {

std::atomic<cudaError_t> context_fault = cudaSuccess;
thread_local cudaError_t last_error = cudaSuccess;

// One function a slot, so that each can say its name.
template <mneme_call kCall>
struct Missing {
  static const char* name;
  static cudaError_t call() {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    if (!said.test_and_set()) log::warning("{} is not available on the CPU device: it returns cudaErrorNotSupported", name);
    return finish(cudaErrorNotSupported);
  }
};
#define MNEME_NAME(function) \
  template <>                \
  const char* Missing<MNEME_CALL_##function>::name = #function;
MNEME_CUDA_CALLS(MNEME_NAME)
#undef MNEME_NAME

cudaError_t get_last_error() { return take_last_error(); }
cudaError_t peek_at_last_error() { return peek_last_error(); }

}  // namespace

cudaError_t finish(cudaError_t result) {
  if (result != cudaSuccess) last_error = result;
  return result;
}

cudaError_t fault() { return context_fault.load(std::memory_order_relaxed); }
void poison(cudaError_t error) { context_fault = error; }

cudaError_t take_last_error() {
  if (cudaError_t error = fault(); error != cudaSuccess) return error;
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t peek_last_error() {
  if (cudaError_t error = fault(); error != cudaSuccess) return error;
  return last_error;
}

void forget_errors() {
  context_fault = cudaSuccess;
  last_error = cudaSuccess;
}

Slots::Slots(mneme_call_table& table) : table_(table) {
#define MNEME_SET_MISSING(function) \
  table.slots[MNEME_CALL_##function] = reinterpret_cast<mneme_function>(&Missing<MNEME_CALL_##function>::call);
  MNEME_CUDA_CALLS(MNEME_SET_MISSING)
#undef MNEME_SET_MISSING
}

void fill_errors(Slots& slots) {
  slots.set_raw(MNEME_CALL_cudaGetLastError, &get_last_error);
  slots.set_raw(MNEME_CALL_cudaPeekAtLastError, &peek_at_last_error);
  for (mneme_call call : {MNEME_CALL_cudaGetErrorName, MNEME_CALL_cudaGetErrorString, MNEME_CALL_cudaCreateChannelDesc})
    slots.keep(call);
}

}  // namespace mneme::emulation
