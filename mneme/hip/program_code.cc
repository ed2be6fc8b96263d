#include "mneme/hip/program_code.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "mneme/base/log.h"
#include "mneme/hip/errors.h"
#include "mneme/hip/rows.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/runtime/code_object.h"

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
  program_code().add_variable(variable.handle, {variable.host_pointer, variable.name, sizeof(void*), false, false});
  MNEME_CUDA(table, __cudaRegisterVar)
  (variable.handle, reinterpret_cast<char*>(variable.host_pointer), nullptr, variable.name.c_str(), 0, sizeof(void*), 0, 0);
  std::lock_guard lock(placed().mutex);
  placed().all.push_back({&table, variable, memory});
  placed().waiting = true;
}

// A GPU each has a copy of the variable.
cudaError_t set_managed_pointer(const PlacedVariable& one) {
  Table& table = *one.table;
  const auto set = [&] {
    return MNEME_CUDA(table, cudaMemcpyToSymbol)(one.variable.host_pointer, &one.memory, sizeof one.memory, 0,
                                                 cudaMemcpyHostToDevice);
  };
  int count = 0, current = 0;
  if (!table.ends_in_runtime() || MNEME_REAL(table, hipGetDeviceCount)(&count) != hipSuccess || count < 2 ||
      MNEME_REAL(table, hipGetDevice)(&current) != hipSuccess)
    return set();
  cudaError_t result = cudaSuccess;
  for (int device = 0; device < count && result == cudaSuccess; ++device) {
    result = to_cuda(MNEME_REAL(table, hipSetDevice)(device));
    if (result == cudaSuccess) result = set();
  }
  (void)MNEME_REAL(table, hipSetDevice)(current);
  return result;
}

hipError_t set_managed_pointers() {
  if (!placed().waiting.load(std::memory_order_acquire)) return hipSuccess;
  std::lock_guard lock(placed().mutex);
  cudaError_t result = cudaSuccess;
  for (PlacedVariable& one : placed().all) {
    if (one.is_set) continue;
    const cudaError_t code = set_managed_pointer(one);
    one.is_set = code == cudaSuccess;
    if (result == cudaSuccess) result = code;
  }
  if (result == cudaSuccess) placed().waiting.store(false, std::memory_order_release);
  return to_hip(result);
}

// Variables that the program has not registered, as those that only device code names, are registered when they are asked for.
int find_global(const void* function, const char* name, uint64_t* address, uint64_t* size) {
  static std::mutex mutex;
  static auto* keys =
      new std::map<std::pair<uint64_t, std::string>, std::unique_ptr<std::string>>;  // by image, which is never reused
  const auto kernel = program_code().find_kernel(function);
  if (!kernel) return 1;
  const RegisteredImage& image = *kernel->image;
  Table& table = Table::attached(image.table());
  const auto ask = [&](const void* host_variable) {
    void* found = nullptr;
    size_t bytes = 0;
    if (MNEME_CUDA(table, cudaGetSymbolAddress)(&found, host_variable) != cudaSuccess ||
        MNEME_CUDA(table, cudaGetSymbolSize)(&bytes, host_variable) != cudaSuccess)
      return 1;
    *address = reinterpret_cast<uint64_t>(found);
    *size = bytes;
    return 0;
  };
  for (const RegisteredVariable& variable : image.variables())
    if (variable.name == name) return ask(variable.host_address);
  const auto elf = image.device_elf();
  const auto symbols = elf.ok() ? read_code_object_symbols(elf->bytes, "the program's code") : elf.status();
  if (!symbols.ok() || !symbols->variables.contains(name)) return 1;
  std::lock_guard lock(mutex);
  auto& key = (*keys)[{image.id(), name}];
  if (!key) {
    key = std::make_unique<std::string>(name);
    table.runtime<decltype(&::__hipRegisterVar)>(MNEME_CALL___hipRegisterVar)(
        static_cast<void**>(image.handle()), key.get(), key->data(), key->c_str(), 0, symbols->variables.at(name), 0, 0);
  }
  return ask(key.get());
}

void remove_managed_variables(void** handle) {
  std::lock_guard lock(placed().mutex);
  std::erase_if(placed().all, [&](const PlacedVariable& one) { return one.variable.handle == handle; });
}

}  // namespace mneme::hip
