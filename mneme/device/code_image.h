// A device code image: what `compile` makes, a store may cache, and a device loads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

enum class DeviceKind { fake, cpu, cuda, hip };

std::string_view to_string(DeviceKind kind);
Result<DeviceKind> parse_device_kind(std::string_view text);

struct CodeImage {
  DeviceKind device = DeviceKind::cpu;
  ByteVector bytes;  // cubin or PTX text with its terminator (cuda), shared object (cpu), any text (fake)
};

// What the loaded kernel needs; empty where the device cannot tell.
struct KernelResources {
  std::optional<uint32_t> registers;          // a thread
  std::optional<Bytes> local_memory;          // a thread, spills included
  std::optional<Bytes> constant_memory;       // bytes of the image's constant bank
  std::optional<Bytes> static_shared_memory;  // a block
  std::optional<uint32_t> max_threads_per_block;
};

}  // namespace mneme
