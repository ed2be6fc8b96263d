// clang's bundles of AMD code objects, which HIP programs hold and register: one code object for each target that the program was
// compiled for, plain (__CLANG_OFFLOAD_BUNDLE__) or compressed as a whole (CCOB). A target is a processor and settings of
// features: "gfx90a", "gfx90a:sramecc+:xnack-".
//
// Pure functions, which any thread may call. Failures: corrupt, unsupported. Messages start with `name`.
#pragma once

#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/runtime/device_code.h"

namespace mneme {

// The bytes of the bundle that a registration wrapper (__CudaFatBinaryWrapper of HIP's) points to, as many as the bundle's own
// headers say. unsupported: compressed by a clang before 19, which does not say how many bytes there are.
Result<ByteSpan> bundle_of_wrapper(const void* wrapper);

// The code object that a device of this architecture runs: its processor is the device's, and each feature that its target sets
// is set so on the device. Of several the one that sets most. An empty architecture, or one of another vendor's, asks for the
// first. The bytes lie in the bundle, or where it is compressed in DeviceElf::owner.
Result<DeviceElf> find_code_object(ByteSpan bundle, std::string_view architecture, const std::string& name);

}  // namespace mneme
