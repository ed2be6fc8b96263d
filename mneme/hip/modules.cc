// Modules: code objects that the program loads itself, from a file or from memory. What is loaded is registered, as the program's
// own code is before main: its kernels by handles in the place of host functions.
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/log.h"
#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/runtime/code_object.h"

namespace mneme::hip {
namespace {

// What stands for a host function or a host variable: its address is the handle.
struct Named {
  std::string name;
};

// A managed variable: the pointer to its memory, whose own address is the handle.
struct Managed {
  void* memory = nullptr;
  size_t size = 0;
};

struct Module {
  ByteVector bundle;  // what the wrapper points to
  ImageWrapper wrapper{};
  void** registered = nullptr;
  std::map<std::string, std::unique_ptr<Named>, std::less<>> kernels, variables;
  std::map<std::string, std::unique_ptr<Managed>, std::less<>> managed;
};

class Modules {
 public:
  static Modules& get() {
    static auto* modules = new Modules;
    return *modules;
  }
  Module* add(std::unique_ptr<Module> module) {
    std::lock_guard lock(mutex_);
    return modules_.emplace(module.get(), std::move(module)).first->second.get();
  }
  Module* find(hipModule_t handle) {
    std::lock_guard lock(mutex_);
    const auto found = modules_.find(handle);
    return found == modules_.end() ? nullptr : found->second.get();
  }
  std::unique_ptr<Module> remove(hipModule_t handle) {
    std::lock_guard lock(mutex_);
    auto found = modules_.extract(modules_.find(handle));
    return found.empty() ? nullptr : std::move(found.mapped());
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<Module>> modules_;
};

// All kernels and variables are registered when the module is loaded: where variables lie is settled at the first use of any.
void register_symbols(Table& table, Module& module, const CodeSymbols& symbols) {
  for (const std::string& name : symbols.kernels) {
    auto& kernel = module.kernels[name] = std::make_unique<Named>(Named{name});
    program_code().add_function(module.registered, kernel.get(), name.c_str());
    MNEME_CUDA(table, __cudaRegisterFunction)
    (module.registered, reinterpret_cast<const char*>(kernel.get()), kernel->name.data(), kernel->name.c_str(), -1, nullptr,
     nullptr, nullptr, nullptr, nullptr);
  }
  for (const auto& [name, size] : symbols.variables) {
    auto& variable = module.variables[name] = std::make_unique<Named>(Named{name});
    program_code().add_variable(module.registered, {variable.get(), name, size, false, false});
    MNEME_CUDA(table, __cudaRegisterVar)
    (module.registered, reinterpret_cast<char*>(variable.get()), variable->name.data(), variable->name.c_str(), 0, size, 0, 0);
  }
  for (const auto& [name, value] : symbols.managed) {
    auto& variable = module.managed[name] = std::make_unique<Managed>(Managed{.size = value.size()});
    add_managed_variable(table, {.handle = module.registered,
                                 .host_pointer = &variable->memory,
                                 .initial_value = value.data(),
                                 .name = name,
                                 .size = value.size()});
  }
}

// Whether the program's own runtime has a GPU for the code, which registering does not tell.
hipError_t try_to_load(Table& table, const ByteVector& bundle) {
  const auto load_module = MNEME_REAL(table, hipModuleLoadData);
  const auto unload_module = MNEME_REAL(table, hipModuleUnload);
  if (!table.ends_in_runtime() || !load_module || !unload_module) return hipSuccess;
  hipModule_t module = nullptr;
  const hipError_t result = load_module(&module, bundle.data());
  return result == hipSuccess ? unload_module(module) : result;
}

hipError_t load(Table& table, hipModule_t* out, Result<ByteVector> bundle) {
  if (!bundle.ok()) {
    log::warning("a module is not loaded: {}", bundle.status().message());
    return bundle.status().code() == Code::not_found ? hipErrorFileNotFound : hipErrorInvalidImage;
  }
  auto module = std::make_unique<Module>();
  module->bundle = std::move(*bundle);
  module->wrapper = wrap_bundle(module->bundle);
  const auto symbols = read_code_symbols(module->bundle, "a module");
  if (!symbols.ok()) {
    log::warning("a module is not loaded: {}", symbols.status().message());
    return symbols.status().code() == Code::unsupported ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
  }
  if (const hipError_t result = try_to_load(table, module->bundle); result != hipSuccess) return result;
  module->registered = MNEME_CUDA(table, __cudaRegisterFatBinary)(&module->wrapper);
  if (!module->registered) return hipErrorNoBinaryForGpu;
  program_code().add_image(module->registered, table.abi().index, &module->wrapper);
  register_symbols(table, *module, *symbols);
  // At once, since the next launch may be one that a stream captures.
  if (table.ends_in_runtime() && !symbols->managed.empty())
    if (const hipError_t result = set_managed_pointers(); result != hipSuccess) return result;
  *out = reinterpret_cast<hipModule_t>(Modules::get().add(std::move(module)));
  return hipSuccess;
}

hipError_t load_file(Table& table, hipModule_t* out, const char* path) {
  if (!out || !path) return hipErrorInvalidValue;
  auto bytes = FileSystem::posix().read(path);
  return load(table, out, bytes.ok() ? bundle_of(*bytes, path) : bytes.status());
}

hipError_t load_data(Table& table, hipModule_t* out, const void* image) {
  if (!out || !image) return hipErrorInvalidValue;
  auto bytes = code_object_at(image);
  return load(table, out, bytes.ok() ? bundle_of(*bytes, "a module") : bytes.status());
}
hipError_t load_data_with_options(Table& table, hipModule_t* out, const void* image, unsigned, hipJitOption*, void**) {
  return load_data(table, out, image);
}

hipError_t unload(Table& table, hipModule_t handle) {
  const auto module = Modules::get().remove(handle);
  if (!module) return hipErrorInvalidHandle;
  program_code().remove_image(module->registered);
  remove_managed_variables(module->registered);
  MNEME_CUDA(table, __cudaUnregisterFatBinary)(module->registered);
  return hipSuccess;
}

hipError_t get_function(Table&, hipFunction_t* out, hipModule_t handle, const char* name) {
  Module* const module = Modules::get().find(handle);
  if (!out || !name) return hipErrorInvalidValue;
  if (!module) return hipErrorInvalidHandle;
  const auto found = module->kernels.find(std::string_view(name));
  if (found == module->kernels.end()) return hipErrorNotFound;
  *out = reinterpret_cast<hipFunction_t>(found->second.get());
  return hipSuccess;
}

hipError_t get_global(Table& table, hipDeviceptr_t* address, size_t* bytes, hipModule_t handle, const char* name) {
  Module* const module = Modules::get().find(handle);
  if (!name) return hipErrorInvalidValue;
  if (!module) return hipErrorInvalidHandle;
  if (const auto managed = module->managed.find(std::string_view(name)); managed != module->managed.end()) {
    if (address) *address = managed->second->memory;
    if (bytes) *bytes = managed->second->size;
    return managed->second->memory ? hipSuccess : hipErrorOutOfMemory;
  }
  const auto found = module->variables.find(std::string_view(name));
  if (found == module->variables.end()) return hipErrorNotFound;
  cudaError_t code = address ? MNEME_CUDA(table, cudaGetSymbolAddress)(address, found->second.get()) : cudaSuccess;
  if (code == cudaSuccess && bytes) code = MNEME_CUDA(table, cudaGetSymbolSize)(bytes, found->second.get());
  return to_hip(code);
}

using Rows = HookList<MNEME_OWN(hipModuleLoad, load_file), MNEME_OWN(hipModuleLoadData, load_data),
                      MNEME_OWN(hipModuleLoadDataEx, load_data_with_options), MNEME_OWN(hipModuleUnload, unload),
                      MNEME_OWN(hipModuleGetFunction, get_function), MNEME_OWN(hipModuleGetGlobal, get_global)>;

}  // namespace

void install_modules(const Table& table) { Rows::install(table); }

}  // namespace mneme::hip
