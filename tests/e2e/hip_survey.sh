# What programs of a public suite do in HIP: a survey of one that prints, allocates and hands values from lane to lane in several
# kernels, whose launches are also compiled for a GPU that is not there.
# timeout: 300
mneme config rocmdir >out 2>err || { grep -q "was built without HIP" err && skip "built without HIP"; fail "mneme config rocmdir"; }
cat >app.hip <<'SOURCE'
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdio>
__global__ void halves(__half* data) { data[threadIdx.x] = hrcp(data[threadIdx.x]); }
__global__ void hand_on(int* data) {
  __shared__ int cells[64];
  cells[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = cells[(threadIdx.x + 5) % 64];  // with no barrier: a wave runs in lockstep
}
__global__ void check(const int* data, int* wrong) {
  const int i = threadIdx.x;
  if (data[i] != (i + 5) % 64) printf("item %d is %d\n", i, data[i]), atomicAdd(wrong, 1);
}
__global__ void check_halves(const __half* data, int* wrong) {
  const int i = threadIdx.x;
  if (__half2float(data[i]) != 0.25f) printf("half %d\n", i), atomicAdd(wrong, 1);
}
__device__ int sum_of(int n) {
  int* cells = static_cast<int*>(malloc(n * sizeof(int)));
  int sum = 0;
  for (int i = 0; i < n; ++i) cells[i] = i;
  for (int i = 0; i < n; ++i) sum += cells[i];
  free(cells);
  return sum;
}
__global__ void heap(int* wrong) { if (sum_of(threadIdx.x + 1) != threadIdx.x * (threadIdx.x + 1) / 2) atomicAdd(wrong, 1); }
__global__ void heap_again(int* wrong) { if (sum_of(9) != 36) atomicAdd(wrong, 1); }
int main() {
  int items[64], *data = nullptr, *wrong = nullptr, found = -1;
  __half quarters[64], *reals = nullptr;
  for (int i = 0; i < 64; ++i) items[i] = i, quarters[i] = __float2half(4.0f);
  (void)hipMalloc(&data, sizeof items), (void)hipMalloc(&reals, sizeof quarters), (void)hipMalloc(&wrong, sizeof(int));
  (void)hipMemcpy(data, items, sizeof items, hipMemcpyHostToDevice), (void)hipMemset(wrong, 0, sizeof(int));
  (void)hipMemcpy(reals, quarters, sizeof quarters, hipMemcpyHostToDevice);
  halves<<<1, 64>>>(reals);
  hand_on<<<1, 64>>>(data);
  check<<<1, 64>>>(data, wrong);
  check_halves<<<1, 64>>>(reals, wrong);
  heap<<<1, 64>>>(wrong);
  heap_again<<<1, 64>>>(wrong);
  (void)hipMemcpy(&found, wrong, sizeof found, hipMemcpyDeviceToHost);
  std::puts(found == 0 ? "PASS" : "FAIL");
}
SOURCE
"$(mneme config cxx)" -O3 $(mneme config --hip cxxflags) app.hip -o app $(mneme config --hip ldflags)
cat >list.toml <<'LIST'
limit = 60
right = "PASS"
wrong = "FAIL"
[[program]]
command = "./app"
LIST
expect 0 python3 "$CASE_FOLDER/../../bench/survey.py" --mneme "$(command -v mneme)" --device cpu --results found --compile-for gfx942 list.toml
contains found/survey.md "1 of 1 (100.0 %) programs that run here by themselves are unchanged by recording; 0 more do not run, end or do right."
contains found/survey.md "4 of 6 (66.7 %) kernels that they launch have an instance. 4 of 4 (100.0 %) instances that do the same each time verify as built"
contains found/survey.md "without an instance: _Z10heap_againPi, _Z4heapPi (the kernel allocates memory itself (malloc in device code), which is not captured)"
contains found/survey.md "4 of 4 (100.0 %) instances are compiled"
