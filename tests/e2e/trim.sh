# mneme trim: what a launch does not touch goes, proven by a replay, and what is left is an instance as any other.
export MNEME_LOG=warning XDG_CACHE_HOME=$PWD/cache
cat >app.cu <<'C'
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
// Reads the first and writes the last elements of one allocation.
__global__ void ends(float* data, int n, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[size - n + i] = data[i] + 1;
}
// Writes all of what it is given.
__global__ void all(float* data, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) data[i] *= 2;
}
int main() {
  const int size = 1 << 20, n = 1000;
  std::vector<float> values(size);
  unsigned state = 7;
  for (float& value : values) state = state * 1664525 + 1013904223, value = float(state >> 8);
  float* data;
  cudaMalloc(&data, size * sizeof(float));
  cudaMemcpy(data, values.data(), size * sizeof(float), cudaMemcpyHostToDevice);
  ends<<<8, 128>>>(data, n, size);
  all<<<1, 128>>>(data, 100);
  all<<<size / 128, 128>>>(data, size);
  float last = 0;
  cudaMemcpy(&last, data + size - 1, sizeof last, cudaMemcpyDeviceToHost);
  printf("%s\n", last == 2 * (values[n - 1] + 1) ? "right" : "wrong");
  return cudaDeviceSynchronize();
}
C
compile app.cu app
expect 0 mneme record -rdb db --device cpu -- ./app
contains out "right"
instance_of() { mneme ls "$1" --json | python3 -c 'import json,sys
for k in json.load(sys.stdin)["kernels"]:
    if k["demangled"].startswith(sys.argv[1]): print(k["instances"][int(sys.argv[2])]["dynamic_hash"])' "$2" "$3"; }
size_of() { du -sb "$1" | cut -f1; }
recorded=$(instance_of db ends 0)

# A dry run says what would go, and changes nothing.
before=$(cd db && find . -type f | sort | xargs md5sum)
expect 0 mneme trim db 'ends' --dry-run --device cpu
contains out "62 of 64 pages can be dropped, 3.88 MiB of memory"
[ "$(cd db && find . -type f | sort | xargs md5sum)" = "$before" ] || fail "a dry run changed the database"

cp -r db whole
full=$(size_of db)
expect 0 mneme trim db ends --device cpu
contains out "62 of 64 pages dropped, 3.88 MiB of memory; stored "
trimmed=$(instance_of db ends 0)
contains out "  now $trimmed"
[ "$trimmed" != "$recorded" ] || fail "the prologue is another, and the hash is not"
expect 0 mneme fsck db
# What `ends` does not touch is what `all` works on: those pages stay, and the page of marks comes.
expect 0 mneme trim db --device cpu
contains out "nothing to drop of 64 pages"
[ "$(size_of db)" -le $((full + 4096)) ] || fail "not smaller: $(size_of db), before $full"
expect 0 mneme fsck db
# Again there is nothing to do.
expect 0 mneme trim db ends --device cpu
contains out "nothing to drop of 64 pages"

# Alone, the launch takes a fraction.
expect 0 mneme export db ends -o small.mneme
expect 0 mneme export whole ends -o large.mneme
[ "$(stat -c %s small.mneme)" -lt $(($(stat -c %s large.mneme) / 5)) ] || fail "$(stat -c %s small.mneme large.mneme)"

# It is an instance as any other, also by the hash that it was recorded with.
expect 0 mneme import small.mneme new
expect 0 mneme replay new --device cpu
contains out '"verified": true'
expect 0 mneme replay new ends "default<O3>" -rid "$recorded" --device cpu
contains out '"verified": true'
expect 0 mneme check new -rid "${recorded:0:10}" --runs 2 --device cpu
expect 0 mneme show new ends --check
contains out "62 pages dropped, 3.88 MiB of memory that the launch does not touch; recorded as $recorded"
[ "$(mneme show new ends --json | json /dev/stdin 'd["instances"][0]["trimmed"]["pages"]')" = 62 ] || fail "--json does not tell"
expect 0 mneme sweep new ends --grid 'passes=default<O1>|default<O3>' --device cpu --results-dir swept
# What is whole does not take its place unseen.
expect 2 mneme import large.mneme new
contains err "they differ in what they keep of the memory: one of them was trimmed"

# Recording again finds that it is there.
expect 0 mneme record -rdb db --device cpu -- ./app
[ "$(mneme ls db --json | python3 -c 'import json,sys; print(sum(len(k["instances"]) for k in json.load(sys.stdin)["kernels"]))')" = 3 ] ||
  fail "it was recorded again"

# A candidate that writes into what was dropped is wrong, even if it clears it.
expect 0 mneme ir new ends -o ends.ll
python3 - <<'P'
import re
text = open("ends.ll").read()
# Before each return of the kernel a store into the middle of the allocation, through the first argument.
head = re.search(r"define [^\n]*@_Z4ends[^\n(]*\(([^\n]*?)%(\w+)", text)
begin = head.start()
end = text.index("\n}", begin)
body = text[begin:end]
body = re.sub(r"\n  ret void", f"\n  %planted = getelementptr float, ptr %{head[2]}, i64 524288\n  store float 0.0, ptr %planted\n  ret void", body, count=1)
open("wrong.ll", "w").write(text[:begin] + body + text[end:])
P
expect 1 mneme replay new --ir wrong.ll --device cpu
contains out '"verified": false'

# Machine code and PTX, whose accesses nothing notes, are left whole, on whichever device, and what to do is said.
if [ -n "${MNEME_TEST_DRIVER:-}" ]; then
  for image in "$MNEME_TEST_DRIVER_CUBIN" "$CASE_FOLDER/../../mneme/record/driver/testing/add_one.ptx"; do
    rm -rf driver-db
    expect 0 env "LD_LIBRARY_PATH=$MNEME_TEST_DRIVER" mneme record -rdb driver-db --device cuda --vass 1 -- "$MNEME_TEST_DRIVER_PROGRAM" dlsym "$image" launch
    before=$(cd driver-db && find . -type f | sort | xargs md5sum)
    for device in cuda cpu; do
      expect 1 env "LD_LIBRARY_PATH=$MNEME_TEST_DRIVER" mneme trim driver-db --device $device
      contains out "left as it was: which memory the launch touches cannot be found out: no IR: the kernel was recorded as "
      contains out ", without LLVM IR, into which notes of its accesses would be put, on whichever device: trim the recording of a build that has it (see \`mneme config\`), or keep this one whole"
      [ "$(cd driver-db && find . -type f | sort | xargs md5sum)" = "$before" ] || fail "it was changed"
    done
  done
fi

# What is not right as it is, is left.
cp -r whole hurt
expect 2 mneme trim hurt nothing --device cpu
expect 2 mneme trim nowhere --device cpu
