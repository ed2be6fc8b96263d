#include "mneme/runtime/runtime_calls.h"

namespace mneme {

const RuntimeCalls& cuda_runtime_calls() {
  static constexpr RuntimeCalls calls{.name = "CUDA",
                                      .link_options = "`mneme config ldflags`",
                                      .note_type = MNEME_NOTE_TYPE,
                                      .device = MNEME_TABLE_CUDA,
                                      .call_count = MNEME_CALL_COUNT,
                                      .calls_digest = MNEME_CUDA_CALLS_DIGEST};
  return calls;
}

const RuntimeCalls* runtime_calls_of_note(uint32_t note_type) {
  for (const RuntimeCalls* calls : {&cuda_runtime_calls(), &hip_runtime_calls()})
    if (calls->note_type == note_type) return calls;
  return nullptr;
}

}  // namespace mneme
