#include "mneme/cpu/lower/instruction_count.h"

#include "mneme/compile/machine_instructions.h"

namespace mneme::cpu {

std::optional<uint64_t> count_instructions(ByteSpan object, const std::string& architecture) {
  return mneme::count_instructions(object, {"x86_64-unknown-linux-gnu", architecture});
}

}  // namespace mneme::cpu
