// Where a kernel's variables lie in the program.
#pragma once

#include <string>

#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/hooks/call_hooks.h"
#include "mneme/runtime/registry.h"

namespace mneme {

// A variable that the program has registered through this table. Leaves no error behind. device_fault: the vendor does not tell.
Result<MemoryRange> find_variable(const CallTable& table, const RegisteredVariable& variable);

// The variable of that name, in the device image of the kernel that the program launches by `function` through this table.
// `table_of` is called with the index of the table through which the image was registered. Leaves no error behind. not_found,
// device_fault, unavailable: the vendor does not tell.
using TableOf = const CallTable& (*)(uint32_t index);
Result<MemoryRange> find_global(const CallTable& table, const void* function, const RegisteredKernel& kernel,
                                const std::string& name, TableOf table_of);

}  // namespace mneme
