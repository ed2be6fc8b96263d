// Table: a call table that deployed code stands before.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <mutex>

#include "mneme/hooks/call_hooks.h"
#include "mneme/hooks/kernel_handles.h"
#include "mneme/substitute/code_loader.h"
#include "mneme/substitute/process.h"
#include "mneme/substitute/trial_device.h"

namespace mneme::substitute {

// cuLaunchKernel()
using DriverLaunch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                                  void**, void**);
// cuGraphKernelNodeGetParams_v2()
using DriverNodeParameters = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*);

class Table final : public TrialDevice, public CallTable {
 public:
  static Table& attached(uint32_t index);

  Registry& registry() { return process()->registry; }
  void on_load() {}
  void on_unload() { process()->code.forget_kernels(); }

  // The driver's own launch, where what it does with a kernel of a loaded library is what the program's runtime does, which takes
  // longer and keeps an error of its own: with one device. Null: there is none. It fails for a thread that the runtime has not
  // given a context yet.
  DriverLaunch driver_launch() const { return driver_launch_.load(std::memory_order_relaxed); }
  // Tests have one of their own.
  void launch_by(DriverLaunch launch) { driver_launch_ = launch; }

  // What the driver beneath the runtime says of a node; the two have one handle for it. Null: there is none.
  DriverNodeParameters driver_node_parameters();
  void ask_nodes_by(DriverNodeParameters ask) { driver_node_parameters_ = ask; }  // tests
  // The CUDA driver beneath the program's runtime. Null: the program does not have it, or its runtime is another.
  void* driver() const;

  std::string_view device_kind() const override;
  int current_device() override;
  // Whether the vendor shows no other device; false where it does not tell.
  bool has_one_device() { return current_device() == 0 && devices_.load(std::memory_order_relaxed) == 1; }
  // Whether what is launched in the stream runs on the current device. HIP's runtime launches on the stream's, whichever is
  // current; CUDA's refuses that.
  bool is_of_current_device(cudaStream_t stream);
  Result<std::string> architecture(int ordinal) override;
  Result<std::vector<uint64_t>> parameter_sizes(const void* function, const RegisteredKernel& kernel) override;
  Result<MemoryRange> find_variable(const void* function, const RegisteredKernel& kernel, const std::string& name) override;
  bool is_capturing(void* stream) override { return stream_is_capturing(*this, static_cast<cudaStream_t>(stream)); }
  std::optional<MemoryRange> allocation_of(DevicePtr address) override { return process()->allocations.find(address); }
  Result<Loaded> load(ByteSpan image, const std::string& kernel) override;
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

 private:
  // Makes a call that the program did not make: of its failure the program finds nothing.
  template <typename Call>
  Status quietly(const char* what, Call call);
  void find_driver_launch();
  Result<std::string> ask_compute_capability(int ordinal);
  Result<std::string> ask_hip(int ordinal);
  Status set_attribute(const Loaded& code, int ordinal, cudaFuncAttribute attribute, int value);

  std::atomic<DriverLaunch> driver_launch_ = nullptr;
  std::atomic<DriverNodeParameters> driver_node_parameters_ = nullptr;
  std::atomic<int> devices_ = 0;  // that the vendor shows; 0: not asked yet
  std::mutex mutex_;              // over architectures_
  std::array<std::string, 64> architectures_;
};

void install_launch_hooks(Table& table);
void install_graph_hooks(Table& table);
void install_memory_hooks(Table& table);

// Checks and numbers the table, remembers its slots and replaces them. Fails as accept_cuda_slots() does.
Status attach_table(mneme_call_table& program);

}  // namespace mneme::substitute
