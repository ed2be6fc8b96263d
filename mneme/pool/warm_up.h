// Warming LLVM up: what its first compilation costs in a process is paid once, before workers are forked.
#pragma once

#include <string>

#include "mneme/device/code_image.h"

namespace mneme {

// Translates a small kernel of its own, by a pipeline as a configuration has. Starts no thread; where it fails nothing is warmer.
void warm_llvm_up(DeviceKind kind, const std::string& architecture);

}  // namespace mneme
