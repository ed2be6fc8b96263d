// What the slots hold of functions that CUDA's table has no counterpart of.
#include <algorithm>
#include <atomic>
#include <string>

#include "mneme/base/log.h"
#include "mneme/hip/newer_functions.h"
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

// What the functions below do: each says it at its first call. Inlined, it would be compiled a thousand times.
[[gnu::noinline]] hipError_t not_supported(std::atomic_flag& said, mneme_hip_call call);
// Modules and their kernels are registered as the program's own code is, so that the runtime does not know them by its handles.
[[gnu::noinline]] hipError_t refused(std::atomic_flag& said, mneme_hip_call call);
[[gnu::noinline]] cudaError_t no_counterpart(std::atomic_flag& said, mneme_call call);

// One function a slot, so that each can say its name.
template <mneme_hip_call kCall>
struct Missing {
  static hipError_t call() {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    return not_supported(said, kCall);
  }
  // Beside an interposer.
  static hipError_t refuse() {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    return refused(said, kCall);
  }
};

// The end of a slot that has none, which can only make the call that the program has made.
template <mneme_call kCall>
struct NoEnd {
  static cudaError_t call() {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    return no_counterpart(said, kCall);
  }
};

struct MissingFunction {
  mneme_hip_call slot;
  const char* name;
  hipError_t (*call)();
  hipError_t (*refuse)();
};
constexpr MissingFunction kMissing[] = {
#define MNEME_MISSING(function) \
  {MNEME_CALL_##function, #function, &Missing<MNEME_CALL_##function>::call, &Missing<MNEME_CALL_##function>::refuse},
    MNEME_HIP_CALLS(MNEME_MISSING)
#undef MNEME_MISSING
};
struct FunctionWithoutEnd {
  mneme_call slot;
  const char* name;
  cudaError_t (*call)();
};
constexpr FunctionWithoutEnd kWithoutEnd[] = {
#define MNEME_WITHOUT_END(function) {MNEME_CALL_##function, #function, &NoEnd<MNEME_CALL_##function>::call},
    MNEME_CUDA_CALLS(MNEME_WITHOUT_END)
#undef MNEME_WITHOUT_END
};

// By the table of those functions, which has each.
const char* name_in(const auto& functions, auto slot) {
  return std::ranges::find(functions, slot, [](const auto& function) { return function.slot; })->name;
}
hipError_t say_missing(std::atomic_flag& said, const char* name, const std::string& where) {
  if (!said.test_and_set()) log::warning("{} is not available {}: it returns hipErrorNotSupported", name, where);
  return finish(hipErrorNotSupported);
}
hipError_t not_supported(std::atomic_flag& said, mneme_hip_call call) {
  return say_missing(said, name_in(kMissing, call), "on the CPU device");
}
hipError_t refused(std::atomic_flag& said, mneme_hip_call call) {
  const char* const name = name_in(kMissing, call);
  return say_missing(said, name, "while Mneme stands before the HIP runtime, " + std::string(reason_for_refusal(name)));
}
cudaError_t no_counterpart(std::atomic_flag& said, mneme_call call) {
  if (cudaError_t code; AsMade::make(call, code)) return code;
  if (!said.test_and_set())
    log::warning("{} has no counterpart in the HIP runtime: it returns cudaErrorNotSupported", name_in(kWithoutEnd, call));
  return cudaErrorNotSupported;
}

}  // namespace

void install_missing(const Table& table) {
  for (const MissingFunction& function : kMissing) {
    mneme_function& slot = table.abi().slots[function.slot];
    slot = reinterpret_cast<mneme_function>(function.call);
    if (const mneme_function own = own_function(function.name, table.abi().index)) {
      slot = own;
      continue;
    }
    if (!table.ends_in_runtime()) continue;
    // The runtime's own, whether anything stands before it or not.
    if (!reason_for_refusal(function.name).empty())
      slot = reinterpret_cast<mneme_function>(function.refuse);
    else if (table.real(function.slot))
      slot = table.real(function.slot);
  }
  // These say what something is called, and need no device.
  for (mneme_hip_call call :
       {MNEME_CALL_hipApiName, MNEME_CALL_hipGetCmdName, MNEME_CALL___hipGetPCH, MNEME_CALL_hipCreateChannelDesc})
    if (table.real(call)) table.abi().slots[call] = table.real(call);
}

std::vector<std::string_view> missing_functions(const Table& table) {
  std::vector<std::string_view> names;
  for (const MissingFunction& function : kMissing)
    if (table.abi().slots[function.slot] == reinterpret_cast<mneme_function>(function.call)) names.push_back(function.name);
  return names;
}

void install_ends(Table& table) {
  for (const FunctionWithoutEnd& function : kWithoutEnd)
    if (!table.has_end(function.slot)) table.set_slot(function.slot, reinterpret_cast<mneme_function>(function.call));
}

std::vector<std::string_view> functions_without_end(const Table& table) {
  std::vector<std::string_view> names;
  for (const FunctionWithoutEnd& function : kWithoutEnd)
    if (!table.has_end(function.slot)) names.push_back(function.name);
  return names;
}

}  // namespace mneme::hip
