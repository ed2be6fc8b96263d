// How emulated functions get into a call table, and what every call of one does before and after: a fault that a kernel left
// behind is returned by every later call, and each call's failure becomes the thread's last error.
#pragma once

#include <cuda_runtime_api.h>

#include <bitset>
#include <string_view>

#include "mneme/abi/call_table.h"

namespace mneme::emulation {

// Notes a call's result as the calling thread's last error, unless it is success, and returns it.
cudaError_t finish(cudaError_t result);
// The error that a fault left behind, or success.
cudaError_t fault();
// A kernel faulted: from now on every call fails with `error`, as in a poisoned context.
void poison(cudaError_t error);
// cudaGetLastError and cudaPeekAtLastError.
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
  // Every slot first answers cudaErrorNotSupported and says so once.
  explicit Slots(mneme_call_table& table);

  template <auto kFunction>
  void set(mneme_call call) {
    set_raw(call, &Guard<kFunction>::call);
  }
  // For functions that have nothing to do with errors.
  template <typename R, typename... A>
  void set_raw(mneme_call call, R (*function)(A...)) {
    table_.slots[call] = reinterpret_cast<mneme_function>(function);
  }
  // For functions of the linked runtime that need no device, such as the texts of errors.
  void keep(mneme_call call) { table_.slots[call] = table_.real[call]; }

 private:
  mneme_call_table& table_;
};

// The families. Each sets its slots; MNEME_EMULATE checks an implementation against the prototype in CUDA's header.
void fill_errors(Slots& slots);
void fill_registration(Slots& slots, uint32_t table);
void fill_launch(Slots& slots);
void fill_functions(Slots& slots);
void fill_symbols(Slots& slots);
void fill_memory(Slots& slots);
void fill_pools(Slots& slots);
void fill_copies(Slots& slots);
void fill_streams(Slots& slots);
void fill_capture(Slots& slots);
void fill_events(Slots& slots);
void fill_device(Slots& slots);
void fill_graphs(Slots& slots);
void fill_graph_nodes(Slots& slots);

#define MNEME_EMULATE(name, function) slots.set<static_cast<decltype(&::name)>(&function)>(MNEME_CALL_##name)
// With the variants for programs that are compiled with per-thread default streams.
#define MNEME_EMULATE_PTSZ(name, function) \
  MNEME_EMULATE(name, function);           \
  slots.set<static_cast<decltype(&::name)>(&function)>(MNEME_CALL_##name##_ptsz)
#define MNEME_EMULATE_PTDS(name, function) \
  MNEME_EMULATE(name, function);           \
  slots.set<static_cast<decltype(&::name)>(&function)>(MNEME_CALL_##name##_ptds)

}  // namespace mneme::emulation
