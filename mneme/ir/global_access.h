// The checks and names behind global.h and module_ref.h, for this room only. Not installed. All return invalid_argument.
#pragma once

#include <llvm/IR/GlobalValue.h>

#include <string>

#include "mneme/base/status.h"

namespace mneme::ir {

Result<llvm::GlobalValue::LinkageTypes> parse_linkage(const std::string& name);
Status check_address_space(unsigned number);
Status check_alignment(uint64_t bytes);
Result<unsigned> parse_calling_convention(const std::string& name);

}  // namespace mneme::ir
