// Table: a call table that the recorder stands before. Its handlers are in hooks_*.cc (mneme/hooks/call_hooks.h says how they are
// written).
#pragma once

#include <vector>

#include "mneme/hooks/call_hooks.h"
#include "mneme/hooks/kernel_handles.h"
#include "mneme/record/process.h"
#include "mneme/record/recorder.h"

namespace mneme {

class Table final : public Vendor, public CallTable {
 public:
  // The table of that index, below MNEME_MAX_TABLES.
  static Table& attached(uint32_t index);

  Registry& registry() { return recorder()->registry(); }
  void on_load();
  void on_unload() { recorder()->forget_kernels(); }

  DeviceKind device_kind() const override {
    return abi().device == MNEME_TABLE_CPU   ? DeviceKind::cpu
           : abi().device == MNEME_TABLE_HIP ? DeviceKind::hip
                                             : DeviceKind::cuda;
  }
  Status prepare() override;
  Result<int> current_device() override;
  Result<void*> record_event(void* stream) override;
  std::optional<Nanoseconds> elapsed(void* start, void* end) override;
  void destroy_event(void* event) override;
  Status synchronize(int ordinal) override;
  Result<MemoryRange> find_global(const RecordableKernel& kernel, const std::string& name) override;
  bool is_device_memory(DevicePtr address) override;
  Result<MemoryRange> find_variable(const RegisteredVariable& variable, uint32_t table) override;
  bool reaches_pageable_memory() override;
  bool is_memory(DevicePtr address) override;
  LaunchLimits limits() override;
  Status copy_array(DevicePtr to, const ProgramArray& array) override;

 private:
  // Makes calls that may leave an error behind, which the program is not to find.
  template <typename Calls>
  auto quietly(const Calls& calls);
};

void install_memory_hooks(Table& table);  // a new kind of allocation is added there
void install_host_memory_hooks(Table& table);
void install_texture_hooks(Table& table);
void install_launch_hooks(Table& table);    // a new kind of launch is added there
void install_activity_hooks(Table& table);  // other calls that write device memory

// To be called before the vendor's device goes: unpins all host memory that was served, and forgets the rest.
void release_host_memory(Table& table);

// Checks and numbers the table, or the one through which a HIP program's calls go (accept_cuda_slots()), remembers its slots and
// replaces them. Fails as accept_cuda_slots() does.
Status attach_table(mneme_call_table& program);

}  // namespace mneme
