// Registration of code objects, kernels and variables; symbols.
#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hooks/registration_hooks.h"

namespace mneme::hip {
namespace {

void** register_fat_binary(Table& table, const void* wrapper) {
  void** handle = MNEME_CUDA(table, __cudaRegisterFatBinary)(const_cast<void*>(wrapper));
  program_code().add_image(handle, table.abi().index, wrapper);
  return handle;
}

void unregister_fat_binary(Table& table, void** handle) {
  program_code().remove_image(handle);
  remove_managed_variables(handle);
  MNEME_CUDA(table, __cudaUnregisterFatBinary)(handle);
}

void register_function(Table& table, void** handle, const char* host_function, char* device_function, const char* device_name,
                       unsigned thread_limit, void*, void*, void*, void*, int* warp_size) {
  program_code().add_function(handle, host_function, device_name);
  MNEME_CUDA(table, __cudaRegisterFunction)
  (handle, host_function, device_function, device_name, static_cast<int>(thread_limit), nullptr, nullptr, nullptr, nullptr,
   warp_size);
}

void register_variable(Table& table, void** handle, char* host_variable, char* device_address, const char* device_name,
                       int external, size_t size, int constant, int global) {
  program_code().add_variable(handle, {host_variable, device_name, size, constant != 0, false});
  MNEME_CUDA(table, __cudaRegisterVar)
  (handle, host_variable, device_address, device_name, external, size, constant, global);
}

// clang makes of it a pointer on the host and one on the device, and keeps the initial value for the runtime.
void register_managed_variable(Table& table, void** handle, void** host_pointer, void* initial_value, const char* device_name,
                               size_t size, unsigned) {
  add_managed_variable(
      table, {.handle = handle, .host_pointer = host_pointer, .initial_value = initial_value, .name = device_name, .size = size});
}

// References to textures and surfaces, which CUDA has no more.
void register_surface(Table&, void**, void*, char*, const char*, int, int) {}
void register_texture(Table&, void**, void*, char*, const char*, int, int, int) {}

hipError_t get_symbol_address(Table& table, void** address, const void* symbol) {
  if (hipError_t result = set_managed_pointers(); result != hipSuccess) return result;
  return to_hip(MNEME_CUDA(table, cudaGetSymbolAddress)(address, symbol));
}

void** end_of_register_fat_binary(Table& table, void* wrapper) { return MNEME_REAL(table, __hipRegisterFatBinary)(wrapper); }
void end_of_unregister_fat_binary(Table& table, void** handle) { MNEME_REAL(table, __hipUnregisterFatBinary)(handle); }
void end_of_register_function(Table& table, void** handle, const char* host_function, char* device_function,
                              const char* device_name, int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid,
                              int* warp_size) {
  MNEME_REAL(table, __hipRegisterFunction)
  (handle, host_function, device_function, device_name, static_cast<unsigned>(thread_limit), tid, bid, block, grid, warp_size);
}
void end_of_register_variable(Table& table, void** handle, char* host_variable, char* device_address, const char* device_name,
                              int external, size_t size, int constant, int global) {
  MNEME_REAL(table, __hipRegisterVar)
  (handle, host_variable, device_address, device_name, external, size, constant, global);
}

using Rows =
    HookList<Hook<MNEME_CALL___hipRegisterFatBinary, &register_fat_binary>,
             Hook<MNEME_CALL___hipUnregisterFatBinary, &unregister_fat_binary>,
             Hook<MNEME_CALL___hipRegisterFunction, &register_function>, Hook<MNEME_CALL___hipRegisterVar, &register_variable>,
             Hook<MNEME_CALL___hipRegisterManagedVar, &register_managed_variable>,
             MNEME_EMULATED_AS_IS(__hipRegisterSurface, register_surface),
             MNEME_EMULATED_AS_IS(__hipRegisterTexture, register_texture), MNEME_OWN(hipGetSymbolAddress, get_symbol_address),
             MNEME_ROW_OF(hipGetSymbolSize, cudaGetSymbolSize, hipError_t (*)(size_t*, const void*))>;

using Ends = HookList<MNEME_WRITTEN_END(__hipRegisterFatBinary, __cudaRegisterFatBinary, end_of_register_fat_binary),
                      MNEME_WRITTEN_END(__hipUnregisterFatBinary, __cudaUnregisterFatBinary, end_of_unregister_fat_binary),
                      MNEME_WRITTEN_END(__hipRegisterFunction, __cudaRegisterFunction, end_of_register_function),
                      MNEME_WRITTEN_END(__hipRegisterVar, __cudaRegisterVar, end_of_register_variable),
                      MNEME_END(hipGetSymbolAddress, cudaGetSymbolAddress, hipError_t (*)(void**, const void*))>;

}  // namespace

void install_registration(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
