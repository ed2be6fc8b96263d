#include "mneme/hip/program_code.h"

#include <atomic>
#include <mutex>
#include <vector>

#include "mneme/base/log.h"
#include "mneme/hip/errors.h"
#include "mneme/hooks/registration_hooks.h"

namespace mneme::hip {
namespace {

struct PlacedVariable {
  Table* table;
  ManagedVariable variable;
  void* memory;
  bool is_set = false;
};
struct PlacedVariables {
  std::mutex mutex;
  std::vector<PlacedVariable> all;
  std::atomic<bool> waiting = false;  // for a launch, to be set on the device
};
PlacedVariables& placed() {
  static auto* variables = new PlacedVariables;
  return *variables;
}

}  // namespace

Registry& program_code() {
  static auto* registry = new Registry;
  return *registry;
}

std::string program_architecture() {
  for (const auto& image : program_code().images())
    if (Result<DeviceElf> elf = image->device_elf(); elf.ok() && !elf->architecture.empty()) return elf->architecture;
  return "gfx90a";
}

int wavefront_of(std::string_view architecture) { return architecture.starts_with("gfx1") ? 32 : 64; }

void add_managed_variable(Table& table, const ManagedVariable& variable) {
  void* memory = nullptr;
  if (cudaError_t code = MNEME_CUDA(table, cudaMallocManaged)(&memory, variable.size, cudaMemAttachGlobal); code != cudaSuccess) {
    log::error("the managed variable {} gets no memory: cudaMallocManaged returned {}", variable.name, static_cast<int>(code));
    return;
  }
  if (variable.initial_value) std::memcpy(memory, variable.initial_value, variable.size);
  *variable.host_pointer = memory;
  MNEME_CUDA(table, __cudaRegisterVar)
  (variable.handle, reinterpret_cast<char*>(variable.host_pointer), nullptr, variable.name.c_str(), 0, sizeof(void*), 0, 0);
  std::lock_guard lock(placed().mutex);
  placed().all.push_back({&table, variable, memory});
  placed().waiting = true;
}

hipError_t set_managed_pointers() {
  if (!placed().waiting.load(std::memory_order_acquire)) return hipSuccess;
  std::lock_guard lock(placed().mutex);
  cudaError_t result = cudaSuccess;
  for (PlacedVariable& one : placed().all) {
    if (one.is_set) continue;
    const cudaError_t code = MNEME_CUDA(*one.table, cudaMemcpyToSymbol)(one.variable.host_pointer, &one.memory, sizeof one.memory,
                                                                        0, cudaMemcpyHostToDevice);
    one.is_set = code == cudaSuccess;
    if (result == cudaSuccess) result = code;
  }
  if (result == cudaSuccess) placed().waiting.store(false, std::memory_order_release);
  return to_hip(result);
}

void remove_managed_variables(void** handle) {
  std::lock_guard lock(placed().mutex);
  std::erase_if(placed().all, [&](const PlacedVariable& one) { return one.variable.handle == handle; });
}

}  // namespace mneme::hip
