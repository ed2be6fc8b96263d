// Table and HookList: how a replaced function knows through which call table it was called.
//
// A slot is a plain function pointer without context, and each linked object has its own real functions. Every handler is
// therefore instantiated once for each table (MNEME_MAX_TABLES times), and gets its Table as the first argument:
//
//   cudaError_t on_malloc(Table& table, void** out, size_t size) { … MNEME_NEXT(table, cudaMalloc)(out, size) … }
//   using Hooks = HookList<Hook<MNEME_CALL_cudaMalloc, on_malloc>>;
//   Hooks::install(table);
#pragma once

#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "mneme/abi/call_table.h"
#include "mneme/record/process.h"
#include "mneme/record/recorder.h"

namespace mneme {

class Table final : public Vendor {
 public:
  // Remembers what the slots hold before the recorder replaces them: the functions of the vendor, or of the emulation.
  void attach(mneme_call_table& abi) {
    abi_ = &abi;
    next_.assign(abi.slots, abi.slots + abi.call_count);
  }
  mneme_call_table& abi() const { return *abi_; }
  mneme_function next(mneme_call slot) const { return next_[slot]; }

  DeviceKind device_kind() const override { return abi_->device == MNEME_TABLE_CPU ? DeviceKind::cpu : DeviceKind::cuda; }
  Status prepare() override;
  Result<int> current_device() override;
  Result<void*> record_event(void* stream) override;
  std::optional<Nanoseconds> elapsed(void* start, void* end) override;
  void destroy_event(void* event) override;
  Status synchronize(int ordinal) override;
  Result<MemoryRange> find_global(const RecordableKernel& kernel, const std::string& name) override;
  Result<MemoryRange> find_variable(const RegisteredVariable& variable, uint32_t table) override;
  Status copy_array(DevicePtr to, const ProgramArray& array) override;

 private:
  mneme_call_table* abi_ = nullptr;
  std::vector<mneme_function> next_;
};

// The table of that index, below MNEME_MAX_TABLES.
Table& attached_table(uint32_t index);

#define MNEME_NEXT(table, name) (reinterpret_cast<decltype(&::name)>((table).next(MNEME_CALL_##name)))

template <mneme_call kSlot, auto kHandler>
struct Hook;

template <mneme_call kSlot, typename R, typename... A, R (*kHandler)(Table&, A...)>
struct Hook<kSlot, kHandler> {
  template <uint32_t kTable>
  static R call(A... arguments) {
    return kHandler(attached_table(kTable), arguments...);
  }
  template <uint32_t kTable>
  static void install() {
    attached_table(kTable).abi().slots[kSlot] = reinterpret_cast<mneme_function>(&call<kTable>);
  }
};

template <typename... H>
struct HookList {
  static void install(Table& table) { install(table.abi().index, std::make_integer_sequence<uint32_t, MNEME_MAX_TABLES>()); }

 private:
  template <uint32_t kTable>
  static void install_all() {
    (H::template install<kTable>(), ...);
  }
  template <uint32_t... kTables>
  static void install(uint32_t index, std::integer_sequence<uint32_t, kTables...>) {
    constexpr void (*kInstall[])() = {&install_all<kTables>...};
    kInstall[index]();
  }
};

void install_registration_hooks(Table& table);
void install_memory_hooks(Table& table);  // a new kind of allocation is added there
void install_host_memory_hooks(Table& table);
void install_texture_hooks(Table& table);
void install_launch_hooks(Table& table);    // a new kind of launch is added there
void install_activity_hooks(Table& table);  // other calls that write device memory

// To be called before the vendor's device goes: unpins all host memory that was served, and forgets the rest.
void release_host_memory(Table& table);

// The host function that a kernel handle stands for, where the program has asked for that handle (cudaGetKernel,
// cudaGetFuncBySymbol). Any other pointer is returned as it is.
const void* host_function_of(const void* function);

// Checks and numbers the table (accept_table()), remembers its slots and replaces them. Fails as accept_table() does.
Status attach_table(mneme_call_table& abi);

}  // namespace mneme
