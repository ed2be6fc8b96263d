// OpenedMemory: memory that a recorded process has given this one a handle for (memory_request.h), mapped where the driver places
// it. It works in any process into which the front is loaded, whether that process is recorded or not. Thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "mneme/record/driver/memory_request.h"

namespace mneme::driver {

class OpenedMemory {
 public:
  // Maps the memory for the device of the current context, which there must be, and for those that reach the context, and gives
  // the address of the allocation. What the context has open already is open once more, at the same address. Returns what the
  // driver would, or what the call of it has returned that failed:
  //   - CUDA_ERROR_INVALID_CONTEXT: the handle is of this process;
  //   - CUDA_ERROR_INVALID_VALUE: the memory is not there any more, its process has ended or does not answer.
  // The reason is told in the log (debug).
  CUresult open(CUdeviceptr* out, const MemoryName& name);
  // Counts one open() back, and unmaps the memory with the last: nothing on the device may use it then. Nothing: none starts at
  // the address.
  std::optional<CUresult> close(CUdeviceptr address);
  // Counts all of them back, since its context goes. Returns whether there is any.
  bool close_all(CUdeviceptr address);
  // To be called when the program has changed which contexts reach others (DriverFront::readers_of()).
  void follow_peers();
  // The allocation that holds an address; nothing where none does that was opened here.
  std::optional<MemoryRange> find(CUdeviceptr address) const;

 private:
  struct Opened {
    MemoryName name;
    CUcontext context = nullptr;
    MemoryRange reserved;
    Bytes size;  // of the allocation
    uint64_t uses = 1;
    std::set<int> readers{};  // devices that reach it, but for the context's own
  };
  static void follow_peers(Opened& memory);

  std::mutex changing_;  // held by the one thread that opens or closes, also while it waits for another process
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Opened> opened_;  // by the allocation's address
  std::atomic<bool> any_ = false;
};

// That of this process; never destroyed.
OpenedMemory& opened_memory();

}  // namespace mneme::driver
