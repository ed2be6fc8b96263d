#include "mneme/hooks/find_global.h"

#include <dlfcn.h>

namespace mneme {
namespace {

Status vendor_error(const char* call, cudaError_t code) {
  return error(Code::device_fault, "{} returned {}", call, static_cast<int>(code));
}

// The driver is there when the vendor's runtime is in use; an interposer has no library of its own for these two.
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

Result<MemoryRange> find_variable(const CallTable& table, const RegisteredVariable& variable) {
  const bool pending = MNEME_NEXT(table, cudaPeekAtLastError)() != cudaSuccess;
  void* address = nullptr;
  size_t size = 0;
  cudaError_t code = MNEME_NEXT(table, cudaGetSymbolAddress)(&address, variable.host_address);
  if (code == cudaSuccess) code = MNEME_NEXT(table, cudaGetSymbolSize)(&size, variable.host_address);
  if (code == cudaSuccess) return MemoryRange{DevicePtr(reinterpret_cast<uint64_t>(address)), Bytes(size)};
  // The program is not to find an error of a call that it did not make.
  if (!pending) (void)MNEME_NEXT(table, cudaGetLastError)();
  return vendor_error("cudaGetSymbolAddress", code);
}

Result<MemoryRange> find_global(const CallTable& table, const void* function, const RegisteredKernel& kernel,
                                const std::string& name, TableOf table_of) {
  if (table.abi().find_global) {
    MemoryRange place;
    if (table.abi().find_global(function, name.c_str(), &place.address.address, &place.size.count) == 0) return place;
    return error(Code::not_found, "the emulation knows no variable {}", name);
  }
  for (const RegisteredVariable& variable : kernel.image->variables())
    if (variable.name == name && !variable.managed) return find_variable(table_of(kernel.image->table()), variable);
  const bool pending = MNEME_NEXT(table, cudaPeekAtLastError)() != cudaSuccess;
  cudaFunction_t handle = nullptr;
  cudaError_t code = MNEME_NEXT(table, cudaGetFuncBySymbol)(&handle, function);
  if (code == cudaSuccess) return ask_driver(handle, name);
  if (!pending) (void)MNEME_NEXT(table, cudaGetLastError)();
  return vendor_error("cudaGetFuncBySymbol", code);
}

}  // namespace mneme
