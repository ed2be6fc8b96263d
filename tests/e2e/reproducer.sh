# One launch as a program (mneme export --program): it runs where there is nothing but the C library, tells what it finds, and tells
# when it is damaged.
# timeout: 600
for example in vecadd cg stencil reduction; do compile "$EXAMPLES/$example/$example.cu" "$example"; done
# Managed memory; arrays that textures and surfaces are of; variables, and cooperative launches.
for example in managed textures deployed; do compile "$CASE_FOLDER/../gpu/$example.cu" "$example"; done

# A root with a C library and nothing else. /proc is there, as in every container.
bare() { # PROGRAM [ARGUMENT...]
  local program=$1 root=$PWD/root library
  shift
  rm -rf "$root"
  mkdir -p "$root/proc" "$root/lib64"
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$root/$(dirname "$library")"
    cp -L "$library" "$root/$library"
  done
  cp "$program" "$root/program"
  # shellcheck disable=SC2086  # an option, or none
  unshare --mount --pid --fork --root="$root" ${MOUNT_PROC---mount-proc=/proc} /program "$@"
}
isolated=yes
unshare --mount --pid --fork true 2>/dev/null || isolated=no
in_bare() { if [ "$isolated" = yes ]; then bare "$@"; else env -i "$(realpath "$1")" "${@:2}"; fi; }

kernels=0
for example in vecadd cg stencil reduction managed textures deployed; do
  expect 0 mneme record -rdb "$example-db" --device cpu --max 1 -- "./$example"
  for kernel in "$example-db"/*.json; do
    expect 0 mneme export "$kernel" --program --device cpu -o program
    contains out "program: "
    contains out ", for the device cpu: verified here"
    expect 0 in_bare program --runs 3
    contains out "verified: memory is as recorded after the launch"
    contains out "(median of 3 launches"
    kernels=$((kernels + 1))
  done
done
[ "$kernels" -ge 15 ] || fail "$kernels kernels became programs"
if [ "$isolated" = yes ]; then
  MOUNT_PROC='' expect 2 in_bare program
  contains err "it is loaded by a file in /proc, which is not mounted here: mount -t proc proc /proc"
fi
needed=$(readelf -d program | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
[ "$needed" = "ld-linux-x86-64.so.2 libc.so.6 libm.so.6 " ] || fail "the program needs $needed"

# What was found for a kernel, as `mneme deploy` makes code of it.
expect 0 mneme sweep deployed-db scale --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir found
expect 0 mneme export deployed-db scale --config found/best.json --program --device cpu -o found-program
expect 0 in_bare found-program --runs 2
contains out "code: default<O3> for x86-64-v3"
contains out "verified: memory is as recorded after the launch"

# A debugger stops in the kernel, which it knows by its name, in the program's source; below the kernel there is the runner and no more.
if command -v gdb >/dev/null; then
  compile "$EXAMPLES/cg/cg.cu" debug -g
  expect 0 mneme record -rdb debug-db --device cpu --kernels 'matvec*' --max 1 -- ./debug
  expect 0 mneme export debug-db matvec --program --device cpu -o debug-program
  expect 0 gdb -batch -ex 'set breakpoint pending on' -ex 'break matvec' -ex run -ex bt ./debug-program
  contains out "hit Breakpoint 1, matvec ("
  grep -q '^#0  .*matvec (.* at .*/cg\.cu:[0-9]' out || fail "the debugger knows no line"
  [ "$(grep -c '^#' out)" -lt 10 ] || fail "the debugger finds $(grep -c '^#' out) frames"
  expect 1 gdb -batch -ex run -ex bt ./debug-program # it has ended: there is no stack
  contains out "verified: memory is as recorded after the launch"
fi

# The command line of a program.
expect 0 ./program --help
contains out "usage: ./program [--runs N] [--device N]"
expect 0 ./program --runs 0
lacks out "time:"
expect 2 ./program --runs
contains err "./program: --runs takes a number"
expect 2 ./program --runs many
contains err "./program: --runs takes a number from 0 to 1000000, and not 'many'"
expect 2 ./program --fast
contains err "./program: there is no option '--fast'; --help shows those that there are"

# What the kernel does not touch is left out, and said; --whole keeps it.
cat >sparse.cu <<'C'
#include <cstdio>
__global__ void scale(float* used, const float* unused, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) used[i] = 2 * used[i] + 1;
  if (n < 0) used[0] = unused[0];
}
int main() {
  const int n = 1 << 20;
  float *large, *other;
  cudaMalloc(&large, n * sizeof(float));
  cudaMalloc(&other, n * sizeof(float));
  cudaMemset(large, 0, n * sizeof(float));
  cudaMemset(other, 1, n * sizeof(float));
  scale<<<256, 128>>>(large, other, 1 << 15);
  cudaDeviceSynchronize();
  std::puts("done");
}
C
compile sparse.cu sparse
expect 0 mneme record -rdb sparse-db --device cpu -- ./sparse
expect 0 mneme export sparse-db scale --program --device cpu -o sparse-program
contains out "it has 128 KiB of memory; 7.88 MiB that the kernel neither reads nor writes are left out"
expect 0 in_bare sparse-program --runs 1
contains out "memory: 128 KiB; 7.88 MiB more that the kernel neither reads nor writes are left out"
expect 0 mneme export sparse-db scale --program --whole --device cpu -o whole-program
contains out "it has 8.00 MiB of memory; nothing is left out: all was asked for"
expect 0 ./whole-program --runs 1
contains out "memory: 8.00 MiB; nothing is left out: all was asked for"

# A wrong launch: which buffer, and how many elements differ.
expect 0 mneme export sparse-db scale --program --device cpu --grid-dim-x 128 -o wrong-program
contains out "the memory that it leaves is not as recorded"
expect 1 in_bare wrong-program
contains out "not verified: memory is not as recorded after the launch"
contains out "argument 'used': 16384 of 1048576 f32 elements differ; the first is element 16384: 1 was recorded, and 0 is there"
# A tolerance and a pipeline are those of the command line.
expect 0 mneme export sparse-db scale 'default<O1>' --program --device cpu --grid-dim-x 128 --tolerance 'used: f32, 2, absolute' -o tolerant-program
expect 0 ./tolerant-program --runs 1
contains out "code: default<O1> for x86-64-v3"
contains out "verified: memory is as recorded after the launch, within the tolerances"

# Code that leaves out what it should write is found out, also where memory held the right bytes before.
cat >fill.cu <<'C'
#include <cstdio>
__device__ int table[64];
__global__ void fill(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0x01010101;
  if (i < 64) table[i] = 0;
}
int main() {
  const int n = 1 << 15;
  int* out;
  cudaMalloc(&out, 2 * n * sizeof(int));
  cudaMemset(out, 1, 2 * n * sizeof(int));
  fill<<<n / 128, 128>>>(out, n);
  cudaDeviceSynchronize();
  std::puts("done");
}
C
compile fill.cu fill
expect 0 mneme record -rdb fill-db --device cpu -- ./fill
expect 0 mneme export fill-db fill --program --device cpu -o fill-program
contains out "128 KiB that the kernel writes and does not read hold wrong values before the launch"
expect 0 in_bare fill-program --runs 3
contains out "masked: 128 KiB that the kernel writes and does not read hold wrong values before the launch"
contains out "verified: memory is as recorded after the launch"
expect 0 mneme export fill-db fill --program --device cpu --grid-dim-x 128 -o half-program
contains out "the memory that it leaves is not as recorded"
expect 1 in_bare half-program
contains out "argument 'out': 16384 of 65536 i32 elements differ; the first is element 16384: 16843009 was recorded, and -16843010 is there"
expect 0 mneme export fill-db fill --program --device cpu --grid-dim-x 128 --no-mask -o bare-program
contains out "nothing is masked, as none was asked for"
expect 0 ./bare-program --runs 1
contains out "masked: nothing, as none was asked for: output that is right without being written is not found out"
expect 0 mneme export fill-db fill --program --device cpu --whole -o whole-fill
contains out "nothing is masked, as it is not looked at what the kernel touches"

# Damage is told, wherever it is.
size=$(stat -c %s sparse-program) runner=$(stat -c %s "$MNEME_PREFIX/lib/mneme/program")
for keep in $((size - 1)) $((size - 64)) $((runner + 1)) $((runner)); do
  head -c "$keep" sparse-program >damaged
  chmod +x damaged
  expect 2 ./damaged
  contains err "./damaged does not end as an exported program does: it was cut short or damaged, or is none"
done
for at in $((size - 1)) $((size - 20)) $((size - 48)) $((size - 70)) $((size - 5000)) $((runner)) $((runner + 900)) $((runner + 5000)); do
  python3 - sparse-program damaged "$at" <<'P'
import sys
bytes_ = bytearray(open(sys.argv[1], "rb").read())
bytes_[int(sys.argv[3])] ^= 0x10
open(sys.argv[2], "wb").write(bytes_)
P
  expect 2 ./damaged
  contains err "./damaged is not as it was written: its bytes do not have the digest that stands at its end"
done
expect 2 "$MNEME_PREFIX/lib/mneme/program"
contains err "does not end as an exported program does"

# What makes no program.
expect 64 mneme export sparse-db scale --program --device cpu -o -
contains err "a program is a file: name it with -o"
expect 2 mneme export sparse-db scale --program --device cpu -o /dev/null
contains err "/dev/null is no regular file, and a program is one"
expect 64 mneme export sparse-db scale 'default<O2>' -o some.mneme
contains err "a recording has no configuration, but a program has: give --program"
expect 64 mneme export sparse-db scale --whole -o some.mneme
expect 2 mneme export cg-db --program --device cpu -o some
contains err "a program is of one launch, and"
[ ! -e some ] && [ ! -e some.mneme ] || fail "a file was written"
