# Memory of the host that no call of CUDA has allocated or registered, which kernels of the CPU device reach: a launch that is given
# it passes through, and one that is recorded beside it says so.
cat >app.cu <<'C'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cuda_runtime.h>
struct View { float* data; int n; };
struct Named { const char* name; float value; };  // the name is the host's
__global__ void scale(float* data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] *= 2;
}
__global__ void scale_view(View view, float* out) {
  for (int i = threadIdx.x; i < view.n; i += blockDim.x) out[i] = view.data[i] * 2;
}
__global__ void sum(const Named* all, int n, float* out) {
  *out = 0;
  for (int i = 0; i < n; ++i) *out += all[i].value;
}
constexpr int n = 1000;
float of_program[n];
float* fill(float* data) {
  for (int i = 0; i < n; ++i) data[i] = i;
  return data;
}
void run(const char* what, float* data) {
  scale<<<1, 64>>>(fill(data), n);
  cudaDeviceSynchronize();
  std::printf("%s %g\n", what, data[n - 1]);
}
int main(int, char** arguments) {
  const size_t bytes = n * sizeof(float);
  float on_stack[n];
  float* registered = static_cast<float*>(std::aligned_alloc(4096, 1 << 20));
  if (strcmp(arguments[1], "given") == 0) {
    run("malloc", static_cast<float*>(std::malloc(bytes)));
    run("stack", on_stack);
    run("variable", of_program);
    int file = open("data", O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, bytes) != 0) return 1;
    run("file", static_cast<float*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)));
  } else if (strcmp(arguments[1], "told") == 0) {
    cudaHostRegister(registered, bytes, cudaHostRegisterMapped);
    run("registered", registered);
    scale<<<1, 64>>>(registered + n, 0);  // an end of it
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  } else {
    float* out;
    Named* all;
    cudaMalloc(&out, bytes);
    cudaMalloc(&all, 2 * sizeof(Named));
    Named names[2] = {{"one", 1}, {"two", 2}};
    cudaMemcpy(all, names, sizeof names, cudaMemcpyHostToDevice);
    sum<<<1, 1>>>(all, 2, out);
    float* far = static_cast<float*>(mmap(reinterpret_cast<void*>(0x10000000000), bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    float first[2] = {};
    cudaMemcpy(first, out, sizeof(float), cudaMemcpyDeviceToHost);
    scale_view<<<1, 64>>>({fill(far), n}, out);
    cudaMemcpy(first + 1, out + n - 1, sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%g %g\n", first[0], first[1]);
  }
}
C
compile app.cu app
pageable="an argument points to memory of the host (of malloc, the stack or mmap) that the device reaches by itself"
for what in given told held; do
  expect 0 mneme run --device cpu -- ./app "$what"
  mv out bare
  expect 0 mneme record -rdb "$what" --device cpu -- ./app "$what"
  cmp -s out bare || fail "the program's output differs when it is recorded"
  mv err "$what.err"
done
grep -qx "3 1998" bare || fail "the program's result"

contains given.err "$pageable"
contains given.err "4 launches"
contains given.err "recorded nothing"
contains told.err "recorded 2 launches"
lacks told.err "$pageable"

# Pointers within memory and structs may be the host's alone, or not.
contains held.err "recorded 2 launches of 2 kernels"
lacks held.err "$pageable"
expect 0 mneme show held sum
contains out "its memory holds addresses of host memory that was not recorded (of malloc, the stack or mmap), which a replay does not have"
expect 0 mneme show --json held sum
[ "$(json out '[i["attributes"] for i in d["instances"]]')" = "[{'pageable_pointers': 'memory'}]" ] || fail "the attribute"
expect 0 mneme replay held sum --device cpu --iterations 2
contains out '"verified": true'
expect 0 mneme show held scale_view
contains out "its arguments hold addresses of host memory"
expect 2 mneme replay held scale_view --device cpu
contains out "its arguments hold addresses of host memory that was not recorded (of malloc, the stack or mmap): if the kernel uses one of them, this launch cannot be replayed"

# So it is with all memory, too.
expect 0 mneme record -rdb all --device cpu --all-memory -- ./app held
expect 0 mneme show --json all sum
[ "$(json out '[i["attributes"] for i in d["instances"]]')" = "[{'pageable_pointers': 'memory'}]" ] || fail "the attribute with all memory"
