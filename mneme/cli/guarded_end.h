// What is said of a child that ended before its work was done.
#pragma once

#include "mneme/base/status.h"
#include "mneme/process/guarded.h"

namespace mneme::cli {

// Why a child's work was not done, and what to do about it. For every end but finished and interrupted.
Status explain(const GuardedEnd& end);

}  // namespace mneme::cli
