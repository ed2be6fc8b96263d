// Compiled with different definitions by hash/stable.test.
#include <cassert>
#ifndef CALLEE
#define CALLEE 3
#endif
#ifdef EDIT
__device__ int new_counter;
struct NewType { int a; double b; };
__device__ double new_function(NewType t) { return t.a + t.b + new_counter++; }
template <class T> __device__ T new_template(T x) { return x + T(new_function({1, 2})); }
__global__ void new_kernel(double* p) { *p = new_template(*p) + sin(*p); printf("new %f\n", *p); }
#endif
struct Grid {
  int n;
  double step;
};
__constant__ double coefficients[4];
static __device__ int visits;
static __device__ int callee(int x) {
  for (int i = 0; i < x; ++i) ++visits;
  return x > 2 ? x * CALLEE : x;
}
#ifdef RENAME
#define local renamed_local
#define helper renamed_helper
#endif
__device__ double helper(double x) {
  bool positive = x > 0;
  double local = positive ? sin(x) : cos(x);
  assert(x != 1);
  return local * coefficients[1];
}
#undef local
__global__ void before(int* p) { *p = callee(1); }
#ifdef REORDER
namespace { __global__ void hidden(int* p) { *p = callee(*p); } }
#endif
__global__ __launch_bounds__(256) void subject(double* p, Grid grid, int n) {
  __shared__ double tile[32];
  static const int table[3] = {1, 2, 3};
  auto square = [=](double x) { return x * x + n; };
  tile[threadIdx.x] = helper(p[n]) + callee(grid.n) + square(grid.step);
  __syncthreads();
#pragma unroll 4
  for (int i = 0; i < table[n]; ++i) p[i] += tile[i];
  printf("%d\n", n);
}
template <class F> __global__ void apply(F f) { f(threadIdx.x); }
static __global__ void twin(int* p) { *p = 1; }
#ifndef REORDER
namespace { __global__ void hidden(int* p) { *p = callee(*p); } }
#endif
void user(int* p) {
  hidden<<<1, 1>>>(p);
  twin<<<1, 1>>>(p);
  apply<<<1, 1>>>([=] __device__(int i) { p[i] = i; });
  cudaMemcpyToSymbol(coefficients, p, 8);
}
