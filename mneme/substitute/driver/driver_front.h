// DriverFront: deployed code before the CUDA driver, in a process whose program was not built for recording.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "mneme/abi/driver_table.h"
#include "mneme/hooks/driver_behind.h"
#include "mneme/hooks/driver_hooks.h"
#include "mneme/substitute/deployed_code.h"
#include "mneme/substitute/trial_device.h"

namespace mneme::substitute {

// What is called a device elsewhere is a context here: code is loaded into each by itself.
class DriverFront final : public TrialDevice, public driver::DriverBehind {
 public:
  // unavailable: the driver lacks a function that is needed.
  Status attach(mneme_driver_table& table);

  std::string_view device_kind() const override { return "cuda"; }
  int current_device() override;
  Result<std::string> architecture(int ordinal) override;
  Result<std::vector<uint64_t>> parameter_sizes(const void* function, const RegisteredKernel& kernel) override;
  Result<MemoryRange> find_variable(const void* function, const RegisteredKernel& kernel, const std::string& name) override;
  bool is_capturing(void* stream) override;
  std::optional<MemoryRange> allocation_of(DevicePtr address) override;
  Result<Loaded> load(ByteSpan image, const std::string& kernel) override;
  // The function that the kernel is in the current context: a launch of it looks nothing up.
  Result<void*> launch_handle(const Loaded& code) override;
  Status write_addresses(const Loaded& code, std::span<const uint64_t> addresses) override;
  Status allow_shared_memory(const Loaded& code, int ordinal, Bytes size) override;
  Status allow_large_clusters(const Loaded& code, int ordinal) override;

  Result<Bytes> free_memory() override;
  Result<DevicePtr> allocate(Bytes size) override;
  void release(DevicePtr block) override;
  Status copy(DevicePtr to, DevicePtr from, Bytes size, void* stream) override;
  Status read(std::byte* to, DevicePtr from, Bytes size, void* stream) override;
  Status write(DevicePtr to, const std::byte* from, Bytes size, void* stream) override;
  Result<double> time(void* stream, const std::function<Status()>& launch) override;
  bool is_memory(DevicePtr address) override;
  bool reaches_host_memory() override;

  // Whether the stream belongs to the current context.
  bool is_of_current_context(CUstream stream) const;
  // Whether a node of a graph that the driver has told this context of runs in the current one.
  bool is_current_context(CUcontext of_node);
  // The kernel of a library that this handle is; null: it is a function.
  CUkernel library_kernel(const void* handle);
  // The function that such a kernel is in the current context, which the program may name from now on; null where the driver does
  // not tell.
  CUfunction function_here(CUkernel kernel);
  // The same in another context; null: in the current one.
  CUfunction function_in(CUcontext context, CUkernel kernel);
  // The program makes a context beside the primary one of a device.
  void note_own_context() { has_own_contexts_.store(true, std::memory_order_release); }
  // The primary context of a device has ended, with all that was loaded into it, or one that the program has made, which has this
  // id.
  void note_primary_context_ended(CUdevice device);
  void note_own_context_ended(unsigned long long id);
  // What the driver calls the context; nothing: it does not tell.
  std::optional<unsigned long long> id_of(CUcontext context) const;
  // Whether a device's primary context is there; true where that is not known.
  bool has_primary_context(CUdevice device) const;

 private:
  struct Functions;
  struct Context {
    CUdevice device = 0;
    std::string architecture;
    bool is_primary = true;
  };

  // Each device that programs see has its primary context and no other.
  bool has_primary_contexts_alone() const { return !has_own_contexts_.load(std::memory_order_acquire); }
  Status set_attribute(const Loaded& code, int ordinal, CUfunction_attribute attribute, int value);
  // Of the current context, which has this id.
  Result<int> number_of(unsigned long long id);
  bool is_primary(CUdevice device) const;

  std::atomic<bool> one_device_ = false;        // the driver shows no other
  std::atomic<uint64_t> ended_ = 1;             // another one when a primary context has ended
  std::atomic<bool> has_own_contexts_ = false;  // of one device's without them every stream is of the one context
  const Functions* functions_ = nullptr;
  std::mutex mutex_;
  std::map<unsigned long long, int> numbers_;  // of contexts, by the driver's own ids, which are never used again
  std::vector<Context> contexts_;              // by these numbers
};

// The front of this process; never destroyed.
DriverFront& front();

std::vector<driver::DriverHook> driver_launch_hooks();
// Of nodes of kernels in graphs that the program builds itself; none where the driver lacks a function that they need.
std::vector<driver::DriverHook> driver_graph_hooks();
std::vector<driver::DriverHook> all_driver_graph_hooks();
// They note that the program makes contexts of its own, and that primary ones end.
std::vector<driver::DriverHook> driver_context_hooks();

// Replaces the slots of the table. Fails as DriverFront::attach() does, and then leaves it alone.
Status attach_driver(mneme_driver_table& table);

}  // namespace mneme::substitute
