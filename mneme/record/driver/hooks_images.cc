// Loading of code. What is loaded is kept by its bytes until it is unloaded, and read when one of its kernels is first launched.
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

// What a CUDA runtime loads stays in the program or library until that is unloaded; any other image is copied, since the program
// may write over it.
void remember(const void* handle, const void* image) {
  auto bytes = image_at(image);
  if (!bytes.ok()) return log::debug("an image is not recorded: {}", bytes.status().message());
  if (bytes->data() != image) return remember(handle, LoadedImage{*bytes, nullptr});
  auto copy = std::make_shared<const ByteVector>(bytes->begin(), bytes->end());
  remember(handle, LoadedImage{*copy, copy});
}

void remember_file(const void* handle, const char* path) {
  auto bytes = FileSystem::posix().read(path);
  if (!bytes.ok()) return log::debug("the image {} is not recorded: {}", path, bytes.status().message());
  auto copy = std::make_shared<const ByteVector>(std::move(*bytes));
  remember(handle, LoadedImage{*copy, copy});
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
  CUresult code = MNEME_DRIVER(cuModuleLoadDataEx, cuModuleLoadDataEx)(module, image, count, options, values);
  if (code == CUDA_SUCCESS) remember_module(*module, [&] { remember(*module, image); });
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

CUresult on_library_load_data(CUlibrary* library, const void* image, CUjit_option* jit, void** jit_values, unsigned jit_count,
                              CUlibraryOption* options, void** values, unsigned count) {
  CUresult code =
      MNEME_DRIVER(cuLibraryLoadData, cuLibraryLoadData)(library, image, jit, jit_values, jit_count, options, values, count);
  if (code != CUDA_SUCCESS) return code;
  front().add_library(*library);
  remember(*library, image);
  return code;
}
CUresult on_library_load_file(CUlibrary* library, const char* path, CUjit_option* jit, void** jit_values, unsigned jit_count,
                              CUlibraryOption* options, void** values, unsigned count) {
  CUresult code = MNEME_DRIVER(cuLibraryLoadFromFile, cuLibraryLoadFromFile)(library, path, jit, jit_values, jit_count, options,
                                                                             values, count);
  if (code != CUDA_SUCCESS) return code;
  front().add_library(*library);
  remember_file(*library, path);
  return code;
}
CUresult on_library_unload(CUlibrary library) {
  forget_image(library);
  front().forget_library(library);
  return MNEME_DRIVER(cuLibraryUnload, cuLibraryUnload)(library);
}
CUresult on_library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  CUresult code = MNEME_DRIVER(cuLibraryGetKernel, cuLibraryGetKernel)(kernel, library, name);
  if (code == CUDA_SUCCESS) remember_kernel(*kernel, library, name);
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

std::vector<DriverHook> image_hooks() {
  return {hook(MNEME_DRIVER_CALL_cuModuleLoad, &on_module_load),
          hook(MNEME_DRIVER_CALL_cuModuleLoadData, &on_module_load_data),
          hook(MNEME_DRIVER_CALL_cuModuleLoadDataEx, &on_module_load_data_ex),
          hook(MNEME_DRIVER_CALL_cuModuleLoadFatBinary, &on_module_load_fat_binary),
          hook(MNEME_DRIVER_CALL_cuModuleUnload, &on_module_unload),
          hook(MNEME_DRIVER_CALL_cuModuleGetFunction, &on_module_get_function),
          hook(MNEME_DRIVER_CALL_cuLibraryLoadData, &on_library_load_data),
          hook(MNEME_DRIVER_CALL_cuLibraryLoadFromFile, &on_library_load_file),
          hook(MNEME_DRIVER_CALL_cuLibraryUnload, &on_library_unload),
          hook(MNEME_DRIVER_CALL_cuLibraryGetKernel, &on_library_get_kernel),
          hook(MNEME_DRIVER_CALL_cuKernelGetFunction, &on_kernel_get_function)};
}

}  // namespace mneme::driver
