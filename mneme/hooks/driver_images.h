// The hooks of the CUDA driver's functions that load code, for interposers at the driver: they keep a registry.
//
// What is loaded is kept by its bytes until it is unloaded, and read when one of its kernels is first launched.
// DriverImages<Front> needs of the interposer's Front, as static functions: real(slot), the driver's own function; find(name),
// one that has no slot, or null; registry(); on_load(), called when code was loaded; on_unload(), when kernels may have come to
// be others; on_module(handle), of a module, which lives no longer than the current context; on_library(handle) and
// on_library_unload(handle).
#pragma once

#include <cuda.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/log.h"
#include "mneme/hooks/driver_hooks.h"
#include "mneme/runtime/registry.h"

namespace mneme::driver {

using JitOptions = std::map<std::string, std::string>;
// Those of a load that change the code. A value stands in the place of a pointer.
JitOptions jit_options_of(unsigned count, const CUjit_option* options, void* const* values);

inline void** key_of(const void* handle) { return static_cast<void**>(const_cast<void*>(handle)); }

template <typename Front>
class DriverImages {
 public:
  static std::vector<DriverHook> hooks() {
    return {hook(MNEME_DRIVER_CALL_cuModuleLoad, &on_module_load),
            hook(MNEME_DRIVER_CALL_cuModuleLoadData, &on_module_load_data),
            hook(MNEME_DRIVER_CALL_cuModuleLoadDataEx, &on_module_load_data_ex),
            hook(MNEME_DRIVER_CALL_cuModuleLoadFatBinary, &on_module_load_fat_binary),
            hook(MNEME_DRIVER_CALL_cuModuleUnload, &on_module_unload),
            hook(MNEME_DRIVER_CALL_cuModuleGetFunction, &on_module_get_function),
            hook(MNEME_DRIVER_CALL_cuModuleEnumerateFunctions, &on_module_enumerate),
            hook(MNEME_DRIVER_CALL_cuLibraryLoadData, &on_library_load_data),
            hook(MNEME_DRIVER_CALL_cuLibraryLoadFromFile, &on_library_load_file),
            hook(MNEME_DRIVER_CALL_cuLibraryUnload, &on_library_unload),
            hook(MNEME_DRIVER_CALL_cuLibraryGetKernel, &on_library_get_kernel),
            hook(MNEME_DRIVER_CALL_cuLibraryEnumerateKernels, &on_library_enumerate),
            hook(MNEME_DRIVER_CALL_cuLibraryGetModule, &on_library_get_module),
            hook(MNEME_DRIVER_CALL_cuKernelGetFunction, &on_kernel_get_function)};
  }

  // Forgets what was loaded under this handle, and its kernels.
  static void forget(const void* handle) {
    Front::registry().remove_image(key_of(handle));
    Front::on_unload();
  }

 private:
  template <typename F>
  static F* real(mneme_driver_call slot) {
    return reinterpret_cast<F*>(Front::real(slot));
  }

  // A handle that the driver has given before names another image now: a reset of the device takes images without a word.
  static void remember(const void* handle, LoadedImage image) {
    if (Front::registry().remove_image(key_of(handle))) Front::on_unload();
    Front::registry().add_image(key_of(handle), std::move(image));
  }

  // What a CUDA runtime loads stays in the program or library until that is unloaded; any other image is copied, since the
  // program may write over it.
  static void remember(const void* handle, const void* image, const JitOptions& jit = {}) {
    auto bytes = image_at(image);
    if (!bytes.ok()) return log::debug("an image is not known: {}", bytes.status().message());
    if (bytes->data() != image) return remember(handle, LoadedImage{*bytes, nullptr, jit});
    auto copy = std::make_shared<const ByteVector>(bytes->begin(), bytes->end());
    remember(handle, LoadedImage{*copy, copy, jit});
  }

  static void remember_file(const void* handle, const char* path, const JitOptions& jit = {}) {
    auto bytes = FileSystem::posix().read(path);
    if (!bytes.ok()) return log::debug("the image {} is not known: {}", path, bytes.status().message());
    auto copy = std::make_shared<const ByteVector>(std::move(*bytes));
    remember(handle, LoadedImage{*copy, copy, jit});
  }

  static void remember_kernel(const void* function, const void* image, const char* name) {
    Registry& registry = Front::registry();
    auto known = registry.find_kernel(function);
    if (known && known->image == registry.find_image(key_of(image)) && known->name == name) return;
    registry.add_function(key_of(image), function, name);
    if (known) Front::on_unload();
  }

  // What a later function of the driver tells of a handle; nothing: this driver lacks it, or does not know the handle.
  template <typename T, typename Handle>
  static std::optional<T> ask(const char* name, Handle handle) {
    T value{};
    auto* const function = reinterpret_cast<CUresult (*)(T*, Handle)>(Front::find(name));
    if (!function || function(&value, handle) != CUDA_SUCCESS) return std::nullopt;
    return value;
  }
  // Handles for which the program has not asked by name.
  template <typename Image, typename Handle>
  static void remember_kernels(Image image, const Handle* handles, unsigned room, const char* count_of, const char* name_of) {
    const unsigned count = handles ? std::min(room, ask<unsigned>(count_of, image).value_or(0)) : 0;
    for (unsigned i = 0; i < count; ++i)
      if (auto name = ask<const char*>(name_of, handles[i])) remember_kernel(handles[i], image, *name);
  }

  // The modules that contexts have of libraries, which end with these.
  struct LibraryModules {
    std::mutex mutex;
    std::map<CUlibrary, std::set<CUmodule>> of;
  };
  static LibraryModules& library_modules() {
    static auto* const all = new LibraryModules;
    return *all;
  }

  template <typename Remember>
  static CUresult loaded_module(CUresult code, const CUmodule* module, Remember remember) {
    if (code != CUDA_SUCCESS) return code;
    Front::on_module(*module);
    remember();
    Front::on_load();
    return code;
  }
  template <typename Remember>
  static CUresult loaded_library(CUresult code, const CUlibrary* library, Remember remember) {
    if (code != CUDA_SUCCESS) return code;
    Front::on_library(*library);
    remember();
    Front::on_load();
    return code;
  }

  static CUresult on_module_load(CUmodule* module, const char* path) {
    const CUresult code = real<decltype(::cuModuleLoad)>(MNEME_DRIVER_CALL_cuModuleLoad)(module, path);
    return loaded_module(code, module, [&] { remember_file(*module, path); });
  }
  static CUresult on_module_load_data(CUmodule* module, const void* image) {
    const CUresult code = real<decltype(::cuModuleLoadData)>(MNEME_DRIVER_CALL_cuModuleLoadData)(module, image);
    return loaded_module(code, module, [&] { remember(*module, image); });
  }
  static CUresult on_module_load_data_ex(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                         void** values) {
    const JitOptions jit = jit_options_of(count, options, values);  // the driver writes into some of them
    const CUresult code =
        real<decltype(::cuModuleLoadDataEx)>(MNEME_DRIVER_CALL_cuModuleLoadDataEx)(module, image, count, options, values);
    return loaded_module(code, module, [&] { remember(*module, image, jit); });
  }
  static CUresult on_module_load_fat_binary(CUmodule* module, const void* image) {
    const CUresult code = real<decltype(::cuModuleLoadFatBinary)>(MNEME_DRIVER_CALL_cuModuleLoadFatBinary)(module, image);
    return loaded_module(code, module, [&] { remember(*module, image); });
  }
  static CUresult on_module_unload(CUmodule module) {
    forget(module);
    return real<decltype(::cuModuleUnload)>(MNEME_DRIVER_CALL_cuModuleUnload)(module);
  }
  static CUresult on_module_get_function(CUfunction* function, CUmodule module, const char* name) {
    const CUresult code = real<decltype(::cuModuleGetFunction)>(MNEME_DRIVER_CALL_cuModuleGetFunction)(function, module, name);
    if (code == CUDA_SUCCESS) remember_kernel(*function, module, name);
    return code;
  }
  static CUresult on_module_enumerate(CUfunction* functions, unsigned room, CUmodule module) {
    const CUresult code =
        real<decltype(::cuModuleEnumerateFunctions)>(MNEME_DRIVER_CALL_cuModuleEnumerateFunctions)(functions, room, module);
    if (code == CUDA_SUCCESS) remember_kernels(module, functions, room, "cuModuleGetFunctionCount", "cuFuncGetName");
    return code;
  }

  static CUresult on_library_load_data(CUlibrary* library, const void* image, CUjit_option* jit_options, void** jit_values,
                                       unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
    const JitOptions jit = jit_options_of(jit_count, jit_options, jit_values);
    const CUresult code = real<decltype(::cuLibraryLoadData)>(MNEME_DRIVER_CALL_cuLibraryLoadData)(
        library, image, jit_options, jit_values, jit_count, options, values, count);
    return loaded_library(code, library, [&] { remember(*library, image, jit); });
  }
  static CUresult on_library_load_file(CUlibrary* library, const char* path, CUjit_option* jit_options, void** jit_values,
                                       unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) {
    const JitOptions jit = jit_options_of(jit_count, jit_options, jit_values);
    const CUresult code = real<decltype(::cuLibraryLoadFromFile)>(MNEME_DRIVER_CALL_cuLibraryLoadFromFile)(
        library, path, jit_options, jit_values, jit_count, options, values, count);
    return loaded_library(code, library, [&] { remember_file(*library, path, jit); });
  }
  static CUresult on_library_unload(CUlibrary library) {
    forget(library);
    std::set<CUmodule> modules;
    {
      std::lock_guard lock(library_modules().mutex);
      if (auto known = library_modules().of.extract(library)) modules = std::move(known.mapped());
    }
    for (CUmodule module : modules) forget(module);
    Front::on_library_unload(library);
    return real<decltype(::cuLibraryUnload)>(MNEME_DRIVER_CALL_cuLibraryUnload)(library);
  }
  static CUresult on_library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
    const CUresult code = real<decltype(::cuLibraryGetKernel)>(MNEME_DRIVER_CALL_cuLibraryGetKernel)(kernel, library, name);
    if (code == CUDA_SUCCESS) remember_kernel(*kernel, library, name);
    return code;
  }
  static CUresult on_library_enumerate(CUkernel* kernels, unsigned room, CUlibrary library) {
    const CUresult code =
        real<decltype(::cuLibraryEnumerateKernels)>(MNEME_DRIVER_CALL_cuLibraryEnumerateKernels)(kernels, room, library);
    if (code == CUDA_SUCCESS) remember_kernels(library, kernels, room, "cuLibraryGetKernelCount", "cuKernelGetName");
    return code;
  }
  // The module has the library's code, and its functions have handles of their own.
  static CUresult on_library_get_module(CUmodule* module, CUlibrary library) {
    const CUresult code = real<decltype(::cuLibraryGetModule)>(MNEME_DRIVER_CALL_cuLibraryGetModule)(module, library);
    const auto image = code == CUDA_SUCCESS ? Front::registry().find_image(key_of(library)) : nullptr;
    if (!image) return code;
    {
      std::lock_guard lock(library_modules().mutex);
      library_modules().of[library].insert(*module);
    }
    const auto known = Front::registry().find_image(key_of(*module));
    if (known && known->loaded().bytes.data() == image->loaded().bytes.data()) return code;
    Front::on_module(*module);
    remember(*module, image->loaded());
    return code;
  }
  static CUresult on_kernel_get_function(CUfunction* function, CUkernel kernel) {
    const CUresult code = real<decltype(::cuKernelGetFunction)>(MNEME_DRIVER_CALL_cuKernelGetFunction)(function, kernel);
    if (code != CUDA_SUCCESS) return code;
    if (auto known = Front::registry().find_kernel(kernel))
      remember_kernel(*function, known->image->handle(), known->name.c_str());
    return code;
  }
};

}  // namespace mneme::driver
