// Copies and fills of memory that is addressed by pointers.
#include <algorithm>
#include <vector>

#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

cudaStream_t to_stream(hipStream_t stream) { return std::bit_cast<cudaStream_t>(stream); }

// The driver's functions say by their names what is copied where.
template <cudaMemcpyKind kKind>
hipError_t copy(Table& table, void* to, void* from, size_t size) {
  return to_hip(MNEME_CUDA(table, cudaMemcpy)(to, from, size, kKind));
}
template <cudaMemcpyKind kKind>
hipError_t copy_async(Table& table, void* to, void* from, size_t size, hipStream_t stream) {
  return to_hip(MNEME_CUDA(table, cudaMemcpyAsync)(to, from, size, kKind, to_stream(stream)));
}

hipError_t copy_with_stream(Table& table, void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream) {
  cudaError_t code = MNEME_CUDA(table, cudaMemcpyAsync)(to, from, size, std::bit_cast<cudaMemcpyKind>(kind), to_stream(stream));
  if (code == cudaSuccess) code = MNEME_CUDA(table, cudaStreamSynchronize)(to_stream(stream));
  return to_hip(code);
}

// Copies of symbols, in the order of CUDA's parameters: HIP's are the same.
template <typename Function>
struct SymbolCopy;
template <typename... Hip>
struct SymbolCopy<hipError_t (*)(Hip...)> {
  template <mneme_hip_call kHip, mneme_call kCuda, typename CudaFunction>
  static hipError_t call(Table& table, Hip... values) {
    if (hipError_t result = set_managed_pointers(); result != hipSuccess) return finish(table, result);
    return Row<kHip, hipError_t (*)(Hip...), kCuda, CudaFunction>::call(table, values...);
  }
};
using ToSymbol = hipError_t (*)(const void*, const void*, size_t, size_t, hipMemcpyKind);
using ToSymbolAsync = hipError_t (*)(const void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t);
using FromSymbol = hipError_t (*)(void*, const void*, size_t, size_t, hipMemcpyKind);
using FromSymbolAsync = hipError_t (*)(void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t);
#define MNEME_SYMBOL_COPY(hip, cuda, slot, prototype)                                                             \
  RowHook<MNEME_CALL_##hip, &SymbolCopy<prototype>::call<MNEME_CALL_##hip, MNEME_CALL_##slot, decltype(&::cuda)>, \
          Inverse<MNEME_CALL_##hip, prototype, MNEME_CALL_##slot, decltype(&::cuda)>>

// CUDA's runtime fills by bytes only: a pattern of more is made on the host, and copied. HIP's own makes the call as it is.
constexpr size_t kPatternBytes = 1 << 20;
template <typename Element, typename Copy>
hipError_t fill(Element value, size_t count, Copy copy) {
  std::vector<Element> pattern(std::min(count, kPatternBytes / sizeof(Element)), value);
  for (size_t done = 0; done < count; done += pattern.size())
    if (cudaError_t code = copy(done * sizeof(Element), pattern.data(), std::min(pattern.size(), count - done) * sizeof(Element));
        code != cudaSuccess)
      return to_hip(code);
  return hipSuccess;
}
template <typename Element>
bool is_one_byte(Element value) {
  unsigned char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return std::all_of(std::begin(bytes), std::end(bytes), [&](unsigned char byte) { return byte == bytes[0]; });
}

template <typename Element>
hipError_t fill_elements(Table& table, hipDeviceptr_t to, Element value, size_t count) {
  if (is_one_byte(value) || table.ends_in_runtime())
    return to_hip(MNEME_CUDA(table, cudaMemset)(to, static_cast<int>(value) & 0xff, count * sizeof value));
  return fill(value, count, [&](size_t offset, const void* from, size_t bytes) {
    return MNEME_CUDA(table, cudaMemcpy)(static_cast<std::byte*>(to) + offset, from, bytes, cudaMemcpyHostToDevice);
  });
}
// What a stream captures would be a copy of memory that is gone.
template <typename Element>
hipError_t fill_elements_async(Table& table, hipDeviceptr_t to, Element value, size_t count, hipStream_t stream) {
  if (is_one_byte(value) || table.ends_in_runtime())
    return to_hip(
        MNEME_CUDA(table, cudaMemsetAsync)(to, static_cast<int>(value) & 0xff, count * sizeof value, to_stream(stream)));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (stream && MNEME_CUDA(table, cudaStreamIsCapturing)(to_stream(stream), &status) == cudaSuccess &&
      status != cudaStreamCaptureStatusNone)
    return hipErrorStreamCaptureUnsupported;
  return fill(value, count, [&](size_t offset, const void* from, size_t bytes) {
    cudaError_t code = MNEME_CUDA(table, cudaMemcpyAsync)(static_cast<std::byte*>(to) + offset, from, bytes,
                                                          cudaMemcpyHostToDevice, to_stream(stream));
    return code == cudaSuccess ? MNEME_CUDA(table, cudaStreamSynchronize)(to_stream(stream)) : code;
  });
}

using Rows =
    HookList<MNEME_ROW(hipMemcpy, cudaMemcpy), MNEME_ROW_SPT(hipMemcpy, cudaMemcpy, ptds),
             MNEME_ROW(hipMemcpyAsync, cudaMemcpyAsync), MNEME_ROW_SPT(hipMemcpyAsync, cudaMemcpyAsync, ptsz),
             MNEME_ROW(hipMemcpyPeer, cudaMemcpyPeer), MNEME_ROW(hipMemcpyPeerAsync, cudaMemcpyPeerAsync),
             MNEME_ROW(hipMemcpy2D, cudaMemcpy2D), MNEME_ROW_SPT(hipMemcpy2D, cudaMemcpy2D, ptds),
             MNEME_ROW(hipMemcpy2DAsync, cudaMemcpy2DAsync), MNEME_ROW(hipMemcpy3D, cudaMemcpy3D),
             MNEME_ROW_SPT(hipMemcpy3D, cudaMemcpy3D, ptds), MNEME_ROW(hipMemcpy3DAsync, cudaMemcpy3DAsync),
             MNEME_ROW(hipMemset, cudaMemset), MNEME_ROW_SPT(hipMemset, cudaMemset, ptds),
             MNEME_ROW(hipMemsetAsync, cudaMemsetAsync), MNEME_ROW(hipMemset2D, cudaMemset2D),
             MNEME_ROW_SPT(hipMemset2D, cudaMemset2D, ptds), MNEME_ROW(hipMemset2DAsync, cudaMemset2DAsync),
             MNEME_ROW(hipMemset3D, cudaMemset3D), MNEME_ROW_SPT(hipMemset3D, cudaMemset3D, ptds),
             MNEME_ROW(hipMemset3DAsync, cudaMemset3DAsync), MNEME_OWN(hipMemcpyWithStream, copy_with_stream),
             MNEME_SYMBOL_COPY(hipMemcpyToSymbol, cudaMemcpyToSymbol, cudaMemcpyToSymbol, ToSymbol),
             MNEME_SYMBOL_COPY(hipMemcpyToSymbol_spt, cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds, ToSymbol),
             MNEME_SYMBOL_COPY(hipMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync, ToSymbolAsync),
             MNEME_SYMBOL_COPY(hipMemcpyFromSymbol, cudaMemcpyFromSymbol, cudaMemcpyFromSymbol, FromSymbol),
             MNEME_SYMBOL_COPY(hipMemcpyFromSymbol_spt, cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds, FromSymbol),
             MNEME_SYMBOL_COPY(hipMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync, FromSymbolAsync),
             MNEME_OWN_THROUGH(hipMemcpyHtoD, copy<cudaMemcpyHostToDevice>, cudaMemcpy),
             MNEME_OWN_THROUGH(hipMemcpyDtoH, copy<cudaMemcpyDeviceToHost>, cudaMemcpy),
             MNEME_OWN_THROUGH(hipMemcpyDtoD, copy<cudaMemcpyDeviceToDevice>, cudaMemcpy),
             MNEME_OWN_THROUGH(hipMemcpyHtoDAsync, copy_async<cudaMemcpyHostToDevice>, cudaMemcpyAsync),
             MNEME_OWN_THROUGH(hipMemcpyDtoHAsync, copy_async<cudaMemcpyDeviceToHost>, cudaMemcpyAsync),
             MNEME_OWN_THROUGH(hipMemcpyDtoDAsync, copy_async<cudaMemcpyDeviceToDevice>, cudaMemcpyAsync),
             MNEME_OWN_THROUGH(hipMemsetD8, fill_elements<unsigned char>, cudaMemset),
             MNEME_OWN_THROUGH(hipMemsetD16, fill_elements<unsigned short>, cudaMemset),
             MNEME_OWN_THROUGH(hipMemsetD32, fill_elements<int>, cudaMemset),
             MNEME_OWN_THROUGH(hipMemsetD8Async, fill_elements_async<unsigned char>, cudaMemsetAsync),
             MNEME_OWN_THROUGH(hipMemsetD16Async, fill_elements_async<unsigned short>, cudaMemsetAsync),
             MNEME_OWN_THROUGH(hipMemsetD32Async, fill_elements_async<int>, cudaMemsetAsync)>;

}  // namespace

void install_copies(const Table& table) { install_both_ways<Rows>(table); }

}  // namespace mneme::hip
