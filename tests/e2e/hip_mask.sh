# Masks and trimming of HIP recordings: what a kernel only writes is made wrong before the run that is verified, and what it does not touch goes.
needs_hip
compile_hip "$CASE_FOLDER/programs/masked.cu" masked
expect 0 mneme record -rdb db --device cpu --skip 1 -- ./masked
kernel() { grep -l "\"demangled\": \"$1(" db/[0-9a-f]*.json || fail "there is no kernel $1"; }
replay() { mneme replay --device cpu --iterations 1 -rdb "$(kernel "$1")" "${@:2}"; }
mask() { json out '"{} {} {}".format(d["result"]["verified"], d["result"]["masked_bytes"], d["result"]["mask"])'; }
is() { [ "$(mask)" = "$1" ] || fail "'$(mask)' is not '$1'"; }

# Output that was right before: nothing has to be written, unless it is masked.
for name in twice letters into_table; do
  expect 0 replay "$name" --no-mask --block-dim-x 64 --grid-dim-x 16
  is "True 0 off"
  expect 1 replay "$name" --block-dim-x 64 --grid-dim-x 16
done
expect 0 replay twice
is "True 4000 on"
expect 0 replay twice "default<O0>"
is "True 4000 on"
expect 0 replay letters
is "True 1000 on"
expect 0 replay into_table
is "True 4000 on"
for name in count highest bits; do
  expect 0 replay $name
  is "True 0 the kernel writes no byte that it does not also read"
done

# In the worker of a pool, which shares it.
expect 0 mneme sweep "$(kernel into_table)" --device cpu --iterations 1 --grid 'block.x=32|64' --results-dir swept
contains out "2 of 2 configurations done: 1 verified, 1 failed"
contains out "1 wrong_result, as block.x=64"

# Trimming.
cat >ends.hip <<'SOURCE'
#include <vector>
// Reads the first and writes the last elements of one allocation; by is a structure that is an argument.
struct By { float add; int size; const float* from; };
__global__ void ends(float* data, int n, By by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[by.size - n + i] = by.from[i] + by.add;
}
int main() {
  const int size = 1 << 20;
  std::vector<float> values(size);
  for (int i = 0; i < size; ++i) values[i] = float(i * 2654435761u >> 8);
  float* data;
  if (hipMalloc(&data, size * sizeof(float))) return 1;
  if (hipMemcpy(data, values.data(), size * sizeof(float), hipMemcpyHostToDevice)) return 2;
  ends<<<8, 128>>>(data, 1000, By{1, size, data});
  return hipDeviceSynchronize();
}
SOURCE
compile_hip ends.hip ends
expect 0 mneme record -rdb trimmed --device cpu -- ./ends
expect 0 mneme trim trimmed ends --dry-run --device cpu
contains out "62 of 64 pages can be dropped, 3.88 MiB of memory"
expect 0 mneme trim trimmed ends --device cpu
contains out "62 of 64 pages dropped, 3.88 MiB of memory"
expect 0 mneme fsck trimmed
expect 0 mneme replay trimmed ends --device cpu --iterations 1
contains out '"verified": true'
