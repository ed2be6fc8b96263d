# Kernels in a shared library: linked and opened by dlopen, each with its own CUDA runtime and with a common one.
cat >library.cu <<'SOURCE'
static __global__ void add_one(int* x) { x[threadIdx.x] += 1; }
extern "C" int library_sum() {
  int *device, host[32];
  if (cudaMalloc(&device, sizeof host) != cudaSuccess) return -1;
  cudaMemset(device, 0, sizeof host);
  add_one<<<1, 32>>>(device);
  if (cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return -2;
  cudaFree(device);
  int sum = 0;
  for (int value : host) sum += value;
  return sum;
}
SOURCE
cat >main.cu <<'SOURCE'
#include <dlfcn.h>
#include <cstdio>
#ifdef LINKED
extern "C" int library_sum();
#endif
static __global__ void add_one(int* x) { x[threadIdx.x] += 2; }
int main() {
#ifndef LINKED
  void* library = dlopen("./liblibrary.so", RTLD_NOW);
  if (!library) { std::puts(dlerror()); return 1; }
  auto library_sum = reinterpret_cast<int (*)()>(dlsym(library, "library_sum"));
#endif
  int *device, host[32], sum = 0;
  if (cudaMalloc(&device, sizeof host) != cudaSuccess) return 2;
  cudaMemset(device, 0, sizeof host);
  add_one<<<1, 32>>>(device);
  if (cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
  for (int value : host) sum += value;
  std::printf("program %d library %d\n", sum, library_sum());
}
SOURCE
for cudart in static shared; do
  flags=$(mneme config ldflags --cudart $cudart)
  $(mneme config cxx) -O2 -fPIC -shared $(mneme config cxxflags) library.cu -o liblibrary.so $flags
  $(mneme config cxx) -O2 $(mneme config cxxflags) main.cu -o opens $flags -ldl
  $(mneme config cxx) -O2 -DLINKED $(mneme config cxxflags) main.cu -o linked -L. -llibrary -Wl,-rpath,"$PWD" $flags
  for device in $DEVICES; do
    for program in opens linked; do
      expect 0 mneme run --device "$device" -- "./$program"
      contains out "program 64 library 32"
    done
  done
done
# A program without kernels of its own is recordable by a library of its libraries, wherever their run paths say that these lie.
mkdir lib
mv liblibrary.so lib
echo 'extern "C" int library_sum(); int between() { return library_sum(); }' >between.cc
echo '#include <cstdio>
int between(); int main() { std::printf("library %d\n", between()); }' >plain.cc
$(mneme config cxx) -fPIC -shared between.cc -o lib/libbetween.so -Llib -llibrary -Wl,-rpath,'$ORIGIN'
$(mneme config cxx) plain.cc -o plain -Llib -lbetween -Wl,-rpath,'${ORIGIN}/lib' -Wl,-rpath-link,lib
expect 0 mneme run --device cpu -- ./plain
contains out "library 32"
lacks err "no recordable code"
