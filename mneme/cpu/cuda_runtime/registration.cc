// Registration of fat binaries, kernels and variables; symbols.
#include <cstring>

#include "mneme/cpu/cuda_runtime/operation.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

// One function a table, so that an image knows through which it was registered.
template <uint32_t kTable>
void** register_fat_binary(void* wrapper) {
  auto** handle = new void*(wrapper);
  Context& context = Context::get();
  context.images().add(*context.registry().add_image(handle, kTable, wrapper));
  return handle;
}

template <uint32_t... kTables>
void set_register_fat_binary(Slots& slots, uint32_t table, std::integer_sequence<uint32_t, kTables...>) {
  using Function = void** (*)(void*);
  constexpr Function functions[] = {&register_fat_binary<kTables>...};
  slots.set_raw(MNEME_CALL___cudaRegisterFatBinary, functions[table]);
}

void register_fat_binary_end(void**) {}

void unregister_fat_binary(void** handle) {
  Context& context = Context::get();
  if (auto image = context.registry().remove_image(handle)) context.images().remove(*image);
  forget_resolved_kernels();
}

void register_function(void** handle, const char* host_function, char*, const char* device_name, int, uint3*, uint3*, dim3*,
                       dim3*, int*) {
  Context::get().registry().add_function(handle, host_function, device_name);
}

void register_variable(void** handle, char* host_variable, char*, const char* device_name, int, size_t size, int constant, int) {
  Context::get().registry().add_variable(handle, {host_variable, device_name, size, constant != 0, false});
}

void register_host_variable(void**, const char*, char*, size_t) {}
char init_module(void**) { return 1; }

cudaError_t find_symbol(const void* symbol, MemoryRange& out) {
  Context& context = Context::get();
  auto registered = context.registry().find_variable(symbol);
  if (!registered) return cudaErrorInvalidSymbol;
  Result<std::shared_ptr<LoadedImage>> image = context.images().find(*registered->image);
  if (!image.ok()) return to_cuda(image.status());
  Result<MemoryRange> global = (*image)->global(registered->variable.name);
  if (!global.ok()) return cudaErrorInvalidSymbol;
  out = *global;
  return cudaSuccess;
}

cudaError_t get_symbol_address(void** address, const void* symbol) {
  if (!address) return cudaErrorInvalidValue;
  return symbol_address(symbol, 0, 0, address);
}

cudaError_t get_symbol_size(size_t* size, const void* symbol) {
  MemoryRange global;
  if (!size) return cudaErrorInvalidValue;
  cudaError_t result = find_symbol(symbol, global);
  *size = global.size.count;
  return result;
}

}  // namespace

cudaError_t symbol_address(const void* symbol, size_t offset, size_t bytes, void** address) {
  MemoryRange global;
  if (cudaError_t result = find_symbol(symbol, global); result != cudaSuccess) return result;
  if (offset > global.size.count || bytes > global.size.count - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(global.address.address + offset);
  return cudaSuccess;
}

void fill_registration(Slots& slots, uint32_t table) {
  set_register_fat_binary(slots, table, std::make_integer_sequence<uint32_t, MNEME_MAX_TABLES>());
  slots.set_raw(MNEME_CALL___cudaRegisterFatBinaryEnd, &register_fat_binary_end);
  slots.set_raw(MNEME_CALL___cudaUnregisterFatBinary, &unregister_fat_binary);
  slots.set_raw(MNEME_CALL___cudaRegisterFunction, &register_function);
  slots.set_raw(MNEME_CALL___cudaRegisterVar, &register_variable);
  slots.set_raw(MNEME_CALL___cudaRegisterHostVar, &register_host_variable);
  slots.set_raw(MNEME_CALL___cudaInitModule, &init_module);
}

void fill_symbols(Slots& slots) {
  MNEME_EMULATE(cudaGetSymbolAddress, get_symbol_address);
  MNEME_EMULATE(cudaGetSymbolSize, get_symbol_size);
}

}  // namespace mneme::emulation
