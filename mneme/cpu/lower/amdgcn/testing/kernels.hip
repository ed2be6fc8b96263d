// Kernels of the tests, which clang compiles to LLVM IR for AMD GPUs while Mneme is built.
#include <hip/hip_runtime.h>
// Behind it, since it needs it.
#include <hip/hip_cooperative_groups.h>

#include <cassert>

#ifndef __AMDGCN_WAVEFRONT_SIZE
#define __AMDGCN_WAVEFRONT_SIZE __AMDGCN_WAVEFRONT_SIZE__
#endif

#define KERNEL extern "C" __global__ void

KERNEL add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

struct Numbers {
  char first;
  double values[3];
  short last;
};
KERNEL by_value(char tag, Numbers numbers, double* out) {
  numbers.values[1] += threadIdx.x;
  out[threadIdx.x] = tag + numbers.first + numbers.values[threadIdx.x % 3] + numbers.last;
}

// Everything that a work-item knows of its place, as ten words.
KERNEL places(unsigned* out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned* mine = out + 10 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
  mine[0] = threadIdx.x, mine[1] = threadIdx.y, mine[2] = threadIdx.z;
  mine[3] = blockIdx.x, mine[4] = blockIdx.y, mine[5] = blockIdx.z;
  mine[6] = gridDim.x, mine[7] = gridDim.y, mine[8] = gridDim.z;
  mine[9] = warpSize;
}

__device__ int counter = 5;
__constant__ int table[4] = {10, 20, 30, 40};
KERNEL globals(int* out) {
  out[threadIdx.x] = table[threadIdx.x & 3];
  if (threadIdx.x == 0) out[0] += counter++;
}

// A local array that stays one, of which pointers go through memory.
struct Node {
  int value;
  Node* next;
};
__device__ __attribute__((noinline)) int sum_of(const Node* node) {
  int sum = 0;
  for (; node; node = node->next) sum += node->value;
  return sum;
}
KERNEL private_memory(int* out, int count) {
  Node nodes[8];
  for (int i = 0; i < count; ++i) nodes[i] = {static_cast<int>(threadIdx.x) + i, i + 1 < count ? &nodes[i + 1] : nullptr};
  out[threadIdx.x] = sum_of(nodes);
}

KERNEL reverse(const float* in, float* out) {
  __shared__ float tile[256];
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

KERNEL block_sum(const int* in, int* out) {
  __shared__ int partial[256];
  const unsigned t = threadIdx.x;
  partial[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) partial[t] += partial[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

KERNEL dynamic_lds(int* out, int n) {
  extern __shared__ int words[];
  __shared__ int fixed[3];
  if (threadIdx.x < 3) fixed[threadIdx.x] = 100 * threadIdx.x;
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[(threadIdx.x + 1) % n] + fixed[threadIdx.x % 3];
}

// Values that go from lane to lane through LDS with no barrier: a wave runs in lockstep.
KERNEL in_step(int* out) {
  __shared__ int tile[4][16];
  const int column = threadIdx.x % 4, row = threadIdx.x / 4 % 4, first = threadIdx.x / 16 * 4;
  for (int i = 0; i < 3; ++i) {
    tile[row][first + column] = threadIdx.x + 100 * i;
    out[i * blockDim.x + threadIdx.x] = tile[column][first + row];
    tile[column][first + row] += 1000;
    out[(3 + i) * blockDim.x + threadIdx.x] = tile[row][first + column];
  }
}

// Pointers of 32 bits in registers, in memory, as integers, and null.
typedef __attribute__((address_space(3))) int lds_int;
struct Places {
  lds_int* where[2];
  int tag;
};
KERNEL lds_pointers(int* out) {
  __shared__ int cells[64];
  __shared__ Places places;
  cells[threadIdx.x] = 7 * threadIdx.x;
  if (threadIdx.x == 0) places = {{(lds_int*)&cells[3], (lds_int*)nullptr}, 11};
  __syncthreads();
  int result = sizeof(Places) * 1000 + places.tag;
  if (places.where[0]) result += *(places.where[0] + threadIdx.x % 4);
  if (!places.where[1]) result += 100000;
  const unsigned number = (unsigned)(unsigned long)(lds_int*)&cells[threadIdx.x];
  result += *((lds_int*)(unsigned long)(number - 4 * (threadIdx.x % 2)));
  if ((int*)places.where[1] == nullptr) result += 200000;
  out[threadIdx.x] = result;
}

// Sums over a wave by shuffles, with lanes of several waves.
KERNEL wave_sum(const int* in, int* out) {
  int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = warpSize / 2; step > 0; step /= 2) value += __shfl_down(value, step);
  if (threadIdx.x % warpSize == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / warpSize] = value;
}

KERNEL shuffles(int* out) {
  const int t = threadIdx.x, n = blockDim.x, value = 1000 + t;
  out[t] = __shfl(value, (t + 3) % warpSize);
  out[n + t] = __shfl_up(value, 2);
  out[2 * n + t] = __shfl_xor(value, 5);
  out[3 * n + t] = __shfl(value, 1, 8);
  out[4 * n + t] = (int)(__shfl_down(value * 1.5, 1) * 2);
}

KERNEL votes(const int* in, unsigned long long* out) {
  const int t = threadIdx.x, value = in[t];
  out[4 * t] = __ballot(value > 3);
  out[4 * t + 1] = __any(value > 3) + 2 * __all(value > 3);
  out[4 * t + 2] = __lane_id();
  unsigned long long odd = 0;
  if (t % 2 == 1) odd = __ballot(1);
  out[4 * t + 3] = odd;
}

// Lanes that take different ways, more than once, and come together again.
KERNEL divergent(const int* in, int* out) {
  const int t = threadIdx.x;
  int result = 0;
  if (in[t] % 3 == 0) {
    result = __popcll(__ballot(1));
  } else if (in[t] % 3 == 1) {
    result = 100 + __popcll(__ballot(1));
  }
  for (int i = 0; i < in[t] % 5; ++i) result += 1000 * __popcll(__ballot(1));
  out[t] = result;
  out[blockDim.x + t] = __popcll(__ballot(1));
}
// A function that is called in two places.
__device__ __attribute__((noinline)) int how_many() { return __popcll(__ballot(1)); }
KERNEL two_calls(int* out) {
  const int t = threadIdx.x;
  if (t % 4 == 0)
    out[t] = how_many();
  else
    out[t] = 100 + how_many();
}

#define DPP(control, rows, banks, bound) __builtin_amdgcn_update_dpp(-1, value, control, rows, banks, bound)
KERNEL dpp(int* out) {
  const int t = threadIdx.x, n = blockDim.x, value = t;
  int k = 0;
  out[n * k++ + t] = DPP(0x1b, 0xf, 0xf, false);   // quads reversed
  out[n * k++ + t] = DPP(0x103, 0xf, 0xf, false);  // row_shl:3
  out[n * k++ + t] = DPP(0x112, 0xf, 0xf, true);   // row_shr:2, zero outside
  out[n * k++ + t] = DPP(0x121, 0xf, 0xf, false);  // row_ror:1
  out[n * k++ + t] = DPP(0x140, 0x5, 0xf, false);  // row_mirror, rows 0 and 2
  out[n * k++ + t] = DPP(0x141, 0xf, 0x3, false);  // row_half_mirror, banks 0 and 1
#if __AMDGCN_WAVEFRONT_SIZE == 64
  out[n * k++ + t] = DPP(0x142, 0xa, 0xf, false);  // row_bcast:15
  out[n * k++ + t] = DPP(0x143, 0xc, 0xf, false);  // row_bcast:31
  out[n * k++ + t] = DPP(0x138, 0xf, 0xf, false);  // wave_shr:1
#else
  out[n * k++ + t] = DPP(0x155, 0xf, 0xf, false);  // row_share:5
  out[n * k++ + t] = DPP(0x163, 0xf, 0xf, false);  // row_xmask:3
  out[n * k++ + t] = __builtin_amdgcn_permlanex16(-1, value, 0x76543210, 0xfedcba98, false, false);
#endif
}

KERNEL lanes(int* out) {
  const int t = threadIdx.x, n = blockDim.x;
  out[t] = __builtin_amdgcn_readfirstlane(t + 7);
  out[n + t] = __builtin_amdgcn_readlane(3 * t, 9);
  out[2 * n + t] = __builtin_amdgcn_ds_permute(4 * ((t + 5) % warpSize), t);
  out[3 * n + t] = __builtin_amdgcn_ds_swizzle(t, 0x041f);  // lane ^ 1
  out[4 * n + t] = __builtin_amdgcn_ds_swizzle(t, 0x80e4 ^ 0xff);
  out[5 * n + t] = t % 2 ? __builtin_amdgcn_readfirstlane(t) : -1;
  __shared__ int cell[1024];
  cell[t] = t;
  __builtin_amdgcn_wave_barrier();
  out[6 * n + t] = cell[t ^ 7];
}
KERNEL lane_elsewhere(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x % 2) value = __builtin_amdgcn_readlane(value, 4);
  out[threadIdx.x] = value + __builtin_amdgcn_readfirstlane(value);
}

// Atomic updates of memory, of LDS and through generic pointers, with scopes.
KERNEL atomics(int* words, float* reals, double* doubles, unsigned* scoped) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&words[0], t);
  atomicMax(&words[1], t);
  atomicMin(&words[2], -t);
  atomicOr(&words[3], 1 << (t % 31));
  atomicXor(&words[4], t);
  atomicExch(&words[5], t);
  int seen = words[6], old;
  do {
    old = seen;
    seen = atomicCAS(&words[6], old, old + 2);
  } while (seen != old);
  atomicAdd(reals, 0.5f);
  atomicAdd(doubles, 0.25);
  __hip_atomic_fetch_add(&scoped[0], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(&scoped[1], 1u, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_fetch_max(&scoped[2], (unsigned)t, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
}

KERNEL histogram(const int* in, unsigned* bins) {
  __shared__ unsigned own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[in[blockIdx.x * blockDim.x + threadIdx.x] & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// Each block waits for the one before it.
KERNEL in_turn(volatile int* turn, int* order) {
  if (threadIdx.x == 0) {
    while (*turn != (int)blockIdx.x) __builtin_amdgcn_s_sleep(1);
    order[blockIdx.x] = blockIdx.x * 3;
    __threadfence();
    *turn = blockIdx.x + 1;
  }
  __syncthreads();
}

#define EACH_UNARY(F)                                                                                                            \
  F(sin)                                                                                                                         \
  F(cos) F(tan) F(asin) F(acos) F(atan) F(exp) F(exp2) F(log) F(log2) F(log10) F(log1p) F(sqrt) F(cbrt) F(tanh) F(erf) F(tgamma) \
      F(floor)
KERNEL math_of_floats(const float* in, float* out, int n) {
  const int t = threadIdx.x;
  int k = 0;
#define F(name) out[n * k++ + t] = name##f(in[t]);
  EACH_UNARY(F)
#undef F
  out[n * k++ + t] = powf(in[t], 1.7f);
  out[n * k++ + t] = atan2f(in[t], 0.3f);
  out[n * k++ + t] = fmodf(100.0f, in[t]);
  out[n * k++ + t] = hypotf(in[t], 2.0f);
  out[n * k++ + t] = sinf(in[t] * 1e9f);
  out[n * k++ + t] = ldexpf(in[t], 5);
  out[n * k++ + t] = rsqrtf(in[t]);
}
KERNEL math_of_doubles(const double* in, double* out, int n) {
  const int t = threadIdx.x;
  int k = 0;
#define F(name) out[n * k++ + t] = name(in[t]);
  EACH_UNARY(F)
#undef F
  out[n * k++ + t] = pow(in[t], 1.7);
  out[n * k++ + t] = atan2(in[t], 0.3);
  out[n * k++ + t] = fmod(100.0, in[t]);
  out[n * k++ + t] = hypot(in[t], 2.0);
  out[n * k++ + t] = sin(in[t] * 1e30);
  out[n * k++ + t] = ldexp(in[t], 5);
  out[n * k++ + t] = rsqrt(in[t]);
}

KERNEL float_instructions(const float* in, float* out, int n) {
  const int t = threadIdx.x;
  const float x = in[t];
  int k = 0;
  out[n * k++ + t] = __builtin_amdgcn_rcpf(x);
  out[n * k++ + t] = __builtin_amdgcn_rsqf(x);
  out[n * k++ + t] = __builtin_amdgcn_sinf(x);
  out[n * k++ + t] = __builtin_amdgcn_cosf(x);
  out[n * k++ + t] = __builtin_amdgcn_fractf(x);
  out[n * k++ + t] = __builtin_amdgcn_frexp_mantf(x);
  out[n * k++ + t] = __builtin_amdgcn_frexp_expf(x);
  out[n * k++ + t] = __builtin_amdgcn_fmed3f(x, 0.5f, 2.0f);
  out[n * k++ + t] = __builtin_amdgcn_classf(x, 0x3c0);  // zero or positive
  auto halves = __builtin_amdgcn_cvt_pkrtz(x, -x);
  out[n * k++ + t] = (float)halves[0] - (float)halves[1];
  out[n * k++ + t] = __builtin_amdgcn_logf(x);
  out[n * k++ + t] = __builtin_amdgcn_exp2f(x);
}

KERNEL bit_instructions(const unsigned* in, unsigned* out, int n) {
  const int t = threadIdx.x;
  const unsigned a = in[t], b = in[t + 1], c = in[t + 2];
  int k = 0;
  out[n * k++ + t] = __builtin_amdgcn_perm(a, b, 0x0c0d0804 + t % 8);
  out[n * k++ + t] = __builtin_amdgcn_ubfe(a, b, c);
  out[n * k++ + t] = __builtin_amdgcn_sbfe(a, b, c);
  out[n * k++ + t] = __builtin_amdgcn_sad_u8(a, b, c);
  out[n * k++ + t] = __builtin_amdgcn_sad_u16(a, b, c);
  out[n * k++ + t] = __builtin_amdgcn_msad_u8(a, b, c);
  out[n * k++ + t] = __builtin_amdgcn_lerp(a, b, c);
  out[n * k++ + t] = __builtin_amdgcn_alignbyte(a, b, c);
#ifdef __gfx1100__
  out[n * k++ + t] = __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#else
  out[n * k++ + t] = __builtin_amdgcn_sdot4(a, b, c, false);
#endif
  out[n * k++ + t] = __builtin_amdgcn_udot4(a, b, c, true);
  out[n * k++ + t] = __builtin_amdgcn_cvt_pk_u8_f32(a % 300, b % 4, c);
  out[n * k++ + t] = a << (b % 64);
}

KERNEL matrix(float* out) {
#if __gfx90a__
  typedef float many __attribute__((ext_vector_type(16)));
  many sum = {};
  sum = __builtin_amdgcn_mfma_f32_16x16x1f32(1.0f, 2.0f, sum, 0, 0, 0);
  out[threadIdx.x] = sum[0];
#endif
}
KERNEL unknown_assembly(int* out) {
  int value;
  asm volatile("v_bfrev_b32 %0, %1" : "=v"(value) : "v"(out[0]));
  out[threadIdx.x] = value;
}
KERNEL known_assembly(int* out) {
  int value = threadIdx.x;
  asm volatile("; keeps %0" : "+v"(value));
  asm volatile("s_waitcnt vmcnt(0)\n s_nop 1 ; idle" ::: "memory");
  int moved;
  asm volatile("v_mov_b32 %0, %1" : "=v"(moved) : "v"(value));
  out[threadIdx.x] = moved;
}
KERNEL addresses(int* out) {
  __shared__ int cell;
  int own = threadIdx.x;
  int* volatile places[3] = {&cell, &own, out};
  int result = 0;
  for (int i = 0; i < 3; ++i)
    result = 10 * result + __builtin_amdgcn_is_shared(places[i]) + 2 * __builtin_amdgcn_is_private(places[i]);
  out[threadIdx.x] = result;
}
KERNEL packet(unsigned* out) {
  const auto* dispatch = (const __attribute__((address_space(4))) unsigned short*)__builtin_amdgcn_dispatch_ptr();
  out[0] = dispatch[2];
  out[1] = __builtin_amdgcn_grid_size_y();
  out[2] = __builtin_amdgcn_workgroup_size_x();
  out[3] = __builtin_amdgcn_groupstaticsize();
}

KERNEL prints(int n, const char* word) {
  if (threadIdx.x == 1) printf("%d of %s: %5.2f, %c, %lld%%\n", n, word, 2.5, 'x', 1234567890123ll);
  if (threadIdx.x == 2) printf("plain\n");
}
KERNEL asserts(int n) { assert(n > 3 && "small"); }
KERNEL allocates(int** out, int n) {
  int* cells = (int*)malloc(n * sizeof(int));
  for (int i = 0; i < n; ++i) cells[i] = i * threadIdx.x;
  int* others = new int[n];
  others[0] = cells[n - 1];
  out[threadIdx.x][0] = others[0];
  free(cells);
  delete[] others;
}

KERNEL whole_grid(int* values, int* out) {
  const auto grid = cooperative_groups::this_grid();
  values[grid.thread_rank()] = 3 * grid.thread_rank();
  grid.sync();
  out[grid.thread_rank()] = values[(grid.thread_rank() + blockDim.x) % grid.size()];
  grid.sync();
  const auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
  values[grid.thread_rank()] = tile.shfl_xor((int)threadIdx.x, 3);
}

// Places within variables of LDS that are constant.
KERNEL constant_places(int* out, int which) {
  __shared__ int cells[4][16];
  if (threadIdx.x < 16) cells[2][threadIdx.x] = threadIdx.x, cells[3][threadIdx.x] = 50 + threadIdx.x;
  __syncthreads();
  const int* place = which ? &cells[2][5] : &cells[3][1];
  out[threadIdx.x] = *place + cells[2][7] + cells[3][2];
}

// What the language has beside kernels: virtual functions, recursion, copies of memory.
struct Shape {
  virtual __device__ int area() const { return 1; }
};
struct Square : Shape {
  __device__ Square(int side) : side(side) {}
  __device__ int area() const override { return side * side; }
  int side;
};
__device__ __attribute__((noinline)) int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
KERNEL language(int* out, const int* in) {
  const Shape unit;
  const Square square(threadIdx.x);
  const Shape* shape = in[0] ? (const Shape*)&square : &unit;
  int copy[8];
  memcpy(copy, in, sizeof copy);
  out[threadIdx.x] = shape->area() + factorial(in[1]) + copy[threadIdx.x % 8];
}

typedef _Float16 halves __attribute__((ext_vector_type(2)));
KERNEL more_atomics(unsigned* words, _Float16* numbers, halves* pairs) {
  atomicInc(&words[0], 5);
  atomicDec(&words[1], 5);
#ifdef __gfx90a__
  __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) halves*)pairs, halves{1, 2});
#else
  if (threadIdx.x == 0) *pairs = halves{64, 128};
#endif
  numbers[threadIdx.x] = numbers[threadIdx.x] * __builtin_amdgcn_rcph(numbers[threadIdx.x]) + (_Float16)0.5f;
}

KERNEL times(unsigned long long* out) {
  out[0] = clock64();
  out[1] = __builtin_readsteadycounter();
  for (int i = 0; i < 100; ++i) __builtin_amdgcn_s_sleep(1);
  out[2] = clock64();
  out[3] = __builtin_readsteadycounter();
}

// Images: what one texture is, read as an image of every geometry that HIP's headers have.
KERNEL samples(hipTextureObject_t t, float* out) {
  const float2 none = make_float2(0, 0), two = make_float2(2, 0);
  int n = 0;
  out[n++] = tex1D<float>(t, 2.5f);
  out[n++] = tex2D<float>(t, 1.5f, 2.5f);
  out[n++] = tex3D<float>(t, 1.5f, 2.5f, 3.5f);
  out[n++] = tex1DLayered<float>(t, 3.5f, 2);
  out[n++] = tex2DLayered<float>(t, 3.5f, 1.5f, 11);
  out[n++] = texCubemap<float>(t, -1, 0, 0);
  out[n++] = texCubemapLayered<float>(t, 0, 0, 1, 1);
  out[n++] = tex1DLod<float>(t, 0.5f, 1);
  out[n++] = tex2DLod<float>(t, 0.5f, 0.5f, 1);
  out[n++] = tex3DLod<float>(t, 0.5f, 0.5f, 0.5f, 1);
  out[n++] = texCubemapLod<float>(t, 1, 0, 0, 1);
  out[n++] = texCubemapLayeredLod<float>(t, 1, 0, 0, 1, 1);
  out[n++] = tex1DGrad<float>(t, 0.5f, 2, 0);
  out[n++] = tex2DGrad<float>(t, 0.5f, 0.5f, none, two);
  out[n++] = tex1DLayeredGrad<float>(t, 0.5f, 1, 0, 2);
  out[n++] = tex2DLayeredGrad<float>(t, 0.5f, 0.5f, 1, two, none);
  out[n++] = tex3DGrad<float>(t, 0.5f, 0.5f, 0.5f, make_float4(0, 0, 2, 0), make_float4(0, 0, 0, 0));
  out[n++] = tex1Dfetch<float>(t, 3);
  out[n++] = tex1Dfetch<float>(t, 4);
  out[n++] = tex1Dfetch<float>(t, -1);
}

KERNEL gathers(hipTextureObject_t t, float4* out) {
  // The headers' own function counts the components from 1.
  auto* const i = (unsigned __attribute__((address_space(4)))*)t;
  const auto at = make_float2(2, 1).data;
  out[0].data = __ockl_image_gather4r_2D(i, i, at);
  out[1].data = __ockl_image_gather4g_2D(i, i, at);
  out[2].data = __ockl_image_gather4b_2D(i, i, at);
  out[3].data = __ockl_image_gather4a_2D(i, i, at);
}

// Each texel doubled, by a surface and by what follows from its format.
KERNEL surfaces(hipSurfaceObject_t s, float4* out) {
  float4 v;
  surf2Dread(&v, s, static_cast<int>(sizeof(float4)), 2);
  out[0] = v;
  surf2Dwrite(make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w), s, static_cast<int>(2 * sizeof(float4)), 2);
  surf2Dwrite(v, s, -static_cast<int>(sizeof(float4)), 2);  // outside
  surf2Dread(&out[1], s, 0, 99);
  surf3Dread(&out[2], s, 0, 1, 1);
  surf3Dwrite(make_float4(7, 8, 9, 10), s, 0, 2, 1);
  surf1Dwrite(make_float4(1, 2, 3, 4), s, 0);
  surf1Dread(&out[3], s, 0);
  surfCubemapread(&out[4], s, 0, 1, 1);
  surfCubemapwrite(make_float4(5, 5, 5, 5), s, static_cast<int>(3 * sizeof(float4)), 1, 1);
}

KERNEL surface_of_pairs(hipSurfaceObject_t s, float2* out) {
  float2 v;
  surf2Dread(&v, s, 2 * 4, 0);  // two halves have four bytes
  out[0] = v;
}

KERNEL not_there(hipSurfaceObject_t s, float* out) { surf2DLayeredread(out, s, 0, 0, 1); }
