// printf of device code.
#pragma once

#include <cstdint>
#include <span>
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

// Formats a message of HIP's: the format, and behind it the arguments. A string is as many words as it and its end take; anything
// else is one. What is missing at the end reads as 0.
DeviceText format_device_message(std::span<const uint64_t> message);

}  // namespace mneme::cpu
