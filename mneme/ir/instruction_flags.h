// The flags of instructions, by the words of textual IR. For this room only. Not installed.
#pragma once

#include <llvm/IR/Instruction.h>

#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::ir {

std::vector<std::string> flags_of(const llvm::Instruction& instruction);
Status set_flag_of(llvm::Instruction& instruction, const std::string& flag, bool is_set);

}  // namespace mneme::ir
