# One launch of a HIP program as sources (mneme export --source): opt, llc and ld.lld make the code object that Mneme has made, and the program of a
# page restores, launches and compares, here on the HIP runtime of the tests, which runs one kernel.
# timeout: 600
needs_hip
for program in g++ make opt-22 llc-22 ld.lld-22; do command -v "$program" >/dev/null || skip "there is no $program"; done
[ -n "${MNEME_TEST_HIP:-}" ] || skip "the HIP runtime of the tests was not built"
ROCM_PATH=$(mneme config rocmdir)
export ROCM_PATH
mkdir runtime
ln -s "$MNEME_TEST_HIP" runtime/libamdhip64.so
# In ROCm 5.2 a structure was another one than since.
MNEME_FAKE_HIP_PROPERTIES=$(sed -n 's/^#define HIP_VERSION_\(MAJOR\|MINOR\) *//p' "$ROCM_PATH/include/hip/hip_version.h" | paste -sd.)
export MNEME_FAKE_HIP_PROPERTIES
build() { expect 0 make -C "$1" "LDFLAGS=-L$PWD/runtime" "${@:2}"; }
fake() { (cd "$1" && LD_LIBRARY_PATH=$(dirname "$MNEME_TEST_HIP") ./program "${@:2}"); }
# What LLVM's own programs make is what Mneme has made, to the byte.
same_code() {
  rm -rf kept
  cp -r "$1" kept
  build "$1" -B kernel.hsaco kernel.s
  for file in kernel.o kernel.hsaco kernel.s; do cmp "$1/$file" "kept/$file" || fail "opt, llc and ld.lld make another $file"; done
}

cat >add.hip <<'SOURCE'
#include <cstdio>
#include <vector>
__device__ unsigned char offsets[24];
extern "C" __global__ void add_offsets(unsigned* words, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] += 1 + offsets[i % 24];
}
__device__ __noinline__ unsigned twice(unsigned x) { return x * 2 + 1; }
__global__ void other(unsigned* words, unsigned count) {
  __shared__ unsigned tile[128];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < count ? twice(words[i]) : 0;
  __syncthreads();
  if (i < count) words[i] = tile[127 - threadIdx.x] + offsets[i % 24];
}
// Of which the output is right before it is written.
__global__ void fill(unsigned* words, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] = 0x07070707;
}
int main() {
  const unsigned count = 1 << 15, all = 1 << 20;
  unsigned* words;
  unsigned char values[24];
  for (int i = 0; i < 24; ++i) values[i] = i;
  if (hipMalloc(&words, all * sizeof(unsigned)) || hipMemcpyToSymbol(HIP_SYMBOL(offsets), values, sizeof values)) return 1;
  std::vector<unsigned> host(all);
  for (unsigned i = 0; i < all; ++i) host[i] = i;
  if (hipMemcpy(words, host.data(), all * sizeof(unsigned), hipMemcpyHostToDevice)) return 1;
  add_offsets<<<count / 128, 128>>>(words, count);
  other<<<count / 128, 128>>>(words, count);
  if (hipMemset(words, 7, all * sizeof(unsigned))) return 1;
  fill<<<count / 128, 128>>>(words, count);
  if (hipDeviceSynchronize()) return 1;
  std::puts("done");
}
SOURCE
compile_hip add.hip add
expect 0 mneme record -rdb db --device cpu -- ./add
expect 0 mneme export db add_offsets --source -o add.d
contains out "add.d: sources for gfx90a: not run here, where no GPU runs the code"
contains out "3.88 MiB that the kernel neither reads nor writes are left out"
contains add.d/Makefile "They give this kernel.o to the byte."
contains add.d/Makefile "This kernel.hsaco is by lld."
build add.d 'CXXFLAGS=-O2 -Wall -Wextra -Wno-unknown-pragmas -Werror'
lacks out opt-22 # nothing but the program is built anew
lacks out ld.lld
expect 0 fake add.d
contains out "verified: memory is as recorded after the launch"
contains out "(median of 10 launches, 250.00 us at least)"
same_code add.d
expect 0 env "LD_LIBRARY_PATH=$(dirname "$MNEME_TEST_HIP")" make -C add.d run RUNS=3 "LDFLAGS=-L$PWD/runtime"
contains out "median of 3 launches"

# For other architectures, under other pipelines, of other kernels.
for asked in "other|" "other|default<O3>|--set codegen.target=gfx90a:xnack- --set codegen.code_object=6" "fill|default<O1>|--set codegen.level=1 --set codegen.contraction=off" \
  "add_offsets|function(sroa,instcombine,loop-mssa(licm)),inline|--set codegen.target=gfx942"; do
  IFS='|' read -r kernel pipeline options <<<"$asked"
  rm -rf asked.d
  # shellcheck disable=SC2086  # the options are meant to be split
  expect 0 mneme export db "$kernel" ${pipeline:+"$pipeline"} --source $options -o asked.d
  contains asked.d/Makefile "They give this kernel.o to the byte."
  same_code asked.d
done
# Code is built again from what was changed.
touch -d '+2 seconds' asked.d/kernel.ll
expect 0 make -n -C asked.d kernel.hsaco
for word in opt-22 llc-22 ld.lld-22; do contains out "$word"; done

# What differs is told by its name, and what writes nothing is found out: the runtime of the tests runs none of this kernel.
python3 - add.d/memory/*.after <<'P'
import sys
for name in sys.argv[1:]:
    content = bytearray(open(name, "rb").read())
    content[28] ^= 2
    open(name, "wb").write(content)
P
expect 1 fake add.d
contains out "argument 'words': 1 of 1048576 i32 elements differ"
expect 2 fake add.d 1 0 missing.hsaco
contains err "missing.hsaco: it cannot be read"
expect 0 mneme export db fill --source -o fill.d
contains out "128 KiB that the kernel writes and does not read hold wrong values before the launch"
build fill.d program
expect 1 fake fill.d
contains out "argument 'words': 32768 of 1048576 i32 elements differ"
# A failure of the runtime is told with the call.
sed -i 's/^inline const char kernel_name.*/inline const char kernel_name[] = "missing";/' fill.d/launch.h
build fill.d program
expect 2 fake fill.d
contains err "hipModuleGetFunction(&kernel, module, kernel_name): "

# Memory of the host, which the device reaches at its address.
cat >host.hip <<'SOURCE'
__device__ unsigned char offsets[24];
extern "C" __global__ void add_offsets(unsigned* words, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] += 1 + offsets[i % 24];
}
int main() {
  unsigned* words;
  if (hipHostMalloc(&words, 4096 * sizeof(unsigned), hipHostMallocMapped)) return 1;
  for (unsigned i = 0; i < 4096; ++i) words[i] = i;
  add_offsets<<<32, 128>>>(words, 4096);
  return hipDeviceSynchronize();
}
SOURCE
compile_hip host.hip host
expect 0 mneme record -rdb host-db --device cpu -- ./host
expect 0 mneme export host-db --source -o host.d
contains host.d/launch.h "nullptr, true, true},"
build host.d program
expect 0 fake host.d 2
contains out "verified: memory is as recorded after the launch"

# What makes none.
expect 64 mneme export db add_offsets --source --device cpu -o some
contains err "sources are a program of a GPU driver's"
expect 2 mneme export db add_offsets --source -o add.d
contains err "add.d is there already: name a folder that is not"
[ ! -e some ] || fail "something is left"
