// Memory that a process shares with another by a handle (cudaIpcGetMemHandle): both add to it in turn. Prints the sum after each
// round. `mneme record` records the launches of the first process, whoever places its memory; those of the second are given
// memory of another process, and pass through.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kCount = 100'000, kRounds = 3;

#define CHECK(call)                                              \
  do {                                                           \
    if (cudaError_t error = (call); error != cudaSuccess) {      \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                              \
    }                                                            \
  } while (0)

__global__ void add(unsigned* words, unsigned value) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) words[i] += value + i % 3;
}

void launch(unsigned* words, unsigned value) {
  add<<<(kCount + 255) / 256, 256>>>(words, value);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

template <typename T>
T receive(int from) {
  T value{};
  if (read(from, &value, sizeof value) != sizeof value) std::exit(2);
  return value;
}
template <typename T>
void send(int to, const T& value) {
  if (write(to, &value, sizeof value) != sizeof value) std::exit(2);
}

void second_process(int from, int to) {
  void* words = nullptr;
  CHECK(cudaIpcOpenMemHandle(&words, receive<cudaIpcMemHandle_t>(from), cudaIpcMemLazyEnablePeerAccess));
  for (int round = 0; round < kRounds; ++round) {
    launch(static_cast<unsigned*>(words), receive<unsigned>(from));
    send(to, 0u);
  }
  CHECK(cudaIpcCloseMemHandle(words));
}

void first_process(int from, int to) {
  unsigned *words, *others;
  CHECK(cudaMalloc(&others, 100));  // so that what is shared does not stand alone in its place
  CHECK(cudaMalloc(&words, kCount * sizeof *words));
  CHECK(cudaMemset(words, 0, kCount * sizeof *words));
  CHECK(cudaDeviceSynchronize());
  cudaIpcMemHandle_t handle;
  CHECK(cudaIpcGetMemHandle(&handle, words));
  send(to, handle);
  static unsigned host[kCount];
  for (unsigned round = 0; round < kRounds; ++round) {
    launch(words, round);
    send(to, 10 * round);
    receive<unsigned>(from);
    CHECK(cudaMemcpy(host, words, sizeof host, cudaMemcpyDeviceToHost));
    unsigned long long sum = 0;
    for (const unsigned word : host) sum += word;
    std::printf("%llu\n", sum);
  }
}

}  // namespace

int main() {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 2;
  const pid_t second = fork();  // before either has a device
  if (second == 0) {
    second_process(there[0], back[1]);
    std::exit(0);
  }
  first_process(back[0], there[1]);
  int status = 0;
  waitpid(second, &status, 0);
  std::printf("the other process ended with %d\n", WEXITSTATUS(status));
  return 0;
}
