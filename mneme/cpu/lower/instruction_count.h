// Counts the machine instructions of an object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mneme/base/types.h"

namespace mneme::cpu {

// Disassembles all functions of a relocatable object and counts their instructions, without the padding between functions.
// Nothing where the object cannot be read.
std::optional<uint64_t> count_instructions(ByteSpan object, const std::string& architecture);

}  // namespace mneme::cpu
