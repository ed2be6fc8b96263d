# HIP programs run and are recorded on the CPU device, whatever of the runtime they call; and a source that is compiled for both vendors has
# recordings that differ in the target and the code alone.
# timeout: 600
mneme config rocmdir >out 2>err || { grep -q "was built without HIP" err && skip "built without HIP"; fail "mneme config rocmdir"; }
programs=$CASE_FOLDER/programs
cxx=$(mneme config cxx)

# Each call gives what HIP's documentation says, also while it is recorded.
$cxx -O2 $(mneme config --hip cxxflags) -Wno-everything "$programs/hip_api.hip" -o api $(mneme config --hip ldflags)
$cxx -O2 $(mneme config --hip cxxflags) -Wno-everything --offload-device-only -c "$programs/hip_module.hip" -o module.co
check_api() {
  expect 0 mneme "$@" -- ./api module.co
  [ "$(cat out)" = done ] || fail "calls gave something else under mneme $*"
  contains err "mneme: warning: hipIpcGetMemHandle is not available on the CPU device: it returns hipErrorNotSupported"
  [ "$(grep -c hipIpcGetMemHandle err)" = 1 ] || fail "it was said more than once"
}
check_api run --device cpu
check_api run
check_api record -rdb db --device cpu --max all
check_api profile --device cpu
contains err "fill(int*, int, int)"

# A GPU of another vendor is not what the program runs on.
if mneme run --help | grep -q "cuda or cpu"; then
  expect 2 mneme run --device cuda -- ./api
  contains err "--device cuda: the program calls the HIP runtime, which has no CUDA device: --device cpu"
fi

# What was recorded says what it is for, and is replayed here and compiled for another GPU.
expect 0 mneme ls db --json
for kernel in "fill(int*, int, int)" "add_one(int*, int)" "reverse(int*)" triple; do contains out "$kernel"; done
expect 0 mneme show db triple
contains out "compiled for  amdgcn gfx90a"
for kernel in "fill#0" "fill#5" "add_one#0" "add_one#1" "reverse#0" "triple#1"; do
  expect 0 mneme replay db "$kernel" --device cpu
  [ "$(json out 'd["result"]["verified"]')" = True ] || fail "the replay of $kernel is not verified"
done
expect 0 mneme replay db "triple#0" --compile-only --arch gfx90a
[ "$(json out 'd["result"]["reg_usage"] > 0')" = True ] || fail "code for gfx90a has registers"

# One source, two vendors.
cp "$programs/vendor.h" "$programs/both_vendors.cu" .
compile both_vendors.cu both_cuda -w
$cxx -w -O2 -std=c++17 $(mneme config --hip cxxflags) -x hip both_vendors.cu -x none -o both_hip $(mneme config --hip ldflags)
for vendor in cuda hip; do
  expect 0 mneme record -rdb "db-$vendor" --device cpu -- "./both_$vendor"
  contains out "20864.0 246896.0: ${vendor}Success"
  for kernel in weigh sum; do mneme show --json "db-$vendor" $kernel >"$vendor-$kernel.json"; done
done
cat >compare.py <<'PYTHON'
import json, sys
def same(value):
    """Without what is the target's or the code's: types of pointers and the alignment of variables are in docs/guide/hip.md."""
    if isinstance(value, dict):
        left_out = ("arch", "target", "static_hash", "images", "ir", "recorded_at", "alignment", "total")  # the last is a time
        return {key: same(each) for key, each in value.items() if key not in left_out}
    if isinstance(value, list):
        return [same(each) for each in value]
    return "ptr" if value == "ptr addrspace(1)" else value
for kernel in ("weigh", "sum"):
    cuda, hip = (json.load(open(f"{vendor}-{kernel}.json")) for vendor in ("cuda", "hip"))
    assert (cuda["target"], hip["target"]) == ("nvptx", "amdgcn"), kernel
    assert same(cuda) == same(hip), f"{kernel}: {same(cuda)} is not {same(hip)}"
PYTHON
python3 compare.py || fail "the recordings of one source differ"

# A kernel with what the CPU device has not of images is refused by the name of the instruction.
cat >surface.hip <<'SOURCE'
#include <hip/hip_runtime.h>
__global__ void fetch(hipSurfaceObject_t surface, float* out) { surf2DLayeredread(out + threadIdx.x, surface, threadIdx.x, 0, 1); }
int main() {
  hipResourceDesc resource{};
  hipSurfaceObject_t surface;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  float* out;
  resource.resType = hipResourceTypeArray;
  if (hipMallocArray(&resource.res.array.array, &format, 8, 8, hipArraySurfaceLoadStore) || hipMalloc(&out, 64)) return 1;
  if (hipCreateSurfaceObject(&surface, &resource)) return 1;
  fetch<<<1, 8>>>(surface, out);
  return hipGetLastError() == hipSuccess ? 1 : 3;
}
SOURCE
$cxx -O2 $(mneme config --hip cxxflags) -Wno-everything surface.hip -o surface $(mneme config --hip ldflags)
expect 3 mneme run --device cpu -- ./surface
contains err "kernel fetch(__hip_surface*, float*) cannot run on the CPU device: intrinsic 'llvm.amdgcn.image.load.mip.2d"
