#include "mneme/record/table.h"

#include <dlfcn.h>

#include <array>

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

// The driver is there when the vendor's runtime is in use; the recorder has no library of its own for these three.
Result<MemoryRange> ask_driver(cudaFunction_t function, const std::string& name) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!driver) return error(Code::unavailable, "libcuda.so.1 is not loaded");
  auto get_module = reinterpret_cast<int (*)(void**, void*)>(::dlsym(driver, "cuFuncGetModule"));
  auto get_global = reinterpret_cast<int (*)(uint64_t*, size_t*, void*, const char*)>(::dlsym(driver, "cuModuleGetGlobal_v2"));
  void* module = nullptr;
  uint64_t address = 0;
  size_t size = 0;
  if (!get_module || !get_global) return error(Code::unavailable, "libcuda.so.1 lacks cuFuncGetModule or cuModuleGetGlobal_v2");
  if (int code = get_module(&module, function); code != 0) return error(Code::not_found, "cuFuncGetModule returned {}", code);
  if (int code = get_global(&address, &size, module, name.c_str()); code != 0)
    return error(Code::not_found, "cuModuleGetGlobal of {} returned {}", name, code);
  return MemoryRange{DevicePtr(address), Bytes(size)};
}

}  // namespace

Table& attached_table(uint32_t index) { return all_tables()[index]; }

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

// Asking a pending event leaves an error behind, which the program is not to find.
std::optional<Nanoseconds> Table::elapsed(void* start, void* end) {
  const bool pending = MNEME_NEXT(*this, cudaPeekAtLastError)() != cudaSuccess;
  float milliseconds = 0;
  cudaError_t code =
      MNEME_NEXT(*this, cudaEventElapsedTime)(&milliseconds, static_cast<cudaEvent_t>(start), static_cast<cudaEvent_t>(end));
  if (code == cudaSuccess) return Nanoseconds(double{milliseconds} * 1e6);
  if (!pending) (void)MNEME_NEXT(*this, cudaGetLastError)();
  return std::nullopt;
}

void Table::destroy_event(void* event) { (void)MNEME_NEXT(*this, cudaEventDestroy)(static_cast<cudaEvent_t>(event)); }

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
  if (abi_->find_global) {
    MemoryRange place;
    if (abi_->find_global(kernel.function, name.c_str(), &place.address.address, &place.size.count) == 0) return place;
    return error(Code::not_found, "the emulation knows no variable {}", name);
  }
  for (const RegisteredVariable& variable : kernel.registered->image->variables()) {
    if (variable.name != name || variable.managed) continue;
    return find_variable(variable, kernel.registered->image->table());
  }
  cudaFunction_t function = nullptr;
  cudaError_t code = MNEME_NEXT(*this, cudaGetFuncBySymbol)(&function, kernel.function);
  if (code != cudaSuccess) return vendor_error("cudaGetFuncBySymbol", code);
  return ask_driver(function, name);
}

Result<MemoryRange> Table::find_variable(const RegisteredVariable& variable, uint32_t table) {
  Table& home = attached_table(table);
  const bool pending = MNEME_NEXT(home, cudaPeekAtLastError)() != cudaSuccess;
  void* address = nullptr;
  size_t size = 0;
  cudaError_t code = MNEME_NEXT(home, cudaGetSymbolAddress)(&address, variable.host_address);
  if (code == cudaSuccess) code = MNEME_NEXT(home, cudaGetSymbolSize)(&size, variable.host_address);
  if (code == cudaSuccess) return MemoryRange{DevicePtr(reinterpret_cast<uint64_t>(address)), Bytes(size)};
  // The program is not to find an error of a call that it did not make.
  if (!pending) (void)MNEME_NEXT(home, cudaGetLastError)();
  return vendor_error("cudaGetSymbolAddress", code);
}

namespace {

void on_annotate(mneme_call_table* abi, const void* pointer, uint64_t count, const mneme_annotation* annotation) {
  if (pointer && annotation) recorder()->annotate(attached_table(abi->index), pointer, count, *annotation);
}

}  // namespace

Status attach_table(mneme_call_table& abi) {
  MNEME_TRY(accept_table(abi));
  Table& table = attached_table(abi.index);
  table.attach(abi);
  abi.annotate = &on_annotate;
  install_registration_hooks(table);
  install_memory_hooks(table);
  install_host_memory_hooks(table);
  install_texture_hooks(table);
  install_launch_hooks(table);
  install_activity_hooks(table);
  return {};
}

}  // namespace mneme
