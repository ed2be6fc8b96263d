// AMD's architectures, as LLVM's own table has them, and which runs whose code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme::amdgpu {

// Whether code is for devices on which XNACK or SRAMECC is on, off, or either.
enum class Setting { any, on, off };

// A target ID ("User Guide for AMDGPU Backend", "Target ID"): "gfx90a", "gfx90a:sramecc+:xnack-".
struct TargetId {
  std::string processor;
  Setting xnack = Setting::any, sramecc = Setting::any;
  // "gfx90a:sramecc+:xnack-": the features in the order of their names.
  std::string text() const;
  friend bool operator==(const TargetId&, const TargetId&) = default;
};

// unsupported: LLVM does not know the processor. invalid_argument: a feature is none of a target ID, stands twice, lacks + or -
// at its end, or the processor does not have it.
Result<TargetId> parse_target_id(std::string_view text);

// What the processor has, by LLVM's table. `processor` must be one that parse_target_id() takes.
bool is_generic(std::string_view processor);  // "gfx11-generic"
bool has_xnack(std::string_view processor);
bool has_sramecc(std::string_view processor);
bool has_wavefront_of_32(std::string_view processor);
bool has_wavefront_of_64(std::string_view processor);
// 9010 for gfx90a: the number that ROCm's device libraries have for it (__oclc_ISA_version).
uint32_t isa_version(std::string_view processor);

// As amd_device_runs(); false where one of the two is no target ID.
bool runs_on(std::string_view target, std::string_view device);

}  // namespace mneme::amdgpu
