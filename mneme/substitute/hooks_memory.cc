// Allocations, which conditions on memory are about. Memory that is allocated in any other way is not known, and keeps a launch
// whose condition is about it.
#include "mneme/substitute/table.h"

namespace mneme::substitute {
namespace {

cudaError_t note(cudaError_t code, void** pointer, size_t size) {
  if (code == cudaSuccess && pointer && *pointer)
    process()->allocations.add({DevicePtr(reinterpret_cast<uint64_t>(*pointer)), Bytes(size)});
  return code;
}

void forget(void* pointer) { process()->allocations.remove(DevicePtr(reinterpret_cast<uint64_t>(pointer))); }

cudaError_t on_malloc(Table& table, void** pointer, size_t size) {
  return note(MNEME_NEXT(table, cudaMalloc)(pointer, size), pointer, size);
}
cudaError_t on_malloc_managed(Table& table, void** pointer, size_t size, unsigned flags) {
  return note(MNEME_NEXT(table, cudaMallocManaged)(pointer, size, flags), pointer, size);
}
template <mneme_call kSlot>
cudaError_t on_malloc_async(Table& table, void** pointer, size_t size, cudaStream_t stream) {
  return note(reinterpret_cast<decltype(&::cudaMallocAsync)>(table.next(kSlot))(pointer, size, stream), pointer, size);
}
cudaError_t on_malloc_pitch(Table& table, void** pointer, size_t* pitch, size_t width, size_t height) {
  const cudaError_t code = MNEME_NEXT(table, cudaMallocPitch)(pointer, pitch, width, height);
  return note(code, pointer, code == cudaSuccess ? *pitch * height : 0);
}
// Forgotten first: another thread may be given the memory as soon as it is free.
cudaError_t on_free(Table& table, void* pointer) {
  forget(pointer);
  return MNEME_NEXT(table, cudaFree)(pointer);
}
template <mneme_call kSlot>
cudaError_t on_free_async(Table& table, void* pointer, cudaStream_t stream) {
  forget(pointer);
  return reinterpret_cast<decltype(&::cudaFreeAsync)>(table.next(kSlot))(pointer, stream);
}
cudaError_t on_device_reset(Table& table) {
  process()->allocations.clear();
  const int ordinal = table.current_device();
  process()->code.forget_devices({&ordinal, 1});
  return MNEME_NEXT(table, cudaDeviceReset)();
}

using ResetHook = HookList<Hook<MNEME_CALL_cudaDeviceReset, on_device_reset>>;
using Hooks = HookList<Hook<MNEME_CALL_cudaMalloc, on_malloc>, Hook<MNEME_CALL_cudaMallocManaged, on_malloc_managed>,
                       Hook<MNEME_CALL_cudaMallocAsync, on_malloc_async<MNEME_CALL_cudaMallocAsync>>,
                       Hook<MNEME_CALL_cudaMallocAsync_ptsz, on_malloc_async<MNEME_CALL_cudaMallocAsync_ptsz>>,
                       Hook<MNEME_CALL_cudaMallocPitch, on_malloc_pitch>, Hook<MNEME_CALL_cudaFree, on_free>,
                       Hook<MNEME_CALL_cudaFreeAsync, on_free_async<MNEME_CALL_cudaFreeAsync>>,
                       Hook<MNEME_CALL_cudaFreeAsync_ptsz, on_free_async<MNEME_CALL_cudaFreeAsync_ptsz>>>;

}  // namespace

void install_memory_hooks(Table& table) {
  ResetHook::install(table);
  if (process()->code.looks_at_memory()) Hooks::install(table);
}

}  // namespace mneme::substitute
