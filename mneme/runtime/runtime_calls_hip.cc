// HIP's row, where Mneme is built with ROCm.
#include "mneme/abi/hip_calls.inc"
#include "mneme/runtime/runtime_calls.h"

namespace mneme {

const RuntimeCalls& hip_runtime_calls() {
  static constexpr RuntimeCalls calls{.name = "HIP",
                                      .link_options = "`mneme config --hip ldflags`",
                                      .note_type = MNEME_NOTE_TYPE_HIP,
                                      .device = MNEME_TABLE_HIP,
                                      .call_count = MNEME_HIP_CALL_COUNT,
                                      .calls_digest = MNEME_HIP_CALLS_DIGEST};
  return calls;
}

}  // namespace mneme
