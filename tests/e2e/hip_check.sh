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
contains out "  code not compared with the program's: the program's machine code was not recorded"

# Archives, and a database that is put together of them.
expect 0 mneme export vecadd.db add -o add.mneme
expect 0 mneme import add.mneme other.db
expect 0 mneme fsck other.db
expect 0 mneme replay other.db add --device cpu --iterations 1
