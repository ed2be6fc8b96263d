#include "mneme/hooks/driver_images.h"

namespace mneme::driver {

JitOptions jit_options_of(unsigned count, const CUjit_option* options, void* const* values) {
  static const std::map<CUjit_option, const char*> kNames = {{CU_JIT_MAX_REGISTERS, "max_registers"},
                                                             {CU_JIT_THREADS_PER_BLOCK, "threads_per_block"},
                                                             {CU_JIT_OPTIMIZATION_LEVEL, "optimization_level"},
                                                             {CU_JIT_TARGET, "target"},
                                                             {CU_JIT_GENERATE_DEBUG_INFO, "generate_debug_info"},
                                                             {CU_JIT_CACHE_MODE, "cache_mode"},
                                                             {CU_JIT_POSITION_INDEPENDENT_CODE, "position_independent_code"},
                                                             {CU_JIT_MIN_CTA_PER_SM, "min_cta_per_sm"},
                                                             {CU_JIT_MAX_THREADS_PER_BLOCK, "max_threads_per_block"},
                                                             {CU_JIT_OVERRIDE_DIRECTIVE_VALUES, "override_directive_values"}};
  JitOptions found;
  for (unsigned i = 0; options && values && i < count; ++i) {
    auto name = kNames.find(options[i]);
    if (name == kNames.end()) continue;
    found[name->second] = std::to_string(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i])));
  }
  return found;
}

}  // namespace mneme::driver
