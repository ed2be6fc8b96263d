// Target IDs of AMD's GPUs ("User Guide for AMDGPU Backend", "Target ID"): "gfx90a", "gfx90a:sramecc+:xnack-".
#pragma once

#include <string_view>
#include <vector>

namespace mneme {

// "gfx90a": what stands before the settings.
std::string_view amd_processor(std::string_view target);
// "sramecc+", "xnack-": the settings, in their order.
std::vector<std::string_view> amd_settings(std::string_view target);
// Whether a device of architecture `device` runs code for `target`, both target IDs: the processor is the same, or the target's
// is the generic one of the device's ("gfx11-generic"), and the device has each setting of the target. A device's name has a
// setting for all that its processor can have.
bool amd_device_runs(std::string_view target, std::string_view device);

}  // namespace mneme
