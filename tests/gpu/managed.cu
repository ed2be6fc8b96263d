// Managed memory, which the host fills and reads, kernels change, and a list lies in with the host's own pointers.
#include <cstdio>

struct Node {
  float value;
  Node* next;
};

__global__ void scale(float* data, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= by;
}
__global__ void sum(const Node* first, float* out) {
  float sum = 0;
  for (const Node* node = first; node; node = node->next) sum += node->value;
  *out = sum;
}

int main() {
  const int n = 50000, nodes = 100;
  float *data, *out;
  Node* list;
  if (cudaMallocManaged(&data, n * sizeof(float)) || cudaMallocManaged(&out, sizeof(float)) ||
      cudaMallocManaged(&list, nodes * sizeof(Node)))
    return 1;
  for (int i = 0; i < n; ++i) data[i] = float(i);
  for (int i = 0; i < nodes; ++i) list[i] = {float(i), i + 1 < nodes ? &list[i + 1] : nullptr};
  scale<<<(n + 255) / 256, 256>>>(data, 2, n);
  if (cudaDeviceSynchronize()) return 2;
  data[0] = 7;
  scale<<<(n + 255) / 256, 256>>>(data, 3, n);
  sum<<<1, 1>>>(list, out);
  if (cudaDeviceSynchronize()) return 3;
  const bool right = data[0] == 21 && data[n - 1] == 299994 && *out == 4950;
  std::printf("managed: %s\n", right ? "PASS" : "FAIL");
  return cudaFree(data) || cudaFree(out) || cudaFree(list) || !right;
}
