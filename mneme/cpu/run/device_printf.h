// printf of device code.
#pragma once

#include <cstdint>
#include <string>

namespace mneme::cpu {

struct DeviceText {
  std::string text;
  int32_t arguments = 0;  // what printf returns in a kernel: how many arguments the format took; -1 for a null format
};

// Formats the arguments in CUDA's packed buffer, where each argument, promoted as in C, lies at the next offset that is aligned
// to its size. Strings are read where their pointers say. A conversion that C does not have stays in the text as it is written;
// %n writes nothing.
DeviceText format_device_printf(const char* format, const void* arguments);

}  // namespace mneme::cpu
