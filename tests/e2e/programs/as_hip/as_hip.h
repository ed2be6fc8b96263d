// CUDA's names for HIP, so that the programs of the tests are HIP programs as they are: included before each. The other headers
// here are for AMD's platform alone.
#pragma once

#include <hip/hip_runtime.h>
// Behind it, since it needs it.
#include <hip/hip_cooperative_groups.h>

#define cudaError_t hipError_t
#define cudaFree hipFree
#define cudaFreeHost hipHostFree
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaGetSymbolAddress(pointer, symbol) hipGetSymbolAddress(pointer, HIP_SYMBOL(symbol))
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaLaunchCooperativeKernel hipLaunchCooperativeKernel
#define cudaMalloc hipMalloc
#define cudaMallocManaged hipMallocManaged
#define cudaMemcpy hipMemcpy
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyFromSymbol(to, symbol, ...) hipMemcpyFromSymbol(to, HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyToSymbol(symbol, ...) hipMemcpyToSymbol(HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemset hipMemset
#define cudaStreamBeginCapture hipStreamBeginCapture
#define cudaStreamCaptureModeGlobal hipStreamCaptureModeGlobal
#define cudaStreamCreate hipStreamCreate
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamEndCapture hipStreamEndCapture
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStream_t hipStream_t
#define cudaSuccess hipSuccess
#define cudaGraphExec_t hipGraphExec_t
#define cudaGraphInstantiate(executable, graph, flags) hipGraphInstantiate(executable, graph, nullptr, nullptr, flags)
#define cudaGraphLaunch hipGraphLaunch
#define cudaGraph_t hipGraph_t

#ifdef __HIP_PLATFORM_AMD__
#define cudaStreamPerThread hipStreamPerThread
// Warps of 32 threads are halves of a wavefront.
#define __shfl_down_sync(mask, value, by) __shfl_down(value, by, 32)
#endif
