// HIP's row, where Mneme is built without ROCm.
#include "mneme/runtime/runtime_calls.h"

namespace mneme {

const RuntimeCalls& hip_runtime_calls() {
  static constexpr RuntimeCalls calls{.name = "HIP",
                                      .link_options = "`mneme config --hip ldflags`",
                                      .note_type = MNEME_NOTE_TYPE_HIP,
                                      .device = MNEME_TABLE_HIP,
                                      .call_count = 0,
                                      .calls_digest = 0};
  return calls;
}

}  // namespace mneme
