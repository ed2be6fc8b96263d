// Loading of code. What is loaded is kept by its bytes until it is unloaded, and read when one of its kernels is first launched.
#include <algorithm>
#include <map>
#include <string>

#include "mneme/base/log.h"
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

void** key_of(const void* handle) { return static_cast<void**>(const_cast<void*>(handle)); }

// A handle that the driver has given before names another image now: a reset of the device takes images without a word.
void remember(const void* handle, LoadedImage image) {
  if (recorder()->registry().remove_image(key_of(handle))) recorder()->forget_kernels();
  recorder()->registry().add_image(key_of(handle), std::move(image));
}

using JitOptions = std::map<std::string, std::string>;

// Those that change the code. A value stands in the place of a pointer.
JitOptions jit_options_of(unsigned count, const CUjit_option* options, void* const* values) {
  static const std::map<CUjit_option, const char*> kNames = {{CU_JIT_MAX_REGISTERS, "max_registers"},
                                                             {CU_JIT_THREADS_PER_BLOCK, "threads_per_block"},
                                                             {CU_JIT_OPTIMIZATION_LEVEL, "optimization_level"},
                                                             {CU_JIT_TARGET, "target"},
                                                             {CU_JIT_GENERATE_DEBUG_INFO, "generate_debug_info"},
                                                             {CU_JIT_CACHE_MODE, "cache_mode"},
                                                             {CU_JIT_POSITION_INDEPENDENT_CODE, "position_independent_code"},
                                                             {CU_JIT_MIN_CTA_PER_SM, "min_cta_per_sm"},
                                                             {CU_JIT_MAX_THREADS_PER_BLOCK, "max_threads_per_block"},
                                                             {CU_JIT_OVERRIDE_DIRECTIVE_VALUES, "override_directive_values"}};
  JitOptions found;
  for (unsigned i = 0; options && values && i < count; ++i) {
    auto name = kNames.find(options[i]);
    if (name == kNames.end()) continue;
    found[name->second] = std::to_string(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i])));
  }
  return found;
}

// What a CUDA runtime loads stays in the program or library until that is unloaded; any other image is copied, since the program
// may write over it.
void remember(const void* handle, const void* image, const JitOptions& jit = {}) {
  auto bytes = image_at(image);
  if (!bytes.ok()) return log::debug("an image is not recorded: {}", bytes.status().message());
  if (bytes->data() != image) return remember(handle, LoadedImage{*bytes, nullptr, jit});
  auto copy = std::make_shared<const ByteVector>(bytes->begin(), bytes->end());
  remember(handle, LoadedImage{*copy, copy, jit});
}

void remember_file(const void* handle, const char* path, const JitOptions& jit = {}) {
  auto bytes = FileSystem::posix().read(path);
  if (!bytes.ok()) return log::debug("the image {} is not recorded: {}", path, bytes.status().message());
  auto copy = std::make_shared<const ByteVector>(std::move(*bytes));
  remember(handle, LoadedImage{*copy, copy, jit});
}

// A module lives no longer than its context.
template <typename Remember>
void remember_module(CUmodule module, Remember remember) {
  front().add_image(module);
  remember();
}

void remember_kernel(const void* function, const void* image, const char* name) {
  Registry& registry = recorder()->registry();
  auto known = registry.find_kernel(function);
  if (known && known->image == registry.find_image(key_of(image)) && known->name == name) return;
  registry.add_function(key_of(image), function, name);
  if (known) recorder()->forget_kernels();
}

CUresult on_module_load(CUmodule* module, const char* path) {
  CUresult code = MNEME_DRIVER(cuModuleLoad, cuModuleLoad)(module, path);
  if (code == CUDA_SUCCESS) remember_module(*module, [&] { remember_file(*module, path); });
  return code;
}
CUresult on_module_load_data(CUmodule* module, const void* image) {
  CUresult code = MNEME_DRIVER(cuModuleLoadData, cuModuleLoadData)(module, image);
  if (code == CUDA_SUCCESS) remember_module(*module, [&] { remember(*module, image); });
  return code;
}
CUresult on_module_load_data_ex(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  const JitOptions jit = jit_options_of(count, options, values);  // the driver writes into some of them
  CUresult code = MNEME_DRIVER(cuModuleLoadDataEx, cuModuleLoadDataEx)(module, image, count, options, values);
  if (code == CUDA_SUCCESS) remember_module(*module, [&] { remember(*module, image, jit); });
  return code;
}
CUresult on_module_load_fat_binary(CUmodule* module, const void* image) {
  CUresult code = MNEME_DRIVER(cuModuleLoadFatBinary, cuModuleLoadFatBinary)(module, image);
  if (code == CUDA_SUCCESS) remember_module(*module, [&] { remember(*module, image); });
  return code;
}
CUresult on_module_unload(CUmodule module) {
  forget_image(module);
  return MNEME_DRIVER(cuModuleUnload, cuModuleUnload)(module);
}
CUresult on_module_get_function(CUfunction* function, CUmodule module, const char* name) {
  CUresult code = MNEME_DRIVER(cuModuleGetFunction, cuModuleGetFunction)(function, module, name);
  if (code == CUDA_SUCCESS) remember_kernel(*function, module, name);
  return code;
}
// Handles for which a program has not asked by name.
template <typename Image, typename Handle>
void remember_kernels(Image image, const Handle* handles, unsigned room) {
  const unsigned count = handles ? std::min(room, front().kernel_count(image)) : 0;
  for (unsigned i = 0; i < count; ++i)
    if (auto name = front().name_of(handles[i])) remember_kernel(handles[i], image, *name);
}

CUresult on_module_enumerate(CUfunction* functions, unsigned count, CUmodule module) {
  CUresult code = MNEME_DRIVER(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions)(functions, count, module);
  if (code == CUDA_SUCCESS) remember_kernels(module, functions, count);
  return code;
}

CUresult on_library_load_data(CUlibrary* library, const void* image, CUjit_option* jit_options, void** jit_values,
                              unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  const JitOptions jit = jit_options_of(jit_count, jit_options, jit_values);
  CUresult code = MNEME_DRIVER(cuLibraryLoadData, cuLibraryLoadData)(library, image, jit_options, jit_values, jit_count, options,
                                                                     values, count);
  if (code != CUDA_SUCCESS) return code;
  front().add_library(*library);
  remember(*library, image, jit);
  return code;
}
CUresult on_library_load_file(CUlibrary* library, const char* path, CUjit_option* jit_options, void** jit_values,
                              unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
  const JitOptions jit = jit_options_of(jit_count, jit_options, jit_values);
  CUresult code = MNEME_DRIVER(cuLibraryLoadFromFile, cuLibraryLoadFromFile)(library, path, jit_options, jit_values, jit_count,
                                                                             options, values, count);
  if (code != CUDA_SUCCESS) return code;
  front().add_library(*library);
  remember_file(*library, path, jit);
  return code;
}
CUresult on_library_unload(CUlibrary library) {
  forget_image(library);
  for (CUmodule module : front().forget_library(library)) forget_image(module);
  return MNEME_DRIVER(cuLibraryUnload, cuLibraryUnload)(library);
}
CUresult on_library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  CUresult code = MNEME_DRIVER(cuLibraryGetKernel, cuLibraryGetKernel)(kernel, library, name);
  if (code == CUDA_SUCCESS) remember_kernel(*kernel, library, name);
  return code;
}
CUresult on_library_enumerate(CUkernel* kernels, unsigned count, CUlibrary library) {
  CUresult code = MNEME_DRIVER(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels)(kernels, count, library);
  if (code == CUDA_SUCCESS) remember_kernels(library, kernels, count);
  return code;
}
// The module has the library's code, and its functions have handles of their own.
CUresult on_library_get_module(CUmodule* module, CUlibrary library) {
  CUresult code = MNEME_DRIVER(cuLibraryGetModule, cuLibraryGetModule)(module, library);
  if (code != CUDA_SUCCESS) return code;
  front().add_library_module(library, *module);
  const auto image = recorder()->registry().find_image(key_of(library));
  const auto known = recorder()->registry().find_image(key_of(*module));
  const bool is_known = image && known && known->loaded().bytes.data() == image->loaded().bytes.data();
  if (image && !is_known) remember_module(*module, [&] { remember(*module, image->loaded()); });
  return code;
}
CUresult on_kernel_get_function(CUfunction* function, CUkernel kernel) {
  CUresult code = MNEME_DRIVER(cuKernelGetFunction, cuKernelGetFunction)(function, kernel);
  if (code != CUDA_SUCCESS) return code;
  if (auto known = recorder()->registry().find_kernel(kernel))
    remember_kernel(*function, known->image->handle(), known->name.c_str());
  return code;
}

}  // namespace

void forget_image(const void* handle) {
  recorder()->registry().remove_image(key_of(handle));
  recorder()->forget_kernels();
}

#define MNEME_LOAD(name, handler) hook(MNEME_DRIVER_CALL_##name, counted<&RecordingReport::loads, handler>)

std::vector<DriverHook> image_hooks() {
  return {MNEME_LOAD(cuModuleLoad, on_module_load),
          MNEME_LOAD(cuModuleLoadData, on_module_load_data),
          MNEME_LOAD(cuModuleLoadDataEx, on_module_load_data_ex),
          MNEME_LOAD(cuModuleLoadFatBinary, on_module_load_fat_binary),
          hook(MNEME_DRIVER_CALL_cuModuleUnload, &on_module_unload),
          hook(MNEME_DRIVER_CALL_cuModuleGetFunction, &on_module_get_function),
          hook(MNEME_DRIVER_CALL_cuModuleEnumerateFunctions, &on_module_enumerate),
          MNEME_LOAD(cuLibraryLoadData, on_library_load_data),
          MNEME_LOAD(cuLibraryLoadFromFile, on_library_load_file),
          hook(MNEME_DRIVER_CALL_cuLibraryUnload, &on_library_unload),
          hook(MNEME_DRIVER_CALL_cuLibraryGetKernel, &on_library_get_kernel),
          hook(MNEME_DRIVER_CALL_cuLibraryEnumerateKernels, &on_library_enumerate),
          hook(MNEME_DRIVER_CALL_cuLibraryGetModule, &on_library_get_module),
          hook(MNEME_DRIVER_CALL_cuKernelGetFunction, &on_kernel_get_function)};
}

}  // namespace mneme::driver
