# Kernels that read and write the host's memory: allocated for the device, and registered. Recorded with it, and replayed.
cat >zero_copy.cu <<'SOURCE'
#include <cstdio>
#include <cstdlib>
__global__ void scale(const float* in, float* out, const float* factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * *factor;
}
#define CHECK(call) do { cudaError_t code = (call); if (code != cudaSuccess) { std::printf("%s: %s\n", #call, cudaGetErrorString(code)); return 1; } } while (0)
const char* type_of(const void* pointer) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) return "error";
  const char* names[] = {"unregistered", "host", "device", "managed"};
  bool same = attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pointer && attributes.devicePointer == pointer;
  return same ? "host, one address" : names[attributes.type];
}
int main() {
  const int n = 50000;
  float *in, *out, *factor, *seen;
  CHECK(cudaHostAlloc(&in, n * sizeof(float), cudaHostAllocMapped));
  CHECK(cudaMallocHost(&factor, sizeof(float)));
  out = static_cast<float*>(std::aligned_alloc(4096, 1 << 20));
  CHECK(cudaHostRegister(out + 100, n * sizeof(float), cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&seen, in, 0));
  unsigned flags = 0;
  CHECK(cudaHostGetFlags(&flags, in));
  std::printf("%s, %s, %s, %s\n", type_of(in), type_of(factor + 0), type_of(out + 200), type_of(&n));
  std::printf("%d %u\n", seen == in, flags);
  for (int i = 0; i < n; ++i) in[i] = i;
  *factor = 2;
  scale<<<(n + 255) / 256, 256>>>(seen, out + 100, factor, n);
  CHECK(cudaDeviceSynchronize());
  *factor = 3;
  scale<<<(n + 255) / 256, 256>>>(out + 100, in, factor, n);
  CHECK(cudaDeviceSynchronize());
  std::printf("%g %g\n", out[100 + 7], in[n - 1]);
  float* device;
  CHECK(cudaMalloc(&device, n * sizeof(float)));
  CHECK(cudaMemcpyAsync(device, in, n * sizeof(float), cudaMemcpyDefault));
  CHECK(cudaMemcpy(in, device, sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaHostUnregister(out + 100));
  std::printf("%s\n", type_of(out + 100));
  std::printf("%s\n", cudaGetErrorString(cudaFreeHost(out + 100)));
  cudaGetLastError();
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(factor));
  CHECK(cudaFreeHost(nullptr));
  CHECK(cudaGetLastError());
  std::puts("done");
  return 0;
}
SOURCE
compile zero_copy.cu zero_copy
for device in $DEVICES; do
  expect 0 mneme run --device "$device" -- ./zero_copy
  mv out bare
  contains bare "14 299994"
  contains bare "host, one address, host, one address, host, one address, unregistered"
  contains bare done
  expect 0 mneme record -rdb "db-$device" --device "$device" -- ./zero_copy
  cmp -s out bare || fail "the program's output differs when it is recorded"
  contains err "recorded 2 launches of 1 kernel"
  lacks err "not recorded"
  kernel=$(echo "db-$device"/[0-9a-f]*.json)
  expect 0 mneme show --check --json "$kernel"
  [ "$(json out '[i["host_memory"] for i in d["instances"]]')" = "[3, 3]" ] || fail "three pieces of host memory in each instance"
  for instance in $(json out '" ".join(i["dynamic_hash"] for i in d["instances"])'); do
    for try in 1 2 3 4; do  # the place of registered memory may be taken
      status=0
      mneme replay -rdb "$kernel" -rid "$instance" --device "$device" --iterations 2 "default<O2>" >out 2>err || status=$?
      if [ "$status" -eq 2 ] && grep -q "(cudaHostRegister): try again" out err; then continue; fi
      break
    done
    [ "$status" -eq 0 ] || fail "a replay with host memory ended with $status"
    [ "$(json out 'd["result"]["verified"]')" = True ] || fail "not verified"
  done
  # A kernel that leaves a part of the host's memory out is seen.
  expect 1 mneme replay -rdb "$kernel" -rid "$instance" --device "$device" --grid-dim-x 10 "default<O2>"
  contains out "host memory 0x7c00000"
done
