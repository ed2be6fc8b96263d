// Graphs of kernels however HIP makes, changes and launches them; what each comes to is printed, and "done" at the end.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                         \
  do {                                                                                                      \
    const hipError_t code = call;                                                                           \
    if (code != hipSuccess) std::printf("FAILED line %d: %s: %s\n", __LINE__, #call, hipGetErrorName(code)); \
  } while (0)

__global__ void step(int* data, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 3 + value + i % 5;
}
// Runs as a node that another kernel was in, and nowhere else.
__global__ void turn(int* data, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value - data[i];
}

int n = 512, value = 1;
int *data, *copy;
hipStream_t stream;
std::vector<int> host(n);
int calls = 0;
void count_call(void*) { ++calls; }

void tell(const char* what) {
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(host.data(), data, n * sizeof(int), hipMemcpyDeviceToHost));
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<unsigned>(host[i]) * (i % 7 + 1);
  std::printf("%s: %u, %d calls of the host\n", what, sum, calls);
}
void launch(hipGraphExec_t graph, int times, const char* what) {
  for (int i = 0; i < times; ++i) CHECK(hipGraphLaunch(graph, stream));
  tell(what);
}

hipGraph_t capture(int first, int second) {
  hipGraph_t graph = nullptr;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  step<<<n / 128, 128, 0, stream>>>(data, first, n);
  step<<<n / 64, 64, 0, stream>>>(data, second, n);
  CHECK(hipStreamEndCapture(stream, &graph));
  return graph;
}

int main() {
  hipStream_t other;
  CHECK(hipMalloc(reinterpret_cast<void**>(&data), n * sizeof(int)));
  CHECK(hipMalloc(reinterpret_cast<void**>(&copy), n * sizeof(int)));
  CHECK(hipMemset(data, 0, n * sizeof(int)));
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamCreate(&other));
  step<<<n / 128, 128, 0, stream>>>(data, 7, n);  // plain
  tell("plain");

  // Captured, and launched again and again.
  const hipGraph_t captured = capture(1, 2);
  hipGraphExec_t running;
  CHECK(hipGraphInstantiate(&running, captured, nullptr, nullptr, 0));
  launch(running, 3, "captured");

  // Updated by another one that is captured.
  const hipGraph_t next = capture(3, 4);
  hipGraphNode_t wrong = nullptr;
  hipGraphExecUpdateResult result;
  CHECK(hipGraphExecUpdate(running, next, &wrong, &result));
  launch(running, 1, "updated");

  // Made by hand, with nodes of other kinds between its kernels.
  hipGraph_t made;
  hipGraphNode_t first, second, copied, called;
  hipGraphExec_t by_hand;
  void* arguments[] = {&data, &value, &n};
  hipKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(step);
  kernel.gridDim = dim3(n / 256), kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  CHECK(hipGraphCreate(&made, 0));
  CHECK(hipGraphAddKernelNode(&first, made, nullptr, 0, &kernel));
  CHECK(hipGraphAddMemcpyNode1D(&copied, made, &first, 1, copy, data, n * sizeof(int), hipMemcpyDeviceToDevice));
  hipHostNodeParams call{};
  call.fn = count_call;
  CHECK(hipGraphAddHostNode(&called, made, &copied, 1, &call));
  value = 2;
  CHECK(hipGraphAddKernelNode(&second, made, &called, 1, &kernel));
  CHECK(hipGraphInstantiate(&by_hand, made, nullptr, nullptr, 0));
  launch(by_hand, 2, "made");

  // Another kernel in a node: of what runs, and of the graph, from which another is instantiated.
  kernel.func = reinterpret_cast<void*>(turn);
  CHECK(hipGraphExecKernelNodeSetParams(by_hand, second, &kernel));
  launch(by_hand, 1, "set in the executable");
  value = 5;
  CHECK(hipGraphKernelNodeSetParams(second, &kernel));
  hipGraphExec_t again;
  CHECK(hipGraphInstantiateWithFlags(&again, made, 0));
  launch(again, 1, "set in the graph");

  // A clone, which is changed by itself.
  hipGraph_t clone;
  hipGraphNode_t in_clone;
  hipGraphExec_t cloned;
  CHECK(hipGraphClone(&clone, made));
  CHECK(hipGraphNodeFindInClone(&in_clone, first, clone));
  value = 9;
  kernel.func = reinterpret_cast<void*>(step);
  CHECK(hipGraphKernelNodeSetParams(in_clone, &kernel));
  CHECK(hipGraphInstantiate(&cloned, clone, nullptr, nullptr, 0));
  launch(cloned, 1, "clone");
  launch(again, 1, "and what it is of");

  // A child graph, with a kernel behind it.
  hipGraph_t parent;
  hipGraphNode_t child, last;
  hipGraphExec_t family;
  CHECK(hipGraphCreate(&parent, 0));
  CHECK(hipGraphAddChildGraphNode(&child, parent, nullptr, 0, captured));
  CHECK(hipGraphAddKernelNode(&last, parent, &child, 1, &kernel));
  CHECK(hipGraphInstantiate(&family, parent, nullptr, nullptr, 0));
  launch(family, 2, "child");

  // A launch into another stream while one is captured.
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  step<<<n / 128, 128, 0, other>>>(data, 6, n);
  hipGraph_t empty = nullptr;
  CHECK(hipStreamEndCapture(stream, &empty));
  CHECK(hipStreamSynchronize(other));
  tell("beside a capture");

  step<<<n / 128, 128, 0, stream>>>(data, 8, n);  // plain
  tell("plain");
  for (hipGraphExec_t one : {running, by_hand, again, cloned, family}) CHECK(hipGraphExecDestroy(one));
  for (hipGraph_t one : {captured, next, made, clone, parent, empty}) CHECK(hipGraphDestroy(one));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipStreamDestroy(other));
  std::printf("pending %d\ndone\n", static_cast<int>(hipGetLastError()));
}
