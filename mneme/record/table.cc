#include "mneme/record/table.h"

#include <array>

#include "mneme/device/backend.h"
#include "mneme/hooks/find_global.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/runtime/attach.h"

namespace mneme {
namespace {

std::array<Table, MNEME_MAX_TABLES>& all_tables() {
  static auto* tables = new std::array<Table, MNEME_MAX_TABLES>;
  return *tables;
}

Status vendor_error(const char* call, cudaError_t code) {
  return error(Code::device_fault, "{} returned {}", call, static_cast<int>(code));
}

}  // namespace

Table& Table::attached(uint32_t index) { return all_tables()[index]; }

void Table::on_load() {
  if (RecordingReport* const report = recorder()->report()) ++report->loads;
}

Status Table::prepare() {
  cudaError_t code = MNEME_NEXT(*this, cudaFree)(nullptr);
  return code == cudaSuccess ? Status() : vendor_error("cudaFree", code);
}

Result<int> Table::current_device() {
  int ordinal = 0;
  cudaError_t code = MNEME_NEXT(*this, cudaGetDevice)(&ordinal);
  if (code != cudaSuccess) return vendor_error("cudaGetDevice", code);
  return ordinal;
}

Result<void*> Table::record_event(void* stream) {
  cudaEvent_t event = nullptr;
  if (cudaError_t code = MNEME_NEXT(*this, cudaEventCreateWithFlags)(&event, cudaEventDefault); code != cudaSuccess)
    return vendor_error("cudaEventCreateWithFlags", code);
  if (cudaError_t code = MNEME_NEXT(*this, cudaEventRecord)(event, static_cast<cudaStream_t>(stream)); code != cudaSuccess) {
    destroy_event(event);
    return vendor_error("cudaEventRecord", code);
  }
  return static_cast<void*>(event);
}

template <typename Calls>
auto Table::quietly(const Calls& calls) {
  const bool pending = MNEME_NEXT(*this, cudaPeekAtLastError)() != cudaSuccess;
  auto result = calls();
  if (!pending && MNEME_NEXT(*this, cudaPeekAtLastError)() != cudaSuccess) (void)MNEME_NEXT(*this, cudaGetLastError)();
  return result;
}

// Asking a pending event leaves an error behind.
std::optional<Nanoseconds> Table::elapsed(void* start, void* end) {
  float milliseconds = 0;
  const cudaError_t code = quietly([&] {
    return MNEME_NEXT(*this, cudaEventElapsedTime)(&milliseconds, static_cast<cudaEvent_t>(start), static_cast<cudaEvent_t>(end));
  });
  return code == cudaSuccess ? std::optional(Nanoseconds(double{milliseconds} * 1e6)) : std::nullopt;
}

void Table::destroy_event(void* event) { (void)MNEME_NEXT(*this, cudaEventDestroy)(static_cast<cudaEvent_t>(event)); }

// The emulation's threads have the stack that their code needs. Asking for a limit that the device does not have leaves an error
// behind, likewise.
LaunchLimits Table::limits() {
  const auto get = MNEME_NEXT(*this, cudaDeviceGetLimit);
  if (!backend_of(device_kind()).raise_limits || !get) return {};
  const auto limit = [&](cudaLimit which) {
    size_t value = 0;
    return get(&value, which) == cudaSuccess ? value : size_t{0};
  };
  return quietly([&] { return LaunchLimits{Bytes(limit(cudaLimitStackSize)), limit(cudaLimitDevRuntimePendingLaunchCount)}; });
}

bool Table::reaches_pageable_memory() {
  int device = 0, reaches = 0;
  return quietly([&] {
    return MNEME_NEXT(*this, cudaGetDevice)(&device) == cudaSuccess &&
           MNEME_NEXT(*this, cudaDeviceGetAttribute)(&reaches, cudaDevAttrPageableMemoryAccess, device) == cudaSuccess &&
           reaches != 0;
  });
}

bool Table::is_memory(DevicePtr address) {
  cudaPointerAttributes found{};
  return quietly([&] {
    const auto* const pointer = reinterpret_cast<const void*>(address.address);
    return MNEME_NEXT(*this, cudaPointerGetAttributes)(&found, pointer) == cudaSuccess &&
           found.type != cudaMemoryTypeUnregistered;
  });
}

// A program may allocate by the driver, past the table. Not on the CPU device, which has no driver, and not at a HIP runtime,
// whose functions for that are in its table. An address that is none may leave an error behind, likewise.
bool Table::is_device_memory(DevicePtr address) {
  const auto get = MNEME_NEXT(*this, cudaPointerGetAttributes);
  if (backend_of(device_kind()).driver.empty() || !get) return false;
  cudaPointerAttributes attributes{};
  return quietly([&] {
    return get(&attributes, reinterpret_cast<const void*>(address.address)) == cudaSuccess &&
           attributes.type == cudaMemoryTypeDevice;
  });
}

Status Table::synchronize(int ordinal) {
  int before = ordinal;
  (void)MNEME_NEXT(*this, cudaGetDevice)(&before);
  if (cudaError_t code = MNEME_NEXT(*this, cudaSetDevice)(ordinal); code != cudaSuccess)
    return vendor_error("cudaSetDevice", code);
  const cudaError_t code = MNEME_NEXT(*this, cudaDeviceSynchronize)();
  if (before != ordinal) (void)MNEME_NEXT(*this, cudaSetDevice)(before);
  return code == cudaSuccess ? Status() : vendor_error("cudaDeviceSynchronize", code);
}

Result<MemoryRange> Table::find_global(const RecordableKernel& kernel, const std::string& name) {
  const auto table_of = [](uint32_t index) -> const CallTable& { return attached(index); };
  return mneme::find_global(*this, kernel.function, *kernel.registered, name, table_of);
}

Result<MemoryRange> Table::find_variable(const RegisteredVariable& variable, uint32_t table) {
  return mneme::find_variable(attached(table), variable);
}

namespace {

void on_annotate(mneme_call_table* abi, const void* pointer, uint64_t count, const mneme_annotation* annotation) {
  if (pointer && annotation) recorder()->annotate(Table::attached(abi->index), pointer, count, *annotation);
}

}  // namespace

Status attach_table(mneme_call_table& program) {
  MNEME_ASSIGN(mneme_call_table * cuda, accept_cuda_slots(program, CudaSlots::stood_before));
  mneme_call_table& abi = *cuda;
  Table& table = Table::attached(abi.index);
  table.attach(abi);
  abi.annotate = &on_annotate;
  RegistrationHooks<Table>::install(table);
  install_memory_hooks(table);
  install_host_memory_hooks(table);
  install_texture_hooks(table);
  install_launch_hooks(table);
  install_activity_hooks(table);
  return {};
}

}  // namespace mneme
