// ExportedMemory: memory of the recorder that the program gives to other processes (cuIpcGetMemHandle), as the driver would.
//
// The first handle that is asked for opens a socket and starts a thread, which answers the processes that come with handles
// (memory_request.h). The thread calls nothing of the driver's: descriptors of the memory are made with its handle, and closed
// when the program frees it. Other processes keep what they have opened by then. Thread-safe.
//
// A forked child has no handles: those that it knows are of its parent.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "mneme/record/driver/memory_request.h"

namespace mneme::driver {

class ExportedMemory {
 public:
  // The name of an allocation, whose mappings `export_mappings` gives when it has none yet. It is the same until forget(). Fails
  // as that function does, and as listen_for_requests() and make_key() do. unavailable: the system starts no thread.
  using ExportMappings = std::function<Result<std::vector<ExportedMapping>>()>;
  Result<MemoryName> name(const MemoryRange& allocation, const ExportMappings& export_mappings);
  // To be called before memory at the address is freed. Costs nothing in a process that has given no handle.
  void forget(CUdeviceptr address) {
    if (exports_) forget_export(address);
  }
  // Whether the name was made by this process.
  bool has_made(const MemoryName& name) const;

 private:
  struct Export {
    RandomKey key{};
    NamedMemory memory;
  };
  Status listen();
  void forget_export(CUdeviceptr address);
  void serve(int listener, const RandomKey& process);
  const NamedMemory* find(const RandomKey& memory) const;
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::atomic<bool> exports_ = false;
  mutable std::mutex mutex_;
  RandomKey process_{};
  Descriptor listener_;
  std::map<CUdeviceptr, Export> exported_;  // by the allocation's address
};

// That of this process; never destroyed.
ExportedMemory& exported_memory();

}  // namespace mneme::driver
