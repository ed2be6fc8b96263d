# One launch as sources (mneme export --source): opt, llc and ptxas make the PTX that Mneme has made, and the program of a page restores,
# launches and compares, here on the driver of the tests.
# timeout: 600
for program in g++ make opt-22 llc-22; do command -v "$program" >/dev/null || skip "there is no $program"; done
[ -e "$CUDA_HOME/include/cuda.h" ] && [ -x "$CUDA_HOME/bin/ptxas" ] || skip "there is no CUDA toolkit"
[ -n "${MNEME_TEST_DRIVER:-}" ] || skip "the driver of the tests was not built"
build() { expect 0 make -C "$1" "LDFLAGS=-L$MNEME_TEST_DRIVER" "${@:2}"; }
fake() { (cd "$1" && LD_LIBRARY_PATH=$MNEME_TEST_DRIVER ./program "${@:2}"); }
code_of() { grep -v '^attributes' "$1" | sed 's/ *;.*//'; } # without comments
# The PTX that LLVM's own programs make is what Mneme has made, to the byte, and so are the sections of the machine code that ptxas makes.
same_ptx() {
  cp "$1/kernel.ptx" kept.ptx
  cp "$1/kernel.optimised.ll" kept.ll
  cp "$1/kernel.cubin" kept.cubin
  build "$1" -B kernel.cubin
  [ -n "$(find "$1/kernel.cubin" -newer kept.cubin)" ] || fail "the Makefile's ptxas made nothing"
  expect 0 python3 "$CASE_FOLDER/cubin_sections.py" "$1/kernel.cubin" kept.cubin
  cmp "$1/kernel.ptx" kept.ptx || fail "opt and llc make other PTX: $(diff "$1/kernel.ptx" kept.ptx)"
  # opt writes the options for the target to every function.
  diff <(code_of "$1/kernel.optimised.ll") <(code_of kept.ll) || fail "opt makes other IR"
}

# Every kernel of examples, by the pipeline of its program; the program compiles without a warning.
for example in vecadd cg stencil reduction; do
  compile "$EXAMPLES/$example/$example.cu" "$example"
  expect 0 mneme record -rdb "$example-db" --device cpu --max 1 -- "./$example"
  for kernel in "$example-db"/*.json; do
    rm -rf folder
    expect 0 mneme export "$kernel" --source -o folder
    contains out "folder: sources for sm_90: not run here, where no GPU runs the code"
    contains folder/Makefile "They give this kernel.ptx to the byte."
    same_ptx folder
  done
done
build folder program 'CXXFLAGS=-O0 -Wall -Wextra -Wno-unknown-pragmas -Werror'

# The driver of the tests runs one kernel, add_one. What is launched, with which memory, is the program's alone.
cat >add.cu <<'CU'
#include <cstdio>
#include <vector>
__device__ unsigned char table[24];
__device__ __noinline__ unsigned twice(unsigned x) { return x * 2 + 1; }
extern "C" __global__ void add_one(unsigned* words, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] += 1 + table[i % 24];
}
__global__ void other(unsigned* words, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] = twice(words[i]);
}
// Of which the output is right before it is written.
__global__ void fill(unsigned* words, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] = 0x07070707;
}
int main() {
  const unsigned count = 1 << 15, all = 1 << 20;
  unsigned* words;
  cudaMalloc(&words, all * sizeof(unsigned));
  std::vector<unsigned> host(all);
  for (unsigned i = 0; i < all; ++i) host[i] = i;
  cudaMemcpy(words, host.data(), all * sizeof(unsigned), cudaMemcpyHostToDevice);
  add_one<<<count / 128, 128>>>(words, count);
  other<<<count / 128, 128>>>(words, count);
  cudaMemset(words, 7, all * sizeof(unsigned));
  fill<<<count / 128, 128>>>(words, count);
  cudaDeviceSynchronize();
  std::puts("done");
}
CU
compile add.cu add
expect 0 mneme record -rdb add-db --device cpu -- ./add
expect 0 mneme export add-db add_one --source -o add.d
contains out "it has 128 KiB of memory; 3.88 MiB that the kernel neither reads nor writes are left out"
[ "$(cat add.d/memory/*.before | wc -c)" = 131072 ] || fail "there is other memory than the kernel's: $(ls -l add.d/memory)"
build add.d
[ ! -s err ] || fail "a warning: $(cat err)"
lacks out opt-22 # nothing but the program is built anew
lacks out ptxas
expect 0 fake add.d
contains out "verified: memory is as recorded after the launch"
contains out "(median of 10 launches, "
expect 0 fake add.d 0
lacks out time:
expect 0 env "LD_LIBRARY_PATH=$MNEME_TEST_DRIVER" make -C add.d run RUNS=3 "LDFLAGS=-L$MNEME_TEST_DRIVER"
contains out "median of 3 launches"
same_ptx add.d

# What differs is told by its name, with the first elements; where there is a tolerance, it decides.
after=$(echo add.d/memory/*.after)
cp "$after" kept.after
damage() { # FIRST LAST: adds 2 to these words of what was recorded
  python3 - kept.after "$after" "$1" "$2" <<'P'
import sys, struct
words = list(struct.unpack("<32768I", open(sys.argv[1], "rb").read()))
for i in range(int(sys.argv[3]), int(sys.argv[4]) + 1):
    words[i] += 2
open(sys.argv[2], "wb").write(struct.pack("<32768I", *words))
P
}
damage 7 16
expect 1 fake add.d
contains out "not verified: memory is not as recorded after the launch"
contains out "  argument 'words': 10 of 1048576 i32 elements differ"
contains out "    element 7: 10 was recorded, and 8 is there"
lacks out "element 11:"
for asked in "2, absolute:0" "1, absolute:1" "0.1, relative, L2:0" "1e-15, relative, L2:1"; do
  rm -rf tolerant.d
  expect 0 mneme export add-db add_one --source --tolerance "words: u32, ${asked%:*}" -o tolerant.d
  build tolerant.d program
  cp "$after" tolerant.d/memory/
  expect "${asked#*:}" fake tolerant.d
done
contains out "of 1048576 u32 elements differ, and not all within the tolerance"
cp kept.after "$after"

# A kernel that does nothing, a file that is not there, and memory that is cut short.
sed -i 's/kernel_name\[\] = "add_one"/kernel_name[] = "nothing"/' add.d/launch.h
build add.d
expect 1 fake add.d
contains out "argument 'words': 32768 of 1048576 i32 elements differ"
expect 2 fake add.d 1 0 missing.cubin
contains err "missing.cubin: it cannot be read"
head -c 1000 kept.after >"$after"
expect 2 fake add.d
contains err ".after: it is cut short"

# Code that writes nothing is found out, also where memory held the right bytes before: the driver of the tests runs none of this kernel.
expect 0 mneme export add-db fill --source -o fill.d
contains out "128 KiB that the kernel writes and does not read hold wrong values before the launch"
contains fill.d/launch.h "// Masked: 128 KiB that the kernel writes and does not read hold wrong values before the launch."
build fill.d program
expect 1 fake fill.d
contains out "argument 'words': 32768 of 1048576 i32 elements differ"
contains out "element 0: 117901063 was recorded, and -117901064 is there"
expect 0 mneme export add-db fill --source --no-mask -o bare.d
contains out "nothing is masked, as none was asked for"
build bare.d program
expect 0 fake bare.d
expect 0 mneme export add-db add_one --source -o both.d
contains out "nothing is masked, as the kernel writes no byte that it does not also read"

# Functions beside the kernel: another linkage is the only difference, and what the kernel does not call is not in the PTX.
expect 0 mneme export add-db other --source -o other.d
contains other.d/Makefile "They give this kernel.ptx but for who may call the functions beside the kernel"
cp other.d/kernel.ptx kept.ptx
build other.d -B kernel.cubin
no_linkage() { sed '/^\t\/\/ \.\(weak\|globl\)/d; s/^\.\(weak\|visible\) //' "$1"; }
cmp <(no_linkage kept.ptx) <(no_linkage other.d/kernel.ptx) || fail "$(diff kept.ptx other.d/kernel.ptx)"

# What is asked for is in the commands: pipelines, levels, the target, floating point, the assembler. Debug information becomes lines.
compile "$EXAMPLES/cg/cg.cu" debug -g
expect 0 mneme record -rdb debug-db --device cpu --kernels 'dot*' --max 1 -- ./debug
for kernel in debug-db/*.json; do
  rm -rf debug.d
  expect 0 mneme export "$kernel" --source -o debug.d
  contains debug.d/kernel.ptx .loc
  contains debug.d/Makefile "-lineinfo"
  same_ptx debug.d
done
asked=("default<O3>" "function(sroa,instcombine,loop-mssa(licm)),inline" "sroa,instcombine" "default<O1>")
for pipeline in "${asked[@]}"; do
  rm -rf asked.d
  expect 0 mneme export vecadd-db add "$pipeline" --source --set codegen.target=sm_80 --set codegen.level=1 --set codegen.contraction=off \
    --set assembler.level=1 --set assembler.max_registers=64 -o asked.d
  contains out "asked.d: sources for sm_80"
  contains asked.d/Makefile "-mcpu=sm_80"
  contains asked.d/Makefile "-fp-contract=off -O1"
  contains asked.d/Makefile "PTXASFLAGS = -arch=sm_80 -O1 -v -maxrregcount=64"
  same_ptx asked.d
done
contains asked.d/Makefile "PASSES = default<O1>"
# Code is built again from what was changed.
touch -d '+2 seconds' asked.d/kernel.ll
expect 0 make -n -C asked.d kernel.cubin
for word in opt-22 llc-22 ptxas; do contains out "$word"; done
expect 0 make -C asked.d touch
touch -d '-2 seconds' asked.d/kernel.ll
expect 0 make -n -C asked.d kernel.cubin
lacks out opt-22

# A program that was not built for recording: its machine code is what there is. The device is the driver of the tests.
export LD_LIBRARY_PATH=$MNEME_TEST_DRIVER
expect 0 mneme record -rdb driver-db --device cuda --vass 1 -- "$MNEME_TEST_DRIVER_PROGRAM" dlsym "$MNEME_TEST_DRIVER_CUBIN" launch
expect 0 mneme export driver-db --source --device cuda -o driver.d
contains out "driver.d: sources for sm_90: verified here"
contains out "nothing is left out: no IR"
cmp -s driver.d/kernel.cubin "$MNEME_TEST_DRIVER_CUBIN" || fail "the code is another"
[ ! -e driver.d/kernel.ll ] && [ ! -e driver.d/kernel.ptx ] || fail "there is code that was not recorded"
contains driver.d/Makefile "kernel.cubin is the program's own machine code"
build driver.d
expect 0 fake driver.d 2
contains out "median of 2 launches"
# Code for another GPU than the one that is there is made all the same.
expect 0 mneme export add-db add_one --source --device cuda --set codegen.target=sm_100 -o target.d
contains out "target.d: sources for sm_100: not run here, where no GPU runs the code"
unset LD_LIBRARY_PATH

# From PTX ptxas makes the machine code again.
ptx=$CASE_FOLDER/../../mneme/record/driver/testing/add_one.ptx
expect 0 env "LD_LIBRARY_PATH=$MNEME_TEST_DRIVER" mneme record -rdb ptx-db --device cuda --vass 1 -- "$MNEME_TEST_DRIVER_PROGRAM" dlsym "$ptx" launch
expect 0 mneme export ptx-db --source --set assembler.level=1 -o ptx.d
[ ! -e ptx.d/kernel.ll ] || fail "there is IR that was not recorded"
contains ptx.d/kernel.ptx add_one
contains ptx.d/Makefile "PTXASFLAGS = -arch=sm_90 -O1"
build ptx.d -B all
contains out ptxas
expect 0 fake ptx.d 1
contains out "verified: memory is as recorded after the launch"
expect 0 fake ptx.d 1 0 kernel.ptx

# Memory of the host, which the device reaches at its address.
cat >host.cu <<'CU'
#include <cstdio>
extern "C" __global__ void add_one(unsigned* words, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) ++words[i];
}
int main() {
  unsigned* words;
  cudaMallocHost(&words, 4096 * sizeof(unsigned));
  for (unsigned i = 0; i < 4096; ++i) words[i] = i;
  add_one<<<32, 128>>>(words, 4096);
  cudaDeviceSynchronize();
  std::printf("%u\n", words[4095]);
}
CU
compile host.cu host
expect 0 mneme record -rdb host-db --device cpu -- ./host
expect 0 mneme export host-db --source -o host.d
contains host.d/launch.h "nullptr, true, true},"
build host.d program
expect 0 fake host.d 2
contains out "verified: memory is as recorded after the launch"

# What makes none. Nothing is left then.
refused() { # STATUS MESSAGE ARGUMENT...
  expect "$1" mneme export "${@:3}"
  contains err "$2"
}
refused 2 "add.d is there already: name a folder that is not" add-db add_one --source -o add.d
refused 2 "there is no folder" add-db add_one --source -o nowhere/some
refused 64 "sources are a folder: name it with -o" add-db add_one --source -o -
refused 64 "sources are a program of a GPU driver's" add-db add_one --source --device cpu -o some
refused 64 "excludes" add-db add_one --source --program -o some
refused 64 "--whole is of memory in a program or in sources: give --program or --source" add-db --whole -o some
refused 2 "sources are of one launch, and 3 are named" add-db --source -o some
refused 2 "codegen" driver-db --source --set codegen.target=sm_80 -o some
expect 0 mneme export add-db add_one --source --whole -o whole.d
contains out "it has 4.00 MiB of memory; nothing is left out: all was asked for"
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
  refused 2 "No space left on device" add-db add_one --source -o small/some
  [ -z "$(ls -A small)" ] || fail "a full disk has $(ls -A small)"
  umount small
fi
[ ! -e some ] && [ -z "$(ls -d ./*.tmp.* 2>/dev/null)" ] || fail "something is left"
