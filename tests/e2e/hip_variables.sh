# Variables of HIP programs: reached by pointers, told by the program, in relocatable device code.
needs_hip
cat >app.hip <<'SOURCE'
#include <cstdio>
__device__ float table[1024];
__device__ float* where = table;
__constant__ float by[2] = {1, 2};
__global__ void direct(float* p, int n) { int i = threadIdx.x; if (i < n) p[i] += by[0]; }
__global__ void indirect(int n) { int i = threadIdx.x; if (i < n) where[i] *= by[1]; }
int main() {
  float* p;
  if (hipGetSymbolAddress((void**)&p, HIP_SYMBOL(table))) return 1;
  direct<<<1, 256>>>(p, 256);
  indirect<<<1, 256>>>(256);
  const float other[2] = {3, 4};
  if (hipMemcpyToSymbol(HIP_SYMBOL(by), other, sizeof other)) return 2;
  direct<<<1, 256>>>(p, 256);
  float out[256];
  if (hipMemcpyFromSymbol(out, HIP_SYMBOL(table), sizeof out)) return 3;
  std::printf("%g\n", out[17]);
  return hipDeviceSynchronize();
}
SOURCE
compile_hip app.hip app
expect 0 mneme record -rdb db --device cpu -- ./app
[ "$(cat out)" = 5 ] || fail "the program's result"
expect 0 mneme ls --json db
[ "$(json out 'sorted(len(k["instances"]) for k in d["kernels"])')" = "[1, 2]" ] || fail "two kernels"
for kernel in db/[0-9a-f]*.json; do
  expect 0 mneme replay -rdb "$kernel" --device cpu --all-instances --iterations 1
  lacks out '"verified": false'
done
for launch in "direct#0" "indirect#0"; do
  expect 0 mneme replay db "$launch" --compile-only --arch gfx942
  [ "$(json out 'd["result"]["obj_size"] > 0')" = True ] || fail "what is compiled of $launch"
done

# What a program says of its buffers.
compile_hip "$CASE_FOLDER/programs/annotated_sum.cu" sum -DANNOTATED
expect 0 mneme record -rdb sums --device cpu -- ./sum
expect 0 mneme show --json sums sum
[ "$(json out '[(a["tag"], a["bytes"], a["tolerance"]) for a in d["instances"][0]["annotations"]]')" = \
  "[('total', 4, 'f32, 0.0001, relative'), ('', 16, 'f32, 0.0001, relative, L2')]" ] || fail "the annotations are not as they were said"
expect 0 mneme replay sums sum --device cpu --iterations 1 --block-dim-x 64 --grid-dim-x 3

# Device code in another file, by hand.
for source in main device; do
  $(mneme config cxx) -O1 $(mneme config --hip cxxflags --rdc) -I"$CASE_FOLDER/programs/as_hip" -include as_hip.h -x hip -c \
    "$CASE_FOLDER/programs/two_files/$source.cu" -o "$source.o"
done
$(mneme config cxx) main.o device.o -o by_hand $(mneme config --hip ldflags --rdc)
expect 0 mneme record -rdb relocatable --device cpu -- ./by_hand
contains out "rdc: PASS"
expect 0 mneme replay relocatable fill --device cpu --iterations 1
contains out '"verified": true'
expect 0 mneme replay relocatable fill --compile-only --arch gfx942
[ "$(json out 'd["result"]["obj_size"] > 0')" = True ] || fail "what is compiled of several files"
