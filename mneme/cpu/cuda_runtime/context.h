// The one emulated device of a process, and everything that programs make on it.
//
// A launch or a copy is finished when its call returns, whatever its stream. Streams, events and graphs therefore only keep
// what a program can ask about them.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "mneme/base/range_map.h"
#include "mneme/base/status.h"
#include "mneme/cpu/cuda_runtime/images.h"
#include "mneme/cpu/cuda_runtime/memory_advice.h"
#include "mneme/cpu/cuda_runtime/memory_pool.h"
#include "mneme/device/device.h"
#include "mneme/runtime/registry.h"

namespace mneme::emulation {

inline constexpr size_t kDefaultSharedBytes = 48 << 10;  // a block's dynamic shared memory without opt-in
inline constexpr int kMaxThreadsPerMultiprocessor = 2048;
inline constexpr int kMaxBlocksPerMultiprocessor = 32;

enum class MemoryKind { device, managed, host, registered };

// Of memory that a node of a graph allocates: it stays where it is as long as the graph may be launched again, and is in use
// from the launch that allocates it until it is freed.
enum class GraphUse { none, idle, live };

struct MemoryUse {
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;                     // of host memory
  std::shared_ptr<MemoryPool> pool = {};  // where the memory comes from; null: from none
  GraphUse graph = GraphUse::none;
};

struct AllocatedMemory {
  MemoryRange range;
  MemoryUse use;
};

// What the program has allocated. Thread-safe.
class MemoryTable {
 public:
  explicit MemoryTable(Device& device) : device_(device) {}

  // Null: there is not enough memory, `size` is 0, or it is more than the pool may have. The pool counts the memory.
  void* allocate(size_t size, const MemoryUse& use);
  // Frees an allocation, or forgets registered memory; that of a graph becomes idle. False: no allocation of one of the kinds in
  // `accepts` starts there, or it is idle.
  bool free(void* pointer, std::initializer_list<MemoryKind> accepts);
  // Makes memory of a graph live: a launch has allocated it.
  void begin_graph_use(void* pointer);
  // The graph is gone: frees its memory where it is idle. Else the program frees it, as any other.
  void end_graph_memory(void* pointer);
  // Notes host memory of the program's own (cudaHostRegister). False: an allocation holds `pointer` already.
  bool add_registered(void* pointer, size_t size, unsigned flags);
  // The allocation that holds the address, and its use; nothing where none does.
  std::optional<AllocatedMemory> find_allocation(const void* pointer) const;
  std::optional<MemoryUse> find(const void* pointer) const;
  uint64_t allocated() const;  // bytes of device and managed memory
  // What the program has said of its memory. Freed memory is forgotten in it.
  MemoryAdvice& advice() { return advice_; }

 private:
  using Entry = RangeMap<MemoryUse>::Entry;
  bool give_back(const Entry& entry);

  Device& device_;
  mutable std::mutex mutex_;
  RangeMap<MemoryUse> memory_;
  uint64_t allocated_ = 0;
  MemoryAdvice advice_;
};

// What cudaFuncSetAttribute sets for a function.
struct FunctionSettings {
  int max_dynamic_shared_bytes = kDefaultSharedBytes;
  int preferred_carveout = -1;
};

// Thread-safe.
class Context {
 public:
  // The context of the process. It is made at the first use and never destroyed: programs call the runtime from destructors and
  // exit handlers.
  static Context& get();

  Registry& registry() { return registry_; }
  Device& device() { return *device_; }
  Images& images() { return *images_; }
  MemoryTable& memory() { return *memory_; }

  // Runs one kernel to its end. Calls of several threads take turns.
  Status launch(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);

  // Those that were set last; the defaults where none were.
  FunctionSettings function_settings(const void* function) const;
  void set_function_settings(const void* function, const FunctionSettings& settings);

  // The compute capability of the newest code that the program has brought, times ten; 90 where it has brought none.
  uint32_t architecture();

 private:
  Context();

  Registry registry_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Images> images_;
  std::unique_ptr<MemoryTable> memory_;
  std::mutex launch_mutex_;
  mutable std::mutex settings_mutex_;
  std::map<const void*, FunctionSettings> settings_;
};

// The CUDA error for a status. A device_fault is also written to standard error and poisons the context (slots.h); of other
// failures the caller says what is to be said.
cudaError_t to_cuda(const Status& status);

}  // namespace mneme::emulation
