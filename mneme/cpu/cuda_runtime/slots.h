// Slots: puts emulated functions into a call table. Each gets a guard around it: once a kernel has faulted, every later call
// returns that error, and the failure of a call becomes the thread's last error.
#pragma once

#include <cuda_runtime_api.h>

#include <bitset>
#include <string_view>

#include "mneme/abi/call_table.h"

namespace mneme::emulation {

// Notes a call's result as the calling thread's last error, unless it is success, and returns it.
cudaError_t finish(cudaError_t result);
// The error of the fault that has poisoned the context; success where there was none.
cudaError_t fault();
// To be called after a fault of a kernel: from now on every call fails with `error`, as in a poisoned CUDA context.
void poison(cudaError_t error);
// What cudaGetLastError and cudaPeekAtLastError return.
cudaError_t take_last_error();
cudaError_t peek_last_error();

// For tests: forgets faults and the calling thread's last error.
void forget_errors();

template <auto kFunction>
struct Guard;
template <typename... Arguments, cudaError_t (*kFunction)(Arguments...)>
struct Guard<kFunction> {
  static cudaError_t call(Arguments... arguments) {
    cudaError_t result = fault();
    if (result == cudaSuccess) result = kFunction(arguments...);
    return finish(result);
  }
};

// The slots of one table while they are being filled.
class Slots {
 public:
  // Fills every slot with a function that returns cudaErrorNotSupported, and says so once on standard error.
  explicit Slots(mneme_call_table& table);

  // Puts a function, with its guard, into a slot.
  template <auto kFunction>
  void set(mneme_call call) {
    set_raw(call, &Guard<kFunction>::call);
  }
  // Puts a function into a slot without a guard: one that has nothing to do with errors, or sets them itself.
  template <typename R, typename... A>
  void set_raw(mneme_call call, R (*function)(A...)) {
    table_.slots[call] = reinterpret_cast<mneme_function>(function);
  }
  // Leaves a slot to the function of the linked runtime: one that needs no device, such as the texts of errors.
  void keep(mneme_call call) { table_.slots[call] = table_.real[call]; }

 private:
  mneme_call_table& table_;
};

// Each sets the slots of one family of functions. MNEME_EMULATE checks an implementation against the prototype in CUDA's
// header.
void fill_errors(Slots& slots);
void fill_registration(Slots& slots, uint32_t table);
void fill_launch(Slots& slots);
void fill_functions(Slots& slots);
void fill_libraries(Slots& slots);
void fill_symbols(Slots& slots);
void fill_memory(Slots& slots);
void fill_managed(Slots& slots);
void fill_pools(Slots& slots);
void fill_copies(Slots& slots);
void fill_arrays(Slots& slots);
void fill_array_copies(Slots& slots);
void fill_textures(Slots& slots);
void fill_streams(Slots& slots);
void fill_capture(Slots& slots);
void fill_events(Slots& slots);
void fill_device(Slots& slots);
void fill_graphs(Slots& slots);
void fill_graph_nodes(Slots& slots);

#define MNEME_EMULATE(name, function) slots.set<static_cast<decltype(&::name)>(&function)>(MNEME_CALL_##name)
// These also set the variant of the function for programs that are compiled with per-thread default streams.
#define MNEME_EMULATE_PTSZ(name, function) \
  MNEME_EMULATE(name, function);           \
  slots.set<static_cast<decltype(&::name)>(&function)>(MNEME_CALL_##name##_ptsz)
#define MNEME_EMULATE_PTDS(name, function) \
  MNEME_EMULATE(name, function);           \
  slots.set<static_cast<decltype(&::name)>(&function)>(MNEME_CALL_##name##_ptds)

}  // namespace mneme::emulation
