// printf of device code.
#pragma once

#include <cstdint>
#include <string>

namespace mneme::cpu {

struct DeviceText {
  std::string text;
  int32_t arguments = 0;  // how many the format took; -1 for a null format. What printf returns in a kernel.
};

// Formats CUDA's packed argument buffer: each argument, promoted as C does, at the next offset aligned to its size. Strings are
// read where their pointers say. A conversion that C does not have stands in the text as it is written; %n writes nothing.
DeviceText format_device_printf(const char* format, const void* arguments);

}  // namespace mneme::cpu
