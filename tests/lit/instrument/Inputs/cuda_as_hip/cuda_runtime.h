// What the tests' CUDA programs use of CUDA, by HIP's names: one source for both vendors.
#pragma once
#include <hip/hip_runtime.h>
#define cudaMalloc (void)hipMalloc
