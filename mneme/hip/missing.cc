// What the slots hold of functions that CUDA's table has no counterpart of.
#include <atomic>

#include "mneme/base/log.h"
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

// One function a slot, so that each can say its name.
template <mneme_hip_call kCall>
struct Missing {
  static const char* name;
  static hipError_t call() {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    if (!said.test_and_set()) log::warning("{} is not available on the CPU device: it returns hipErrorNotSupported", name);
    return finish(hipErrorNotSupported);
  }
  // Beside an interposer.
  static hipError_t refuse() {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    if (!said.test_and_set())
      log::warning("{} is not available while Mneme stands before the HIP runtime: it returns hipErrorNotSupported", name);
    return finish(hipErrorNotSupported);
  }
};

// Modules and their kernels are registered as the program's own code is, so that the runtime does not know them by its handles.
bool takes_handles_of_modules(std::string_view name) {
  return name.starts_with("hipModule") || name.starts_with("hipDrvLaunch") || name == "hipGetFuncBySymbol";
}

// The end of a slot that has none, which can only make the call that the program has made.
template <mneme_call kCall>
struct NoEnd {
  static const char* name;
  static cudaError_t call() {
    if (cudaError_t code; AsMade::make(kCall, code)) return code;
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    if (!said.test_and_set()) log::warning("{} has no counterpart in the HIP runtime: it returns cudaErrorNotSupported", name);
    return cudaErrorNotSupported;
  }
};
#define MNEME_NAME(function) \
  template <>                \
  const char* Missing<MNEME_CALL_##function>::name = #function;
MNEME_HIP_CALLS(MNEME_NAME)
#undef MNEME_NAME
#define MNEME_NAME(function) \
  template <>                \
  const char* NoEnd<MNEME_CALL_##function>::name = #function;
MNEME_CUDA_CALLS(MNEME_NAME)
#undef MNEME_NAME

}  // namespace

void install_missing(const Table& table) {
#define MNEME_SET_MISSING(function) \
  table.abi().slots[MNEME_CALL_##function] = reinterpret_cast<mneme_function>(&Missing<MNEME_CALL_##function>::call);
  MNEME_HIP_CALLS(MNEME_SET_MISSING)
#undef MNEME_SET_MISSING
  if (table.ends_in_runtime()) {
    // The runtime's own, whether anything stands before it or not.
#define MNEME_SET_REAL(function)                                                                                          \
  if (takes_handles_of_modules(#function))                                                                                \
    table.abi().slots[MNEME_CALL_##function] = reinterpret_cast<mneme_function>(&Missing<MNEME_CALL_##function>::refuse); \
  else if (table.real(MNEME_CALL_##function))                                                                             \
    table.abi().slots[MNEME_CALL_##function] = table.real(MNEME_CALL_##function);
    MNEME_HIP_CALLS(MNEME_SET_REAL)
#undef MNEME_SET_REAL
  }
  // These say what something is called, and need no device.
  for (mneme_hip_call call :
       {MNEME_CALL_hipApiName, MNEME_CALL_hipGetCmdName, MNEME_CALL___hipGetPCH, MNEME_CALL_hipCreateChannelDesc})
    if (table.real(call)) table.abi().slots[call] = table.real(call);
}

std::vector<std::string_view> missing_functions(const Table& table) {
  std::vector<std::string_view> names;
#define MNEME_ADD_MISSING(function)                                                                                        \
  if (table.abi().slots[MNEME_CALL_##function] == reinterpret_cast<mneme_function>(&Missing<MNEME_CALL_##function>::call)) \
    names.push_back(Missing<MNEME_CALL_##function>::name);
  MNEME_HIP_CALLS(MNEME_ADD_MISSING)
#undef MNEME_ADD_MISSING
  return names;
}

void install_ends(Table& table) {
#define MNEME_SET_END(function)              \
  if (!table.has_end(MNEME_CALL_##function)) \
    table.set_slot(MNEME_CALL_##function, reinterpret_cast<mneme_function>(&NoEnd<MNEME_CALL_##function>::call));
  MNEME_CUDA_CALLS(MNEME_SET_END)
#undef MNEME_SET_END
}

std::vector<std::string_view> functions_without_end(const Table& table) {
  std::vector<std::string_view> names;
#define MNEME_ADD_WITHOUT_END(function) \
  if (!table.has_end(MNEME_CALL_##function)) names.push_back(NoEnd<MNEME_CALL_##function>::name);
  MNEME_CUDA_CALLS(MNEME_ADD_WITHOUT_END)
#undef MNEME_ADD_WITHOUT_END
  return names;
}

}  // namespace mneme::hip
