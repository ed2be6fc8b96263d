# What a launch is recorded with: what pointers lead to from its arguments, or all memory.
cat >app.cu <<'C'
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
struct Node { Node* next; float* values; };
__device__ float* total;
__global__ void walk(const Node* node, int n) {
  for (; node; node = node->next)
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&total[i], node->values[i]);
}
// Given one array and how far away another is, as no pointer says.
__global__ void far_away(float* from, long long distance) { from[distance + threadIdx.x] += 1; }
template <typename T> T* on_device(const std::vector<T>& values) {
  T* memory;
  if (cudaMalloc(&memory, values.size() * sizeof(T)) != cudaSuccess) return nullptr;
  cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return memory;
}
int main(int, char** arguments) {
  const int n = 1000;
  char* large;
  cudaMalloc(&large, 64 << 20);
  cudaMemset(large, arguments[2] ? 9 : 7, 64 << 20);
  Node* list = nullptr;
  for (int i = 0; i < 20; ++i) list = on_device<Node>({{list, on_device(std::vector<float>(n, float(i)))}});
  float* sum = on_device(std::vector<float>(n));
  cudaMemcpyToSymbol(total, &sum, sizeof sum);
  float* from = on_device(std::vector<float>(n));
  cudaMalloc(&large, 64 << 20);
  float* to = on_device(std::vector<float>(n));
  if (strcmp(arguments[1], "walk") == 0) walk<<<1, 128>>>(list, n);
  else far_away<<<1, 128>>>(from, to - from);
  float out = -1;
  cudaMemcpy(&out, strcmp(arguments[1], "walk") == 0 ? sum : to, sizeof out, cudaMemcpyDeviceToHost);
  printf("%g\n", out);
  return cudaDeviceSynchronize();
}
C
compile app.cu app
for device in $DEVICES; do
  expect 0 mneme record -rdb "$device" --device "$device" -- ./app walk
  [ "$(cat out)" = 190 ] || fail "the program's result"
  expect 0 mneme show "$device" walk
  contains out "reachable: what pointers lead to"
  expect 0 mneme show --json "$device" walk
  # The list, its values and the sum, which a variable points to.
  [ "$(json out '[(i["memory_extent"], i["allocations"], i["memory_bytes"]) for i in d["instances"]]')" = "[('reachable', 41, 84328)]" ] ||
    fail "the recorded memory"
  expect 0 mneme replay "$device" walk --device "$device" --iterations 2
  contains out '"verified": true'
  # With other values in memory that it does not reach it is the same launch.
  expect 0 mneme record -rdb "$device" --device "$device" -- ./app walk other
  contains err "1 launch was the same as a recorded one"

  expect 0 mneme record -rdb "$device-all" --device "$device" --all-memory -- ./app walk
  expect 0 mneme show "$device-all" walk
  contains out "all: whatever the program had allocated"
  expect 0 mneme show --json "$device-all" walk
  [ "$(json out '[(i["memory_extent"], i["allocations"], i["memory_bytes"] >> 20) for i in d["instances"]]')" = "[('all', 45, 128)]" ] ||
    fail "all memory"
  expect 0 mneme replay "$device-all" walk --device "$device" --iterations 2
  contains out '"verified": true'

  # The limit counts what is recorded.
  expect 0 mneme record -rdb "$device-limited" --device "$device" --max-launch-bytes 1M -- ./app walk
  lacks err "--max-launch-bytes"
  expect 0 mneme record -rdb "$device-limited" --device "$device" --max-launch-bytes 1M --all-memory -- ./app walk
  contains err "--max-launch-bytes"
  expect 0 mneme record -rdb "$device-limited-2" --device "$device" --max-launch-bytes 50K -- ./app walk
  contains err "--max-launch-bytes"

  # What cannot be found is not there, and an access to it faults.
  expect 0 mneme record -rdb "$device-far" --device "$device" -- ./app far
  [ "$(cat out)" = 1 ] || fail "the program's result"
  expect 2 mneme replay "$device-far" far_away --device "$device"
  contains out "if the program's own code faults, record it with --all-memory"
  expect 0 mneme record -rdb "$device-far-all" --device "$device" --all-memory -- ./app far
  expect 0 mneme replay "$device-far-all" far_away --device "$device" --iterations 2
  contains out '"verified": true'
done
