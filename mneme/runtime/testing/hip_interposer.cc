// For tests: an interposer of HIP programs that registers their kernels and prints each launch with what the kernel's segment
// says. The real functions are not called, but by HIP's own stack of launch configurations.
#include <cstdint>
#include <cstdio>

#include "mneme/abi/hip_calls.inc"
#include "mneme/runtime/attach.h"
#include "mneme/runtime/registry.h"

namespace {

// As HIP has it.
struct dim3 {
  uint32_t x, y, z;
};

mneme::Registry registry;

// What stands between <<< and >>>, until the stub of the kernel takes it.
struct Configuration {
  dim3 grid, block;
  size_t shared;
  void* stream;
} configuration;

int push(dim3 grid, dim3 block, size_t shared, void* stream) { return configuration = {grid, block, shared, stream}, 0; }
int pop(dim3* grid, dim3* block, size_t* shared, void** stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *stream = configuration.stream;
  return 0;
}

void** register_fat_binary(const void* wrapper) {
  auto* handle = reinterpret_cast<void**>(new int);
  registry.add_image(handle, 0, wrapper);
  return handle;
}

void register_function(void** handle, const void* host_function, char*, const char* device_name, unsigned, void*, void*, void*,
                       void*, int*) {
  registry.add_function(handle, host_function, device_name);
}

void register_variable(void** handle, void* host_address, char*, const char* device_name, int, size_t size, int constant, int) {
  registry.add_variable(handle, {host_address, device_name, size, constant != 0, false});
  std::printf("variable %s of %zu bytes\n", device_name, size);
}

void unregister(void** handle) { registry.remove_image(handle); }

void print(const char* call, const void* function, unsigned blocks) {
  const auto kernel = registry.find_kernel(function);
  if (!kernel) return (void)std::printf("%s of an unknown kernel\n", call);
  const auto segment = kernel->segment();
  if (!segment.ok()) return (void)std::printf("%s: %s\n", call, segment.status().message().c_str());
  const mneme::EmbeddedSegment& found = **segment;
  std::printf("%s of %s for %s, %u blocks, %zu parameters in %d bytes\n", call, kernel->name.c_str(),
              std::string(found.arch).c_str(), blocks, found.parameters.size(), static_cast<int>(found.parameter_bytes));
}

int launch(const void* function, dim3 grid, dim3, void**, size_t, void*) { return print("launch", function, grid.x), 0; }
int launch_with_events(const void* function, dim3 grid, dim3, void**, size_t, void*, void*, void*, int) {
  return print("launch with events", function, grid.x), 0;
}
int launch_cooperatively(const void* function, dim3 grid, dim3, void**, unsigned, void*) {
  return print("cooperative launch", function, grid.x), 0;
}
int launch_of_module(void*, uint32_t threads) { return std::printf("launch of a module, %u threads\n", threads), 7; }
int allocate(void** pointer, size_t) { return *pointer = nullptr, 0; }

}  // namespace

extern "C" __attribute__((visibility("default"))) int mneme_attach(mneme_call_table* table) {
  if (mneme::Status status = mneme::accept_table(*table, mneme::hip_runtime_calls()); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  const auto set = [&](mneme_hip_call call, auto* function) { table->slots[call] = reinterpret_cast<mneme_function>(function); };
  set(MNEME_CALL___hipRegisterFatBinary, register_fat_binary);
  set(MNEME_CALL___hipRegisterFunction, register_function);
  set(MNEME_CALL___hipRegisterVar, register_variable);
  set(MNEME_CALL___hipPushCallConfiguration, push);
  set(MNEME_CALL___hipPopCallConfiguration, pop);
  set(MNEME_CALL___hipUnregisterFatBinary, unregister);
  set(MNEME_CALL_hipMalloc, allocate);
  set(MNEME_CALL_hipLaunchKernel, launch);
  set(MNEME_CALL_hipExtLaunchKernel, launch_with_events);
  set(MNEME_CALL_hipLaunchCooperativeKernel, launch_cooperatively);
  set(MNEME_CALL_hipExtModuleLaunchKernel, launch_of_module);
  return 0;
}
