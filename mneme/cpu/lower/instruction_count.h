// How many machine instructions an object has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mneme/base/types.h"

namespace mneme::cpu {

// Those of all functions of a relocatable object, by disassembling them; padding between functions is not counted. Nothing where
// the object cannot be read.
std::optional<uint64_t> count_instructions(ByteSpan object, const std::string& architecture);

}  // namespace mneme::cpu
