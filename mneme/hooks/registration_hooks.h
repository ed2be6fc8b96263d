// The hooks of what a program registers before main, and of what it unloads: they keep a registry.
//
// RegistrationHooks needs of the interposer's Table: registry(); on_load(), called when an image is registered;
// and on_unload(), called when one is forgotten.
#pragma once

#include "mneme/hooks/call_hooks.h"
#include "mneme/runtime/registry.h"

extern "C" {
// As clang and nvcc declare them in the code that they generate.
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function, const char* device_name,
                            int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warp_size);
void __cudaRegisterVar(void** handle, char* host_variable, char* device_address, const char* device_name, int external,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* device_address, const char* device_name, int external,
                              size_t size, int constant, int global);
void __cudaUnregisterFatBinary(void** handle);
}

namespace mneme {

template <typename Table>
class RegistrationHooks {
 public:
  static void install(Table& table) { List::install(table); }

 private:
  static void** on_register_fat_binary(Table& table, void* wrapper) {
    void** handle = MNEME_NEXT(table, __cudaRegisterFatBinary)(wrapper);
    table.registry().add_image(handle, table.abi().index, wrapper);
    table.on_load();
    return handle;
  }

  static void on_register_function(Table& table, void** handle, const char* host_function, char* device_function,
                                   const char* device_name, int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid,
                                   int* warp_size) {
    table.registry().add_function(handle, host_function, device_name);
    MNEME_NEXT(table, __cudaRegisterFunction)(handle, host_function, device_function, device_name, thread_limit, tid, bid, block,
                                              grid, warp_size);
  }

  static void on_register_variable(Table& table, void** handle, char* host_variable, char* device_address,
                                   const char* device_name, int external, size_t size, int constant, int global) {
    table.registry().add_variable(handle, {host_variable, device_name, size, constant != 0, false});
    MNEME_NEXT(table, __cudaRegisterVar)(handle, host_variable, device_address, device_name, external, size, constant, global);
  }

  static void on_register_managed_variable(Table& table, void** handle, void** host_pointer, char* device_address,
                                           const char* device_name, int external, size_t size, int constant, int global) {
    table.registry().add_variable(handle, {host_pointer, device_name, size, constant != 0, true});
    MNEME_NEXT(table, __cudaRegisterManagedVar)(handle, host_pointer, device_address, device_name, external, size, constant,
                                                global);
  }

  static void on_unregister_fat_binary(Table& table, void** handle) {
    table.registry().remove_image(handle);
    table.on_unload();
    MNEME_NEXT(table, __cudaUnregisterFatBinary)(handle);
  }

  using List = HookList<Hook<MNEME_CALL___cudaRegisterFatBinary, &on_register_fat_binary>,
                        Hook<MNEME_CALL___cudaRegisterFunction, &on_register_function>,
                        Hook<MNEME_CALL___cudaRegisterVar, &on_register_variable>,
                        Hook<MNEME_CALL___cudaRegisterManagedVar, &on_register_managed_variable>,
                        Hook<MNEME_CALL___cudaUnregisterFatBinary, &on_unregister_fat_binary>>;
};

}  // namespace mneme
