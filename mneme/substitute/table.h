// Table: a call table that deployed code stands before.
#pragma once

#include <array>
#include <mutex>

#include "mneme/hooks/call_hooks.h"
#include "mneme/hooks/kernel_handles.h"
#include "mneme/substitute/code_loader.h"
#include "mneme/substitute/process.h"
#include "mneme/substitute/trial_device.h"

namespace mneme::substitute {

class Table final : public TrialDevice, public CallTable {
 public:
  static Table& attached(uint32_t index);

  Registry& registry() { return process()->registry; }
  void on_load() {}
  void on_unload() { process()->code.forget_kernels(); }

  std::string_view device_kind() const override { return abi().device == MNEME_TABLE_CPU ? "cpu" : "cuda"; }
  int current_device() override;
  Result<std::string> architecture(int ordinal) override;
  Result<std::vector<uint64_t>> parameter_sizes(const void* function, const RegisteredKernel& kernel) override;
  Result<MemoryRange> find_variable(const void* function, const RegisteredKernel& kernel, const std::string& name) override;
  bool is_capturing(void* stream) override { return stream_is_capturing(*this, static_cast<cudaStream_t>(stream)); }
  std::optional<MemoryRange> allocation_of(DevicePtr address) override { return process()->allocations.find(address); }
  Result<Loaded> load(ByteSpan image, const std::string& kernel) override;
  Status write_addresses(const Loaded& code, std::span<const uint64_t> addresses) override;
  Status allow_shared_memory(const Loaded& code, int ordinal, Bytes size) override;

  Result<Bytes> free_memory() override;
  Result<DevicePtr> allocate(Bytes size) override;
  void release(DevicePtr block) override;
  Status copy(DevicePtr to, DevicePtr from, Bytes size, void* stream) override;
  Status read(std::byte* to, DevicePtr from, Bytes size, void* stream) override;
  Result<double> time(void* stream, const std::function<Status()>& launch) override;
  bool is_memory(DevicePtr address) override;
  bool reaches_host_memory() override;

 private:
  // Makes a call that the program did not make: of its failure the program finds nothing.
  template <typename Call>
  Status quietly(const char* what, Call call);

  std::atomic<int> devices_ = 0;  // that the vendor shows; 0: not asked yet
  std::mutex mutex_;              // over architectures_
  std::array<std::string, 64> architectures_;
};

void install_launch_hooks(Table& table);
void install_memory_hooks(Table& table);

// Checks and numbers the table, remembers its slots and replaces them. Fails as accept_table() does.
Status attach_table(mneme_call_table& abi);

}  // namespace mneme::substitute
