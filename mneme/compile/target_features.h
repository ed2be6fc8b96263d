// Features of a target, as `-mattr` names them.
#pragma once

#include <llvm/MC/MCSubtargetInfo.h>

#include <string>

#include "mneme/base/status.h"

namespace mneme {

// `features` is a list with commas, each with + or - before it; empty is right. invalid_argument: one without a sign, or unknown
// to the target, with the nearest that is known. `target` is what messages call it: "sm_90".
Status check_features(const std::string& features, const llvm::MCSubtargetInfo& known, const std::string& target);

}  // namespace mneme
