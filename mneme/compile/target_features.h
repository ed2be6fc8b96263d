// Checks the names of target features.
#pragma once

#include <llvm/MC/MCSubtargetInfo.h>

#include <string>

#include "mneme/base/status.h"

namespace mneme {

// `features` is a list as llc's -mattr takes it: "+ptx87,-sse4a"; it may be empty. invalid_argument: a feature has no + or -
// before it, or the target does not know it; the message has the nearest name that it knows, and calls the target `target`:
// "sm_90".
Status check_features(const std::string& features, const llvm::MCSubtargetInfo& known, const std::string& target);

}  // namespace mneme
