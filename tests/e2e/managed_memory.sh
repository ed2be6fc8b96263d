# Managed memory on the CPU device: host and kernels share it, advice is kept, and launches with it are recorded and replayed.
cat >managed.cu <<'SOURCE'
#include <cstdio>
#define CHECK(call) do { cudaError_t code = (call); if (code != cudaSuccess) { std::printf("%s: %s\n", #call, cudaGetErrorString(code)); return 1; } } while (0)
struct Node { float value; Node* next; };
// A list in managed memory: its pointers are the host's own.
__global__ void sum(const Node* first, float* out) {
  float sum = 0;
  for (const Node* node = first; node; node = node->next) sum += node->value;
  *out = sum;
}
__global__ void scale(float* data, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= by;
}
int main() {
  const int n = 50000;
  float *data, *out;
  Node* nodes;
  int managed = 0, concurrent = 0, preferred = 0;
  CHECK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
  CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  CHECK(cudaMallocManaged(&data, n * sizeof(float)));
  CHECK(cudaMallocManaged(&out, sizeof(float), cudaMemAttachHost));
  CHECK(cudaMallocManaged(&nodes, 100 * sizeof(Node)));
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, data + 17));
  cudaMemLocation device{};
  device.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemAdvise(data, n * sizeof(float), cudaMemAdviseSetPreferredLocation, device));
  CHECK(cudaMemPrefetchAsync(data, n * sizeof(float), device, 0));
  CHECK(cudaMemRangeGetAttribute(&preferred, sizeof preferred, cudaMemRangeAttributePreferredLocation, data, n * sizeof(float)));
  std::printf("%d %d %d %d %d\n", managed, concurrent, attributes.type == cudaMemoryTypeManaged, attributes.hostPointer == data + 17, preferred);
  for (int i = 0; i < n; ++i) data[i] = i;
  for (int i = 0; i < 100; ++i) nodes[i] = {float(i), i < 99 ? &nodes[i + 1] : nullptr};
  scale<<<(n + 255) / 256, 256>>>(data, 2, n);
  CHECK(cudaDeviceSynchronize());
  data[0] = 7;
  scale<<<(n + 255) / 256, 256>>>(data, 3, n);
  sum<<<1, 1>>>(nodes, out);
  CHECK(cudaDeviceSynchronize());
  std::printf("%g %g %g\n", data[0], data[n - 1], *out);
  CHECK(cudaFree(data));
  CHECK(cudaFree(out));
  CHECK(cudaFree(nodes));
  return 0;
}
SOURCE
compile managed.cu managed
expect 0 mneme run --device cpu -- ./managed
mv out bare
contains bare "1 1 1 1 0"
contains bare "21 299994 4950"
expect 0 mneme record -rdb db --device cpu -- ./managed
cmp -s out bare || fail "the program's output differs when it is recorded"
contains err "recorded 3 launches of 2 kernels"
lacks err "not recorded"
# What the host has written between the launches is in the second one's recording.
for kernel in db/[0-9a-f]*.json; do
  expect 0 mneme show --check --json "$kernel"
  for instance in $(json out '" ".join(i["dynamic_hash"] for i in d["instances"])'); do
    expect 0 mneme replay -rdb "$kernel" -rid "$instance" --device cpu --iterations 2 "default<O3>"
    [ "$(json out 'd["result"]["verified"]')" = True ] || fail "not verified"
  done
done
