// The devices of a program whose calls end in its own HIP runtime.
#pragma once

#include <string>

#include "mneme/hip/table.h"

namespace mneme::hip {

// "gfx90a:sramecc+:xnack-", as the program's runtime names the device of this number; empty: it does not tell. May become the
// runtime's last error.
std::string architecture_of(Table& table, int ordinal);

}  // namespace mneme::hip
