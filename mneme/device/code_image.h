// A device code image: the room `compile` makes it, a cache may keep it, and a device loads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

enum class DeviceKind { fake, cpu, cuda, hip };

// The name of the kind's backend, "cuda"; "unknown" for a kind without one.
std::string_view to_string(DeviceKind kind);
// invalid_argument: no backend has that name; the message lists the names.
Result<DeviceKind> parse_device_kind(std::string_view text);

// How the CUDA driver is to assemble an image that is PTX. What is not set is left to the driver.
struct JitOptions {
  enum class LoadCache { unset, ca, cg };      // the cache operator of loads that say none themselves
  std::optional<unsigned> level = {};          // 0 to 4
  std::optional<unsigned> max_registers = {};  // a thread
  LoadCache load_cache = LoadCache::unset;
  friend bool operator==(const JitOptions&, const JitOptions&) = default;
};

struct CodeImage {
  DeviceKind device = DeviceKind::cpu;
  ByteVector bytes;     // cubin or PTX text with its terminator (cuda), shared object (cpu), any text (fake)
  JitOptions jit = {};  // only of an image that is PTX
};

// What a loaded kernel needs. A member is empty where the device cannot tell.
struct KernelResources {
  std::optional<uint32_t> registers;          // a thread
  std::optional<Bytes> local_memory;          // a thread, spills included
  std::optional<Bytes> constant_memory;       // that the source allocates and the kernel uses
  std::optional<Bytes> static_shared_memory;  // a block
  std::optional<uint32_t> max_threads_per_block;
};

}  // namespace mneme
