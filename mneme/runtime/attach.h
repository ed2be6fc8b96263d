// The check that every interposer's mneme_attach begins with.
#pragma once

#include <string>

#include "mneme/abi/call_table.h"
#include "mneme/base/status.h"
#include "mneme/runtime/runtime_calls.h"

namespace mneme {

// Checks a table, and numbers it if no interposer has done so yet. Thread-safe. `calls` is the runtime whose slots the interposer
// replaces. unsupported: the object calls another vendor's runtime. incompatible: it was linked by a Mneme with another ABI
// version or another list of the runtime's functions; the message names the object and says to build it again. exhausted:
// MNEME_MAX_TABLES tables are in use.
Status accept_table(mneme_call_table& table, const RuntimeCalls& calls = cuda_runtime_calls());

// What an interposer does with CUDA's functions: it is them, on a device of its own; or it stands before them, whoever they are.
enum class CudaSlots { implemented, stood_before };

// The table whose slots an interposer of CUDA's functions replaces, checked and numbered. That is `table` itself, or for a HIP
// program the one through which its calls go (docs/adr/0048-hip-over-cuda-slots.md), which libmneme_hip.so makes: its slots are
// those of who implements them, or end in the program's own HIP runtime. Fails as accept_table() does. unavailable: that library
// cannot be loaded.
Result<mneme_call_table*> accept_cuda_slots(mneme_call_table& table, CudaSlots slots);

// The architecture of the device of that number, "gfx90a:sramecc+:xnack-", as the HIP runtime tells in which the slots of this
// table end. May leave an error of the runtime's behind. unavailable: it does not tell.
Result<std::string> hip_architecture(const mneme_call_table& cuda, int ordinal);

// What libmneme_hip.so exports: the table behind one of a HIP program, which is made as `slots` (CudaSlots) says where there is
// none yet; and the architecture of a device, which is text of the library's own; empty: the runtime does not tell.
typedef mneme_call_table* (*CudaTableFunction)(mneme_call_table* hip, int slots);
inline constexpr char kCudaTableSymbol[] = "mneme_cuda_table";
typedef const char* (*HipArchitectureFunction)(uint32_t table, int ordinal);
inline constexpr char kHipArchitectureSymbol[] = "mneme_hip_architecture";
inline constexpr char kHipLibrary[] = "libmneme_hip.so";

}  // namespace mneme
