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
};
#define MNEME_NAME(function) \
  template <>                \
  const char* Missing<MNEME_CALL_##function>::name = #function;
MNEME_HIP_CALLS(MNEME_NAME)
#undef MNEME_NAME

}  // namespace

void install_missing(const Table& table) {
#define MNEME_SET_MISSING(function) \
  table.abi().slots[MNEME_CALL_##function] = reinterpret_cast<mneme_function>(&Missing<MNEME_CALL_##function>::call);
  MNEME_HIP_CALLS(MNEME_SET_MISSING)
#undef MNEME_SET_MISSING
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

}  // namespace mneme::hip
