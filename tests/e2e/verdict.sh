# Tolerances, mneme diff, mneme check, several instances: on a sum that another launch shape rounds in other places.
cat >sum.cu <<'SOURCE'
#include <cstdio>
#include <cstdlib>
__device__ float factor = 0.5f;
__global__ void sum(const float* values, int n, float* totals) {
  float share = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) share += values[i] * factor;
  __shared__ float shares[256];
  shares[threadIdx.x] = share;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0;
  for (int i = 0; i < blockDim.x; ++i) total += shares[i];
  totals[0] = total;
}
int main() {
  const int n = 100000;
  float* host = static_cast<float*>(std::malloc(n * sizeof(float)));
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i * 2654435761u % 1000003) / 1000003;
  float *values, *totals;
  if (cudaMalloc(&values, n * sizeof(float)) || cudaMalloc(&totals, 64 * sizeof(float)) || cudaMemset(totals, 0, 64 * sizeof(float))) return 90;
  if (cudaMemcpy(values, host, n * sizeof(float), cudaMemcpyHostToDevice)) return 91;
  sum<<<1, 256>>>(values, n, totals);
  sum<<<1, 256>>>(values, n / 2, totals + 1);
  return cudaDeviceSynchronize() || cudaFree(totals) || cudaFree(values);
}
SOURCE
compile sum.cu sum
expect 0 mneme record -rdb db --device cpu -- ./sum
kernel=$(echo db/[0-9a-f]*.json)
expect 0 mneme show --json "$kernel"
read -r first second <<<"$(json out '" ".join(i["dynamic_hash"] for i in d["instances"])')"

# Fewer threads add in another order: not equal to the byte, and within a tolerance.
other=(--device cpu --block-dim-x 64 --iterations 2)
expect 0 mneme replay -rdb "$kernel" -rid "$first" --device cpu --iterations 2
expect 1 mneme replay -rdb "$kernel" -rid "$first" "${other[@]}"
expect 0 mneme replay -rdb "$kernel" -rid "$first" "${other[@]}" --tolerance 'totals: f32, 1e-4, relative'
[ "$(json out 'd["configuration"]["tolerance"][0]["buffer"], d["result"]["tolerances"][0]["where"], d["result"]["tolerances"][0]["within"]')" = \
  "('totals', \"argument 'totals'\", True)" ] || fail "the tolerance is not in the result"
mv out configuration.json
expect 0 mneme replay -rdb "$kernel" -rid "$first" --config configuration.json
expect 1 mneme replay -rdb "$kernel" -rid "$first" "${other[@]}" --tolerance 'totals: f32, 1e-12, relative'
expect 2 mneme replay -rdb "$kernel" -rid "$first" "${other[@]}" --tolerance 'total: f32, 1e-4, relative'
contains err "there is no buffer 'total' in the recorded launch"
contains err "argument 'totals'"
expect 2 mneme replay -rdb "$kernel" -rid "$first" --device cpu --tolerance 'totals: float, 1e-4, relative'
contains err "'float' is no element type"

# Several instances: right on each, or not right.
expect 0 mneme replay -rdb "$kernel" --device cpu --iterations 1 -rid "$first" -rid "$second"
[ "$(json out 'd["verified"], [i["record_id"] for i in d["instances"]]')" = "(True, ['$first', '$second'])" ] || fail "two instances"
expect 0 mneme replay -rdb "$kernel" --device cpu --iterations 1 --all-instances
[ "$(json out 'len(d["instances"])')" = 2 ] || fail "all instances"
# An option takes one value: the pipeline may stand behind it.
expect 0 mneme replay -rdb "$kernel" --device cpu -rid "$first" "default<O1>"
[ "$(json out 'd["configuration"]["passes"]')" = "default<O1>" ] || fail "the pipeline behind -rid"
expect 0 mneme diff --device cpu --dtype totals:u32 "$kernel" -rid "$first" "default<O1>"
expect 1 mneme replay -rdb "$kernel" --all-instances "${other[@]}"
[ "$(json out 'd["verified"]')" = False ] || fail "instances that are not right"
expect 64 mneme replay -rdb "$kernel" --all-instances -rid "$first"

# What differs, by the type of the recorded code's accesses.
expect 0 mneme diff "$kernel" -rid "$first" --device cpu
contains out "no byte differs"
expect 1 mneme diff "$kernel" -rid "$first" "${other[@]}" --png where.png
contains out "argument 'totals' at 0x7a"
contains out "64 f32: 1 differ"
contains out "worst ulp"
[ "$(head -c 4 where.png | tail -c 3)" = PNG ] || fail "the picture is none"
expect 1 mneme diff "$kernel" -rid "$first" "${other[@]}" --json --dtype totals:u32
[ "$(json out 'd["buffers"][0]["type"], d["buffers"][0]["differing"]')" = "('u32', 1)" ] || fail "the type that was given"

# The same every time; and what is not gets the tolerance that accepts it.
expect 0 mneme check "$kernel" -rid "$first" --device cpu --runs 3
contains out "3 runs, deterministic, and as recorded"
expect 1 mneme check "$kernel" -rid "$first" --runs 2 --device cpu --block-dim-x 64
contains out "2 runs, deterministic, but not as recorded"
contains out "accepted with --tolerance 'totals: f32, "
tolerance=$(sed -n "s/.*--tolerance '\(.*\)'/\1/p" out)
expect 0 mneme replay -rdb "$kernel" -rid "$first" "${other[@]}" --tolerance "$tolerance"
expect 0 mneme check "$kernel" -rid "$first" --runs 2 --device cpu --block-dim-x 64 --tolerance "$tolerance" --json
[ "$(json out 'd["deterministic"], d["runs"]')" = "(True, 2)" ] || fail "the report as JSON"

# What is written where nothing was recorded is a difference, though every buffer is as recorded: behind the 64 sums.
expect 0 mneme ir "$kernel" -rid "$first" --stage recorded -o recorded.ll
last=$(grep -n "store float" recorded.ll | tail -n 1 | cut -d: -f1)
beside='&\n  %behind = getelementptr float, ptr \2, i64 64\n  store float \1, ptr %behind, align 4'
sed "${last}s/^ *store float \([^,]*\), ptr \([^,]*\),.*/$beside/" recorded.ll >behind.ll
expect 1 mneme diff "$kernel" -rid "$first" --device cpu --ir behind.ll
contains out "0 B behind the end of allocation 0x7a"
lacks out "differ"
expect 1 mneme check "$kernel" -rid "$first" --device cpu --runs 2 --ir behind.ll
contains out "behind the end of allocation 0x7a"

# Another number where zero was recorded.
beside=${beside/i64 64/i64 1}
sed "${last}s/^ *store float \([^,]*\), ptr \([^,]*\),.*/$beside/" recorded.ll >zero.ll
expect 1 mneme diff "$kernel" -rid "$first" --device cpu --ir zero.ll
contains out "zero recorded                   1 "
lacks out "no error"

# All that belongs to a kernel is checked, before its launches and after them.
expect 0 mneme show --json "$kernel"
pages=$(($(json out 'd["instances"][0]["pages"]') + 2))
expect 0 mneme show --check "$kernel"
# The second begins where the first ends, and each changes one page.
contains out "checked: the IR, 2 instances and $pages pages: all whole"

# What is within a tolerance each time need not be the same each time.
cat >order.cu <<'SOURCE'
__global__ void order(float* total) { atomicAdd(total, 1.0f / static_cast<float>(1 + blockIdx.x * 37 % 101)); }
__global__ void fill(float* places) { places[threadIdx.x] = static_cast<float>(1 + threadIdx.x); }
int main() {
  float *total, *places;
  if (cudaMalloc(&total, sizeof(float)) || cudaMemset(total, 0, sizeof(float)) || cudaMalloc(&places, 64 * sizeof(float))) return 90;
  order<<<96, 1>>>(total);
  fill<<<1, 64>>>(places);
  return cudaDeviceSynchronize() || cudaFree(total) || cudaFree(places);
}
SOURCE
compile order.cu order
expect 0 mneme record -rdb orders --device cpu -- ./order
expect 1 mneme check orders order --device cpu --runs 5 --seed 1 --tolerance 'total: f32, 1e-3, relative'
contains out "5 runs, not deterministic"
# Numbers that fewer threads do not write are counted from the first on.
expect 1 mneme diff orders fill --device cpu --block-dim-x 48
contains out "16 elements were not written by this configuration, the first at index 48"
