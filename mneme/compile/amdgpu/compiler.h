// The compiler for AMD GPUs: device IR → the user's pipeline → an object → a code object for HSA, linked by LLD.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/compile/amdgpu/options.h"
#include "mneme/compile/compiler.h"

namespace mneme::amdgpu {

// `architecture` is the device's target ID, "gfx90a:sramecc+:xnack-"; a processor alone is code for any setting. Failures:
// those of parse_target_id().
//
// Code is made as clang makes it: with the recorded features where the processor is the recorded one, with the wavefront and the
// version of code objects that were recorded, and with the same contraction. What is open of ROCm's device libraries is linked
// (device_libraries.h). compile() has these failures besides those of Compiler: incompatible (the module is for another target);
// those of check_options(), CodegenTarget::of() and link_device_libraries().
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture);
// The same, with the folders where the device libraries may be.
Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, std::vector<std::string> library_folders);

}  // namespace mneme::amdgpu
