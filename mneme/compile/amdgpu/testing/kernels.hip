// Kernels of the tests, compiled by clang without ROCm's headers: of the size of what programs have, and each with something that
// AMD's target has a way of its own for.
typedef unsigned int uint;

#define GLOBAL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define CONSTANT __attribute__((constant))
#define SHARED __attribute__((shared))

DEVICE uint thread_x() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE uint index_x() { return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + thread_x(); }
DEVICE void synchronise() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// ROCm's device libraries.
extern "C" DEVICE float __ocml_sin_f32(float);
extern "C" DEVICE double __ocml_pow_f64(double, double);

DEVICE int counter;
CONSTANT float table[16];

GLOBAL void vector_add(float* a, const float* b, int n) {
  const int i = index_x();
  if (i < n) a[i] += b[i];
}

GLOBAL void global_variables(float* a, int n) {
  const int i = index_x();
  if (i < n) a[i] *= table[i & 15];
  if (i == 0) counter += n;
}

GLOBAL void reduction(float* sums, const float* values) {
  SHARED float tile[256];
  const uint t = thread_x();
  tile[t] = values[index_x()];
  synchronise();
  for (uint half = 128; half != 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    synchronise();
  }
  if (t == 0) sums[__builtin_amdgcn_workgroup_id_x()] = tile[0];
}

extern SHARED float dynamic_tile[];
GLOBAL void dynamic_shared(float* a) {
  dynamic_tile[thread_x()] = a[index_x()];
  synchronise();
  a[index_x()] = dynamic_tile[thread_x() ^ 1];
}

GLOBAL void cross_lane(int* a) {
  const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  a[index_x()] = __builtin_amdgcn_ds_bpermute(4 * (lane ^ 1), a[index_x()]) + __builtin_amdgcn_readfirstlane(a[0]);
}

GLOBAL void atomics(int* sum, float* most, int n) {
  __hip_atomic_fetch_add(sum, n, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(most, n * 0.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

struct Parameters {
  double* out;
  int n, stride;
  double scale[3];
};
GLOBAL void structure(Parameters p, float factor) {
  for (int i = index_x(); i < p.n; i += p.stride) p.out[i] = p.scale[i % 3] * factor;
}

GLOBAL void mathematics(float* a, double* b) {
  const uint i = index_x();
  a[i] = __ocml_sin_f32(a[i]);
  b[i] = __ocml_pow_f64(b[i], 2.5);
}

GLOBAL void dimensions(uint* out) {
  const uint t = __builtin_amdgcn_workitem_id_z() * __builtin_amdgcn_workgroup_size_y() + __builtin_amdgcn_workitem_id_y();
  const uint groups = *(const uint __attribute__((address_space(4)))*)__builtin_amdgcn_implicitarg_ptr();
  out[t] = __builtin_amdgcn_grid_size_x() + groups;
}

// Many values that live at once.
GLOBAL __attribute__((amdgpu_flat_work_group_size(1, 256), amdgpu_waves_per_eu(2))) void many_registers(float* a, const float* b) {
  float x[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i] = b[i * 256 + thread_x()];
  synchronise();
#pragma unroll
  for (int i = 0; i < 96; ++i) a[i * 256 + thread_x()] = x[i] * x[95 - i] + x[(i * 7) % 96];
}

__attribute__((device, noinline)) float called(float x, int depth) { return depth == 0 ? x : called(x * 0.5f, depth - 1) + 1; }
GLOBAL void recursion(float* a, int depth) { a[thread_x()] = called(a[thread_x()], depth); }
