# What is told of HIP recordings: whether runs differ and why, races; and the archives that they are sent in.
needs_hip
# Determinism and races: sums of floating-point numbers depend on the order, and a barrier of a block does not hide a race.
cat >races.hip <<'SOURCE'
__global__ void racing(int* out, int n) {
  __shared__ int tile[64];
  tile[threadIdx.x] = n;
  __syncthreads();
  out[threadIdx.x % 32] = tile[63 - threadIdx.x] + blockIdx.x;
}
__global__ void sum(float* out) { atomicAdd(out, 0.1f * threadIdx.x); }
int main() {
  int* out;
  if (hipMalloc(&out, 256)) return 1;
  racing<<<8, 64>>>(out, 3);
  if (hipMemset(out, 0, 256)) return 2;
  sum<<<8, 64>>>(reinterpret_cast<float*>(out));
  return hipDeviceSynchronize();
}
SOURCE
compile_hip races.hip races -g
expect 0 mneme record -rdb races.db --device cpu -- ./races
status=0
mneme check --device cpu --runs 3 races.db racing >out 2>err || status=$?
contains out "race: 32 of 64 i32 of argument 'out'"
status=0
mneme check --device cpu --runs 3 races.db sum >out 2>err || status=$?
contains out "adds floating-point numbers by atomic operations, and each order rounds otherwise (1 place, at races.hip:7)"
compile_hip "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb vecadd.db --device cpu --max 1 -- ./vecadd 5000
expect 0 mneme check --device cpu --runs 2 vecadd.db add
contains out "  same code as the program's: "

# The program's code object is recorded beside the IR, without what is not the kernel's, and compared with what is made of the IR: of kernels that call,
# read variables and texts, and have LDS; by both of clang's offload drivers, and for several architectures.
cat >compared.hip <<'SOURCE'
#include <cstdio>
__device__ int counted, table[64];
static __device__ int steps = 3;
__constant__ float factors[4];
__device__ __noinline__ float settle(float x, int n) { return n == 0 ? x : settle(x * factors[n & 3], n - 1) + 1; }
__global__ void calls(float* out) { out[threadIdx.x] = settle(out[threadIdx.x], steps + table[threadIdx.x]); }
__global__ void counts(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  atomicAdd(&counted, tile[63 - threadIdx.x]);
  if (threadIdx.x == 0) table[counted & 63] = 7;
}
static __global__ void choose(int* out, int n) {
  const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
  out[threadIdx.x] = primes[(threadIdx.x + n) % 10];
}
template <typename T> __global__ void sums(T* out) { out[threadIdx.x] = sinf(out[threadIdx.x]) + out[threadIdx.x ^ 1]; }
int main() {
  float* floats;
  int* ints;
  if (hipMalloc(&floats, 256) || hipMalloc(&ints, 256) || hipMemset(floats, 0, 256) || hipMemset(ints, 0, 256)) return 1;
  calls<<<1, 64>>>(floats);
  counts<<<1, 64>>>(ints);
  choose<<<1, 64>>>(ints, 3);
  sums<<<1, 64>>>(floats);
  return hipDeviceSynchronize();
}
SOURCE
for options in "--offload-new-driver -O2" "--no-offload-new-driver -O3" "-O1"; do
  # shellcheck disable=SC2086  # the options are meant to be split
  compile_hip compared.hip compared $options
  rm -rf compared.db
  expect 0 mneme record -rdb compared.db --device cpu -- ./compared
  for kernel in "calls(float*)" "counts(int*)" "choose(int*, int)" "void sums<float>(float*)"; do
    expect 0 mneme check --device cpu --runs 1 compared.db "$kernel" --json
    [ "$(json out 'd["program_code"] and d["program_code"]["same"]')" = True ] ||
      fail "$kernel with $options has other code than the program: $(json out 'd["program_code"], d["not_compared"]')"
    [ "$(json out 'd["program_code"]["program"]["registers"] == d["program_code"]["made"]["registers"] > 0')" = True ] || fail "registers of $kernel with $options"
  done
done
expect 0 mneme show --check compared.db "counts(int*)"
contains out "code          code object, gfx90a, "
expect 0 mneme check --device cpu --runs 1 compared.db "counts(int*)" 'default<O3>'
contains out "  code not compared with the program's: the configuration changes it"

# Archives, and a database that is put together of them.
expect 0 mneme export vecadd.db add -o add.mneme
expect 0 mneme import add.mneme other.db
expect 0 mneme fsck other.db
expect 0 mneme replay other.db add --device cpu --iterations 1
