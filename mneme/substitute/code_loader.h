// CodeLoader: what deployed code needs of a front: what the vendor knows of devices and memory, and loading of code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/runtime/registry.h"

namespace mneme {

// Thread-safe. No call leaves an error behind that the program would find.
class CodeLoader {
 public:
  // Code that is loaded: handles of the vendor's.
  struct Loaded {
    void* library = nullptr;
    void* kernel = nullptr;
  };

  virtual ~CodeLoader() = default;
  virtual std::string_view device_kind() const = 0;           // "cuda", "hip", "cpu"
  virtual int current_device() = 0;                           // its number; negative: there is none, or the vendor does not tell
  virtual Result<std::string> architecture(int ordinal) = 0;  // "sm_90", "gfx90a:xnack-", "x86-64-v3"
  // Sizes of a kernel's parameters, in their order.
  virtual Result<std::vector<uint64_t>> parameter_sizes(const void* function, const RegisteredKernel& kernel) = 0;
  // The program's variable that the kernel's IR calls `name`, on the current device.
  virtual Result<MemoryRange> find_variable(const void* function, const RegisteredKernel& kernel, const std::string& name) = 0;
  // Whether what is launched in the stream goes into a graph. Nothing can be loaded meanwhile.
  virtual bool is_capturing(void* stream) = 0;
  // The allocation that holds an address; nothing where that is not known.
  virtual std::optional<MemoryRange> allocation_of(DevicePtr address) = 0;

  // Loads an image of machine code, and finds the kernel in it.
  virtual Result<Loaded> load(ByteSpan image, const std::string& kernel) = 0;
  // What a launch of the code on the current device names, as long as the device has what was loaded onto it.
  virtual Result<void*> launch_handle(const Loaded& code) { return code.kernel; }
  // Writes into the code's table of variables (MNEME_VARIABLE_TABLE), on the current device.
  virtual Status write_addresses(const Loaded& code, std::span<const uint64_t> addresses) = 0;
  // Lets launches on the current device have so much dynamic shared memory.
  virtual Status allow_shared_memory(const Loaded& code, int ordinal, Bytes size) = 0;
  // Lets launches on the current device have clusters of more blocks than any device takes.
  virtual Status allow_large_clusters(const Loaded& code, int ordinal) = 0;
};

// Sizes of the parameters of a kernel that has a segment. Fails as RegisteredKernel::segment() does.
Result<std::vector<uint64_t>> sizes_in_segment(const RegisteredKernel& kernel);
// What a variable that a kernel's IR calls `name` is called in the program's device image. not_found: the kernel has none of that
// name.
Result<std::string> name_in_image(const RegisteredKernel& kernel, const std::string& name);
// Whether that variable is, in the device image, a pointer to managed memory, as `__managed__` variables of HIP are in the code
// of AMD GPUs.
bool is_managed_pointer(const RegisteredKernel& kernel, const std::string& name);
// incompatible: the table in the code has another size than these addresses.
Status check_table_size(uint64_t size, std::span<const uint64_t> addresses);

}  // namespace mneme
