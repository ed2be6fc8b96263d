// Calls that write memory and are neither allocations nor launches: while a launch is being captured, those of other threads
// wait, since what they write would look as if the kernel had written it.
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

template <mneme_driver_call kSlot, typename F>
struct Waiting;
template <mneme_driver_call kSlot, typename... A>
struct Waiting<kSlot, CUresult(A...)> {
  static CUresult call(A... arguments) {
    Gate::Use use(recorder()->gate());
    return next<kSlot, CUresult (*)(A...)>(arguments...);
  }
};

// `like` is the function whose signature it has, by the name that programs write. The variant for per-thread default streams has
// the same signature.
#define MNEME_WAIT(name, suffix, like)                                                        \
  hook(MNEME_DRIVER_CALL_##name, &Waiting<MNEME_DRIVER_CALL_##name, decltype(::like)>::call), \
      hook(MNEME_DRIVER_CALL_##name##suffix, &Waiting<MNEME_DRIVER_CALL_##name##suffix, decltype(::like)>::call)

// As CUDA 12 had them.
using OldBatch = CUresult(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*, size_t*, size_t, size_t*, CUstream);
using OldBatch3D = CUresult(size_t, CUDA_MEMCPY3D_BATCH_OP*, size_t*, unsigned long long, CUstream);

#define MNEME_WAIT_AS(name, suffix, type)                                         \
  hook(MNEME_DRIVER_CALL_##name, &Waiting<MNEME_DRIVER_CALL_##name, type>::call), \
      hook(MNEME_DRIVER_CALL_##name##suffix, &Waiting<MNEME_DRIVER_CALL_##name##suffix, type>::call)

}  // namespace

std::vector<DriverHook> write_hooks() {
  return {
      MNEME_WAIT(cuMemcpy, _ptds, cuMemcpy),
      MNEME_WAIT(cuMemcpyAsync, _ptsz, cuMemcpyAsync),
      MNEME_WAIT(cuMemcpyPeer, _ptds, cuMemcpyPeer),
      MNEME_WAIT(cuMemcpyPeerAsync, _ptsz, cuMemcpyPeerAsync),
      MNEME_WAIT(cuMemcpyHtoD_v2, _ptds, cuMemcpyHtoD),
      MNEME_WAIT(cuMemcpyHtoDAsync_v2, _ptsz, cuMemcpyHtoDAsync),
      MNEME_WAIT(cuMemcpyDtoD_v2, _ptds, cuMemcpyDtoD),
      MNEME_WAIT(cuMemcpyDtoDAsync_v2, _ptsz, cuMemcpyDtoDAsync),
      MNEME_WAIT(cuMemcpyDtoH_v2, _ptds, cuMemcpyDtoH),
      MNEME_WAIT(cuMemcpyDtoHAsync_v2, _ptsz, cuMemcpyDtoHAsync),
      MNEME_WAIT(cuMemcpyDtoA_v2, _ptds, cuMemcpyDtoA),
      MNEME_WAIT(cuMemcpyHtoA_v2, _ptds, cuMemcpyHtoA),
      MNEME_WAIT(cuMemcpyHtoAAsync_v2, _ptsz, cuMemcpyHtoAAsync),
      MNEME_WAIT(cuMemcpyAtoA_v2, _ptds, cuMemcpyAtoA),
      MNEME_WAIT(cuMemcpyAtoD_v2, _ptds, cuMemcpyAtoD),
      MNEME_WAIT(cuMemcpy2D_v2, _ptds, cuMemcpy2D),
      MNEME_WAIT(cuMemcpy2DUnaligned_v2, _ptds, cuMemcpy2DUnaligned),
      MNEME_WAIT(cuMemcpy2DAsync_v2, _ptsz, cuMemcpy2DAsync),
      MNEME_WAIT(cuMemcpy3D_v2, _ptds, cuMemcpy3D),
      MNEME_WAIT(cuMemcpy3DAsync_v2, _ptsz, cuMemcpy3DAsync),
      MNEME_WAIT(cuMemcpy3DPeer, _ptds, cuMemcpy3DPeer),
      MNEME_WAIT(cuMemcpy3DPeerAsync, _ptsz, cuMemcpy3DPeerAsync),
      MNEME_WAIT(cuMemsetD8_v2, _ptds, cuMemsetD8),
      MNEME_WAIT(cuMemsetD16_v2, _ptds, cuMemsetD16),
      MNEME_WAIT(cuMemsetD32_v2, _ptds, cuMemsetD32),
      MNEME_WAIT(cuMemsetD2D8_v2, _ptds, cuMemsetD2D8),
      MNEME_WAIT(cuMemsetD2D16_v2, _ptds, cuMemsetD2D16),
      MNEME_WAIT(cuMemsetD2D32_v2, _ptds, cuMemsetD2D32),
      MNEME_WAIT(cuMemsetD8Async, _ptsz, cuMemsetD8Async),
      MNEME_WAIT(cuMemsetD16Async, _ptsz, cuMemsetD16Async),
      MNEME_WAIT(cuMemsetD32Async, _ptsz, cuMemsetD32Async),
      MNEME_WAIT(cuMemsetD2D8Async, _ptsz, cuMemsetD2D8Async),
      MNEME_WAIT(cuMemsetD2D16Async, _ptsz, cuMemsetD2D16Async),
      MNEME_WAIT(cuMemsetD2D32Async, _ptsz, cuMemsetD2D32Async),
      MNEME_WAIT_AS(cuMemcpyBatchAsync, _ptsz, OldBatch),
      MNEME_WAIT(cuMemcpyBatchAsync_v2, _ptsz, cuMemcpyBatchAsync),
      MNEME_WAIT_AS(cuMemcpy3DBatchAsync, _ptsz, OldBatch3D),
      MNEME_WAIT(cuMemcpy3DBatchAsync_v2, _ptsz, cuMemcpy3DBatchAsync),
      MNEME_WAIT(cuMemcpyAtoH_v2, _ptds, cuMemcpyAtoH),
      MNEME_WAIT(cuMemcpyAtoHAsync_v2, _ptsz, cuMemcpyAtoHAsync),
      MNEME_WAIT(cuStreamWriteValue32, _ptsz, cuStreamWriteValue32),
      MNEME_WAIT(cuStreamWriteValue32_v2, _ptsz, cuStreamWriteValue32),
      MNEME_WAIT(cuStreamWriteValue64, _ptsz, cuStreamWriteValue64),
      MNEME_WAIT(cuStreamWriteValue64_v2, _ptsz, cuStreamWriteValue64),
      MNEME_WAIT(cuStreamBatchMemOp, _ptsz, cuStreamBatchMemOp),
      MNEME_WAIT(cuStreamBatchMemOp_v2, _ptsz, cuStreamBatchMemOp),
      MNEME_WAIT(cuMemBatchDecompressAsync, _ptsz, cuMemBatchDecompressAsync),
      MNEME_WAIT(cuMemDiscardBatchAsync, _ptsz, cuMemDiscardBatchAsync),
      MNEME_WAIT(cuMemDiscardAndPrefetchBatchAsync, _ptsz, cuMemDiscardAndPrefetchBatchAsync),
  };
}

}  // namespace mneme::driver
