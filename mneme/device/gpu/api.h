// Api: the functions of a vendor's driver that a GPU device is made of, under names of neither vendor.
//
// AMD has made HIP's module API after NVIDIA's driver API, function by function. What a device does with them (streams, staging,
// address spaces, the kernels of memory_kernels.cu) therefore stands once, over this class; a vendor derives from it what calls
// its own functions, with the types of its own headers. All is thread-safe, and works in the context that is current on the
// thread.
#pragma once

#include <span>
#include <string_view>

#include "mneme/device/device.h"

namespace mneme::gpu {

using ResultCode = int;  // the vendor's
inline constexpr ResultCode kSuccess = 0;

using ContextHandle = struct ContextObject*;
using StreamHandle = struct StreamObject*;
using EventHandle = struct EventObject*;
using ModuleHandle = struct ModuleObject*;
using FunctionHandle = struct FunctionObject*;
enum class MemoryHandle : uint64_t {};

// What is asked of a kernel. The numbers are the same in both vendors' headers.
enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  static_shared_memory = 1,
  constant_memory = 2,
  local_memory = 3,
  registers = 4,
  max_dynamic_shared_memory = 8,
};

enum class EventUse { timing, waiting };
enum class MemoryAccess { none, read, read_write };
enum class Sharing { none, descriptor };  // whether other processes can have the memory

// The names of the vendor's functions, and its words, for messages.
struct Words {
  std::string_view vendor, driver, visible;  // "CUDA", "the driver", "CUDA_VISIBLE_DEVICES"
  std::string_view start, count_devices, find_device, retain, make_current;
  std::string_view load_module, find_function, find_global, function_attribute, occupancy, launch, launch_cooperative;
  std::string_view create_stream, synchronize, create_event, record_event, wait_for_event, elapsed;
  std::string_view allocate, free, allocate_host, register_host, host_address;
  std::string_view copy_to_device, copy_to_host, copy, fill;
  std::string_view reserve, create_memory, map, unmap, set_access, export_memory, import_memory;
};

// Which context was current on a thread before another was made current.
struct PreviousContext {
  bool changed = false;
  ContextHandle context = nullptr;
  int device = 0;
};

// A launch has its arguments either one by one or packed.
struct Launch {
  FunctionHandle function = nullptr;
  const LaunchShape& shape;
  StreamHandle stream = nullptr;
  void** arguments = nullptr;
  ByteSpan packed = {};
  std::span<const PackedPlace> places = {};  // of each argument in `packed`, where that is known
};

class Api {
 public:
  virtual ~Api() = default;
  virtual const Words& words() const = 0;
  // ok for success; else the code that the result has in Mneme, with the message "<call>: NAME (the vendor's words)".
  virtual Status status_of(ResultCode result, std::string_view call) const = 0;
  // Whether the context is of no further use after this result.
  virtual bool is_fault(ResultCode result) const = 0;
  // Sizes of larger ranges in which a small one is reserved where it would be placed elsewhere by itself.
  virtual std::span<const uint64_t> wider_reservations() const = 0;

  // Whether addresses that are mapped when it starts are of no use afterwards, also when they are free again: then what is held
  // for a replay is let go meanwhile (held_addresses.h). Else it stays held, so that nothing of the driver's own is placed there.
  virtual bool remembers_mappings() const = 0;
  virtual ResultCode start() const = 0;
  virtual ResultCode count_devices(int* count) const = 0;
  virtual ResultCode find_device(int* device, int ordinal) const = 0;
  // The context that the vendor's runtime uses too in this process.
  virtual ResultCode retain(ContextHandle* context, int device) const = 0;
  virtual void release(int device) const = 0;
  virtual ResultCode make_current(ContextHandle context, int device, PreviousContext* previous) const = 0;
  virtual void restore(const PreviousContext& previous) const = 0;

  virtual void unload(ModuleHandle module) const = 0;
  virtual ResultCode find_function(FunctionHandle* function, ModuleHandle module, const char* name) const = 0;
  virtual ResultCode find_global(uint64_t* address, size_t* size, ModuleHandle module, const char* name) const = 0;
  virtual ResultCode function_attribute(int* value, FunctionAttribute attribute, FunctionHandle function) const = 0;
  virtual ResultCode occupancy(int* blocks, FunctionHandle function, int threads, size_t shared_memory) const = 0;
  virtual ResultCode launch(const Launch& launch) const = 0;

  virtual ResultCode create_stream(StreamHandle* stream) const = 0;  // that does not wait for the default stream
  virtual void destroy(StreamHandle stream) const = 0;
  virtual ResultCode synchronize(StreamHandle stream) const = 0;
  virtual ResultCode create_event(EventHandle* event, EventUse use) const = 0;
  virtual void destroy(EventHandle event) const = 0;
  virtual ResultCode record_event(EventHandle event, StreamHandle stream) const = 0;
  virtual ResultCode wait_for_event(EventHandle event) const = 0;
  virtual ResultCode elapsed(float* milliseconds, EventHandle start, EventHandle end) const = 0;

  virtual ResultCode allocate(uint64_t* address, size_t size) const = 0;
  virtual ResultCode free(uint64_t address) const = 0;
  virtual ResultCode allocate_host(void** memory, size_t size) const = 0;  // pinned, for all contexts
  virtual ResultCode free_host(void* memory) const = 0;
  virtual ResultCode register_host(void* memory, size_t size) const = 0;  // likewise, and mapped for the device
  virtual ResultCode unregister_host(void* memory) const = 0;
  virtual ResultCode host_address(uint64_t* address, void* memory) const = 0;  // by which the device sees it
  virtual ResultCode copy_to_device(uint64_t to, const void* from, size_t size, StreamHandle stream) const = 0;
  virtual ResultCode copy_to_host(void* to, uint64_t from, size_t size, StreamHandle stream) const = 0;
  virtual ResultCode copy(uint64_t to, uint64_t from, size_t size, StreamHandle stream) const = 0;
  virtual ResultCode fill(uint64_t to, unsigned char value, size_t size, StreamHandle stream) const = 0;

  virtual ResultCode reserve(uint64_t* address, size_t size, uint64_t wish) const = 0;
  virtual ResultCode unreserve(uint64_t address, size_t size) const = 0;
  virtual ResultCode create_memory(MemoryHandle* memory, size_t size, int device, Sharing sharing) const = 0;
  virtual void release(MemoryHandle memory) const = 0;
  virtual ResultCode map(uint64_t address, size_t size, MemoryHandle memory) const = 0;
  virtual ResultCode unmap(uint64_t address, size_t size) const = 0;
  virtual ResultCode set_access(uint64_t address, size_t size, int device, MemoryAccess access) const = 0;
  virtual ResultCode export_memory(int* descriptor, MemoryHandle memory) const = 0;
  virtual ResultCode import_memory(MemoryHandle* memory, int descriptor) const = 0;
};

}  // namespace mneme::gpu
