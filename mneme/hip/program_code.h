// What the program has registered: the code objects, for what they say of the device that they are for and of their kernels, and
// managed variables.
#pragma once

#include <string>

#include "mneme/hip/table.h"
#include "mneme/runtime/registry.h"

namespace mneme::hip {

// The code objects, by the handles that their registration returned. For reading only: the interposers have registries of their
// own.
Registry& program_code();

// The target of the program's first code object, "gfx90a:sramecc+:xnack-"; "gfx90a" where the program has none.
std::string program_architecture();

// Where a kernel's code object has the variable of that name, for interposers of a program whose slots end in its runtime
// (mneme_find_global_function).
int find_global(const void* function, const char* name, uint64_t* address, uint64_t* size);

// 64 for GCN and CDNA, 32 for RDNA.
int wavefront_of(std::string_view architecture);

// A managed variable is memory that the host and kernels reach by a pointer each. The host's is set at once, as main() may use
// it; the device's when the code is loaded, which is not before the program's first launch or use of a symbol.
struct ManagedVariable {
  void** handle = nullptr;
  void** host_pointer = nullptr;
  const void* initial_value = nullptr;
  std::string name;
  size_t size = 0;
};
void add_managed_variable(Table& table, const ManagedVariable& variable);
// To be called before a kernel runs: sets the pointers of the device that are not set yet. Costs one load where there are none.
hipError_t set_managed_pointers();
// Forgets those of a code object. Their memory stays: the program may still hold pointers to it when it ends.
void remove_managed_variables(void** handle);

}  // namespace mneme::hip
