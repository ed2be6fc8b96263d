// Copies to and from arrays. Offsets and widths are in bytes here, as CUDA's functions have them.
#include "mneme/cpu/cuda_runtime/arrays.h"
#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

cudaError_t copy(const Copy& copy, cudaStream_t stream) {
  if (cudaError_t result = check(copy); result != cudaSuccess) return result;
  return submit(stream, copy);
}

// A rectangle of an array, and where it begins.
struct Corner {
  cudaArray_const_t array = nullptr;
  size_t byte = 0, row = 0;
};

// Notes an array as one side of a copy, whose width then counts texels. cudaErrorInvalidValue: the bytes are no whole texels.
cudaError_t set_side(cudaArray_t& array, cudaPos& position, const Corner& corner) {
  const auto found = find_array(corner.array);
  if (!found) return cudaErrorInvalidResourceHandle;
  const size_t texel = found->channels.format.bytes();
  if (corner.byte % texel != 0) return cudaErrorInvalidValue;
  array = found->handle();
  position = {corner.byte / texel, corner.row, 0};
  return cudaSuccess;
}

cudaError_t set_extent(Copy& copy, cudaArray_const_t array, size_t width, size_t height, cudaMemcpyKind kind) {
  const size_t texel = find_array(array)->channels.format.bytes();
  if (width % texel != 0) return cudaErrorInvalidValue;
  copy.parameters.extent = {width / texel, height, 1};
  copy.parameters.kind = kind;
  return cudaSuccess;
}

cudaError_t copy_to_array(const Corner& to, const void* from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                          cudaStream_t stream) {
  Copy rows;
  if (cudaError_t result = set_side(rows.parameters.dstArray, rows.parameters.dstPos, to); result != cudaSuccess) return result;
  rows.parameters.srcPtr = {const_cast<void*>(from), pitch, width, height};
  if (cudaError_t result = set_extent(rows, to.array, width, height, kind); result != cudaSuccess) return result;
  return copy(rows, stream);
}

cudaError_t copy_from_array(void* to, size_t pitch, const Corner& from, size_t width, size_t height, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Copy rows;
  if (cudaError_t result = set_side(rows.parameters.srcArray, rows.parameters.srcPos, from); result != cudaSuccess) return result;
  rows.parameters.dstPtr = {to, pitch, width, height};
  if (cudaError_t result = set_extent(rows, from.array, width, height, kind); result != cudaSuccess) return result;
  return copy(rows, stream);
}

cudaError_t memcpy_2d_to_array_async(cudaArray_t to, size_t byte, size_t row, const void* from, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_to_array({to, byte, row}, from, pitch, width, height, kind, stream);
}
cudaError_t memcpy_2d_to_array(cudaArray_t to, size_t byte, size_t row, const void* from, size_t pitch, size_t width,
                               size_t height, cudaMemcpyKind kind) {
  return copy_to_array({to, byte, row}, from, pitch, width, height, kind, nullptr);
}
cudaError_t memcpy_2d_from_array_async(void* to, size_t pitch, cudaArray_const_t from, size_t byte, size_t row, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_from_array(to, pitch, {from, byte, row}, width, height, kind, stream);
}
cudaError_t memcpy_2d_from_array(void* to, size_t pitch, cudaArray_const_t from, size_t byte, size_t row, size_t width,
                                 size_t height, cudaMemcpyKind kind) {
  return copy_from_array(to, pitch, {from, byte, row}, width, height, kind, nullptr);
}

cudaError_t memcpy_2d_between_arrays(cudaArray_t to, size_t to_byte, size_t to_row, cudaArray_const_t from, size_t from_byte,
                                     size_t from_row, size_t width, size_t height, cudaMemcpyKind kind) {
  Copy rows;
  cudaMemcpy3DParms& parameters = rows.parameters;
  cudaError_t result = set_side(parameters.dstArray, parameters.dstPos, {to, to_byte, to_row});
  if (result == cudaSuccess) result = set_side(parameters.srcArray, parameters.srcPos, {from, from_byte, from_row});
  if (result == cudaSuccess) result = set_extent(rows, from, width, height, kind);
  return result == cudaSuccess ? copy(rows, nullptr) : result;
}

// --- bytes that go on from one row to the next --------------------------------------------------------------------------------

// Where the bytes of a corner begin in memory, of which there must be `count`.
cudaError_t find_bytes(const Corner& corner, size_t count, std::byte*& bytes) {
  const auto found = find_array(corner.array);
  if (!found) return cudaErrorInvalidResourceHandle;
  const size_t begin = corner.row * found->grid.row_pitch + corner.byte;
  if (corner.byte >= found->grid.row_pitch || begin > found->bytes() || count > found->bytes() - begin)
    return cudaErrorInvalidValue;
  bytes = found->grid.texels + begin;
  return cudaSuccess;
}

cudaError_t memcpy_to_array_async(cudaArray_t to, size_t byte, size_t row, const void* from, size_t count, cudaMemcpyKind kind,
                                  cudaStream_t stream) {
  std::byte* bytes = nullptr;
  if (cudaError_t result = find_bytes({to, byte, row}, count, bytes); result != cudaSuccess) return result;
  return copy(linear_copy(bytes, from, count, kind), stream);
}
cudaError_t memcpy_to_array(cudaArray_t to, size_t byte, size_t row, const void* from, size_t count, cudaMemcpyKind kind) {
  return memcpy_to_array_async(to, byte, row, from, count, kind, nullptr);
}
cudaError_t memcpy_from_array_async(void* to, cudaArray_const_t from, size_t byte, size_t row, size_t count, cudaMemcpyKind kind,
                                    cudaStream_t stream) {
  std::byte* bytes = nullptr;
  if (cudaError_t result = find_bytes({from, byte, row}, count, bytes); result != cudaSuccess) return result;
  return copy(linear_copy(to, bytes, count, kind), stream);
}
cudaError_t memcpy_from_array(void* to, cudaArray_const_t from, size_t byte, size_t row, size_t count, cudaMemcpyKind kind) {
  return memcpy_from_array_async(to, from, byte, row, count, kind, nullptr);
}
cudaError_t memcpy_between_arrays(cudaArray_t to, size_t to_byte, size_t to_row, cudaArray_const_t from, size_t from_byte,
                                  size_t from_row, size_t count, cudaMemcpyKind kind) {
  std::byte* bytes = nullptr;
  if (cudaError_t result = find_bytes({from, from_byte, from_row}, count, bytes); result != cudaSuccess) return result;
  return memcpy_to_array(to, to_byte, to_row, bytes, count, kind);
}

}  // namespace

void fill_array_copies(Slots& slots) {
  MNEME_EMULATE_PTDS(cudaMemcpy2DToArray, memcpy_2d_to_array);
  MNEME_EMULATE_PTSZ(cudaMemcpy2DToArrayAsync, memcpy_2d_to_array_async);
  MNEME_EMULATE_PTDS(cudaMemcpy2DFromArray, memcpy_2d_from_array);
  MNEME_EMULATE_PTSZ(cudaMemcpy2DFromArrayAsync, memcpy_2d_from_array_async);
  MNEME_EMULATE_PTDS(cudaMemcpy2DArrayToArray, memcpy_2d_between_arrays);
  MNEME_EMULATE_PTDS(cudaMemcpyToArray, memcpy_to_array);
  MNEME_EMULATE_PTSZ(cudaMemcpyToArrayAsync, memcpy_to_array_async);
  MNEME_EMULATE_PTDS(cudaMemcpyFromArray, memcpy_from_array);
  MNEME_EMULATE_PTSZ(cudaMemcpyFromArrayAsync, memcpy_from_array_async);
  MNEME_EMULATE_PTDS(cudaMemcpyArrayToArray, memcpy_between_arrays);
}

}  // namespace mneme::emulation
