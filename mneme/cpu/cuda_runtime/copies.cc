// Copies and fills.
#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

cudaError_t copy(const Copy& copy, cudaStream_t stream) {
  if (cudaError_t result = check(copy); result != cudaSuccess) return result;
  return submit(stream, copy);
}

cudaError_t fill(const Fill& fill, cudaStream_t stream) {
  if (cudaError_t result = check(fill); result != cudaSuccess) return result;
  return submit(stream, fill);
}

cudaError_t memcpy_async(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(linear_copy(to, from, bytes, kind), stream);
}
cudaError_t memcpy_sync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return memcpy_async(to, from, bytes, kind, nullptr);
}

cudaError_t memcpy_2d_async(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(pitched_copy(to, to_pitch, from, from_pitch, width, height, kind), stream);
}
cudaError_t memcpy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind) {
  return memcpy_2d_async(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t memcpy_3d_async(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return parameters ? copy(Copy{*parameters}, stream) : cudaErrorInvalidValue;
}
cudaError_t memcpy_3d(const cudaMemcpy3DParms* parameters) { return memcpy_3d_async(parameters, nullptr); }

cudaError_t memcpy_3d_peer_async(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  if (!parameters) return cudaErrorInvalidValue;
  if (parameters->srcDevice != 0 || parameters->dstDevice != 0) return cudaErrorInvalidDevice;
  const cudaMemcpy3DParms same{.srcArray = parameters->srcArray,
                               .srcPos = parameters->srcPos,
                               .srcPtr = parameters->srcPtr,
                               .dstArray = parameters->dstArray,
                               .dstPos = parameters->dstPos,
                               .dstPtr = parameters->dstPtr,
                               .extent = parameters->extent,
                               .kind = cudaMemcpyDefault};
  return memcpy_3d_async(&same, stream);
}
cudaError_t memcpy_3d_peer(const cudaMemcpy3DPeerParms* parameters) { return memcpy_3d_peer_async(parameters, nullptr); }

cudaError_t memcpy_peer_async(void* to, int to_device, const void* from, int from_device, size_t bytes, cudaStream_t stream) {
  if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
  return memcpy_async(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t memcpy_peer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return memcpy_peer_async(to, to_device, from, from_device, bytes, nullptr);
}

cudaError_t memcpy_to_symbol_async(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  void* to = nullptr;
  if (cudaError_t result = symbol_address(symbol, offset, bytes, &to); result != cudaSuccess) return result;
  return memcpy_async(to, from, bytes, kind, stream);
}
cudaError_t memcpy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return memcpy_to_symbol_async(symbol, from, bytes, offset, kind, nullptr);
}
cudaError_t memcpy_from_symbol_async(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  void* from = nullptr;
  if (cudaError_t result = symbol_address(symbol, offset, bytes, &from); result != cudaSuccess) return result;
  return memcpy_async(to, from, bytes, kind, stream);
}
cudaError_t memcpy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return memcpy_from_symbol_async(to, symbol, bytes, offset, kind, nullptr);
}

cudaError_t memset_2d_async(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  Fill rows;
  rows.parameters = {
      .dst = to, .pitch = pitch, .value = static_cast<unsigned char>(value), .elementSize = 1, .width = width, .height = height};
  return fill(rows, stream);
}
cudaError_t memset_2d(void* to, size_t pitch, int value, size_t width, size_t height) {
  return memset_2d_async(to, pitch, value, width, height, nullptr);
}
cudaError_t memset_async(void* to, int value, size_t bytes, cudaStream_t stream) {
  return memset_2d_async(to, bytes, value, bytes, 1, stream);
}
cudaError_t memset_sync(void* to, int value, size_t bytes) { return memset_async(to, value, bytes, nullptr); }

cudaError_t memset_3d_async(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  Fill slices;
  slices.parameters = {.dst = to.ptr,
                       .pitch = to.pitch,
                       .value = static_cast<unsigned char>(value),
                       .elementSize = 1,
                       .width = extent.width,
                       .height = extent.height};
  slices.depth = extent.depth;
  slices.slice = to.pitch * to.ysize;
  return fill(slices, stream);
}
cudaError_t memset_3d(cudaPitchedPtr to, int value, cudaExtent extent) { return memset_3d_async(to, value, extent, nullptr); }

}  // namespace

void fill_copies(Slots& slots) {
  MNEME_EMULATE_PTDS(cudaMemcpy, memcpy_sync);
  MNEME_EMULATE_PTSZ(cudaMemcpyAsync, memcpy_async);
  MNEME_EMULATE_PTDS(cudaMemcpy2D, memcpy_2d);
  MNEME_EMULATE_PTSZ(cudaMemcpy2DAsync, memcpy_2d_async);
  MNEME_EMULATE_PTDS(cudaMemcpy3D, memcpy_3d);
  MNEME_EMULATE_PTSZ(cudaMemcpy3DAsync, memcpy_3d_async);
  MNEME_EMULATE_PTDS(cudaMemcpy3DPeer, memcpy_3d_peer);
  MNEME_EMULATE_PTSZ(cudaMemcpy3DPeerAsync, memcpy_3d_peer_async);
  MNEME_EMULATE(cudaMemcpyPeer, memcpy_peer);
  MNEME_EMULATE(cudaMemcpyPeerAsync, memcpy_peer_async);
  MNEME_EMULATE_PTDS(cudaMemcpyToSymbol, memcpy_to_symbol);
  MNEME_EMULATE_PTSZ(cudaMemcpyToSymbolAsync, memcpy_to_symbol_async);
  MNEME_EMULATE_PTDS(cudaMemcpyFromSymbol, memcpy_from_symbol);
  MNEME_EMULATE_PTSZ(cudaMemcpyFromSymbolAsync, memcpy_from_symbol_async);
  MNEME_EMULATE_PTDS(cudaMemset, memset_sync);
  MNEME_EMULATE_PTSZ(cudaMemsetAsync, memset_async);
  MNEME_EMULATE_PTDS(cudaMemset2D, memset_2d);
  MNEME_EMULATE_PTSZ(cudaMemset2DAsync, memset_2d_async);
  MNEME_EMULATE_PTDS(cudaMemset3D, memset_3d);
  MNEME_EMULATE_PTSZ(cudaMemset3DAsync, memset_3d_async);
}

}  // namespace mneme::emulation
