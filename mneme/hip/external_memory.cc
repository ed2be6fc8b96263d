#include "mneme/hip/external_memory.h"

namespace mneme::hip {
namespace {

hipError_t map(Table& table, void* pointer, size_t size, size_t, hipMemGenericAllocationHandle_t, unsigned long long) {
  return give_external(table, &pointer, size);
}
hipError_t map_buffer(Table& table, void** pointer, hipExternalMemory_t, const hipExternalMemoryBufferDesc* what) {
  return give_external(table, pointer, what ? what->size : 0);
}
hipError_t map_graphics(Table& table, void** pointer, size_t* size, hipGraphicsResource_t) {
  return to_hip(MNEME_CUDA(table, cudaGraphicsResourceGetMappedPointer)(pointer, size, nullptr));
}

// Of another process nobody tells how large it is.
hipError_t open_ipc(Table& table, void** pointer, hipIpcMemHandle_t, unsigned) {
  return to_hip(MNEME_CUDA(table, cudaIpcOpenMemHandle)(pointer, {}, 0));
}
hipError_t import_pointer(Table& table, void** pointer, hipMemPool_t, hipMemPoolPtrExportData*) {
  return to_hip(MNEME_CUDA(table, cudaIpcOpenMemHandle)(pointer, {}, 0));
}

hipError_t close(Table& table, void* pointer) { return to_hip(MNEME_CUDA(table, cudaIpcCloseMemHandle)(pointer)); }
hipError_t unmap(Table& table, void* pointer, size_t) { return close(table, pointer); }

using Rows = HookList<MNEME_OWN_THROUGH(hipMemMap, map, cudaExternalMemoryGetMappedBuffer),
                      MNEME_OWN_THROUGH(hipExternalMemoryGetMappedBuffer, map_buffer, cudaExternalMemoryGetMappedBuffer),
                      MNEME_OWN_THROUGH(hipGraphicsResourceGetMappedPointer, map_graphics, cudaGraphicsResourceGetMappedPointer),
                      MNEME_OWN_THROUGH(hipIpcOpenMemHandle, open_ipc, cudaIpcOpenMemHandle),
                      MNEME_OWN_THROUGH(hipMemPoolImportPointer, import_pointer, cudaIpcOpenMemHandle),
                      MNEME_OWN_THROUGH(hipIpcCloseMemHandle, close, cudaIpcCloseMemHandle),
                      MNEME_OWN_THROUGH(hipMemUnmap, unmap, cudaIpcCloseMemHandle)>;

}  // namespace

void install_external_memory(const Table& table) { Rows::install(table); }

}  // namespace mneme::hip
