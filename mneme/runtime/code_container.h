// How the vendors pack the device code that a program registers: a row for each. Not for other rooms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/runtime/device_code.h"

namespace mneme {

struct CodeContainer {
  uint32_t wrapper_magic;  // of what is registered, in its first four bytes
  Result<ByteSpan> (*content)(const void* wrapper);
  // The code for a device of this architecture; empty: for any.
  Result<DeviceElf> (*find)(ByteSpan content, std::string_view architecture, const std::string& name);
  std::string_view compile_options;  // how the command gives those with which the plugin runs
};

// The container that a registered wrapper is of. A wrapper that is none's is taken for CUDA's, which says what is wrong with it.
const CodeContainer& container_of(const void* wrapper);

// How the command gives the options with which an image is compiled so that it has segments; null: of an image that was loaded.
std::string_view compile_options(const void* wrapper);

// 90 for "sm_90" and "sm_90a"; 0 for what is no architecture of CUDA's.
uint32_t sm_of(std::string_view architecture);

}  // namespace mneme
