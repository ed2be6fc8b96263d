# HIP recordings are searched by a sweep on the CPU device, and what was found becomes deployed code and programs. tests/python/test_hip.py tunes.
needs_hip
compile_hip "$CASE_FOLDER/../gpu/deployed.cu" deployed -O0
expect 0 mneme run --device cpu -- ./deployed
mv out plain
expect 0 mneme record -rdb db --device cpu --max 1 -- ./deployed

expect 0 mneme sweep db scale --device cpu --iterations 2 --grid 'block.x=64|128' --grid 'passes=default<O1>|default<O3>' --keep-threads --results-dir swept
contains out "4 of 4 configurations done: 4 verified"
expect 0 mneme sweep --resume swept
contains out "; 4 of an earlier run"

# Deployed code has the place of each launch that its rule covers, and reaches the program's variables.
expect 0 mneme sweep db scale --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir found
expect 0 mneme deploy found --unconfirmed -o app.tuned
contains out "app.tuned: 1 kernel with deployed code"
expect 0 mneme deploy --show app.tuned
contains out "variable       offsets"
expect 0 mneme run --device cpu --tuned app.tuned -- ./deployed
cmp -s out plain || fail "the program printed something else"
contains err "39 of 39 launches ran the deployed code"

# A launch as a program.
expect 0 mneme export db scale --program --device cpu -o program
expect 0 ./program --runs 2
contains out "verified: memory is as recorded after the launch"

# Where the program's calls end in its own runtime it is code for another device.
MNEME_TUNED=app.tuned ./deployed >out 2>err || true
contains err "tuned: 1 of 1 kernels of app.tuned were not launched here: was it made for another build of the program, or another device?"

# Managed variables are the program's own: their memory, which the host writes meanwhile.
cat >managed.hip <<'SOURCE'
#include <cstdio>
__managed__ int counted = 5;
__managed__ float table[4] = {1, 2, 3, 4};
__device__ int offset = 1;
__global__ void count(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += static_cast<int>(table[i % 4]) + offset;
  if (i == 0) ++counted;
}
int main() {
  int *device, host[256];
  if (hipMalloc(&device, sizeof host) || hipMemset(device, 0, sizeof host)) return 2;
  for (int round = 0; round < 4; ++round) {
    count<<<2, 128>>>(device, 256);
    if (hipDeviceSynchronize()) return 3;
    table[round] *= 10;
    counted += 100;
    if (hipMemcpyToSymbol(HIP_SYMBOL(offset), &round, sizeof round)) return 4;
  }
  if (hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost)) return 5;
  std::printf("%d %d %d %d, counted %d\n", host[0], host[1], host[254], host[255], counted);
}
SOURCE
compile_hip managed.hip managed
expect 0 mneme run --device cpu -- ./managed
cp out managed-plain
expect 0 mneme record -rdb managed-db --device cpu --max 1 -- ./managed
expect 0 mneme sweep managed-db count --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir managed-found
expect 0 mneme deploy managed-found --unconfirmed -o managed.tuned
expect 0 mneme run --device cpu --tuned managed.tuned -- ./managed
cmp -s out managed-plain || fail "the program printed something else"
contains err "4 of 4 launches ran the deployed code"
# Both ways, the deployed code is led to a copy of their memory: it counts there, and the program's own counts for the program.
expect 0 mneme run --device cpu --tuned managed.tuned --verify 2 -- ./managed
cmp -s out managed-plain || fail "the program printed something else"
contains err "2 of 4 launches ran the deployed code; the others: 2 run both ways"
expect 0 mneme run --device cpu --tuned managed.tuned --verify 1 --race -- ./managed
cmp -s out managed-plain || fail "the program printed something else"
contains err "0 of 4 launches ran the deployed code; the others: 4 run both ways"
