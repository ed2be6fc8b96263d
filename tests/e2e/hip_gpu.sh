# HIP programs are recorded at their own runtime, as on an AMD GPU: over a runtime of the tests in the place of ROCm's, which runs kernels.
# timeout: 600
needs_hip
[ -n "${MNEME_TEST_HIP_RUNTIME:-}" ] || skip "built without the tests' HIP runtime"
programs=$CASE_FOLDER/programs
cxx=$(mneme config cxx)
MNEME_COMMAND=$(command -v mneme)
export MNEME_COMMAND  # with which that runtime lowers kernels
on_gpu() { LD_PRELOAD="$MNEME_TEST_HIP_RUNTIME" "$@"; }

cp "$programs/vendor.h" "$programs/both_vendors.cu" .
$cxx -O2 $(mneme config --hip cxxflags) -Wno-everything "$programs/hip_api.hip" -o api $(mneme config --hip ldflags)
$cxx -O2 $(mneme config --hip cxxflags) -Wno-everything --offload-device-only -c "$programs/hip_module.hip" -o module.co
$cxx -O2 $(mneme config --hip cxxflags) -Wno-everything "$programs/hip_gpu.hip" -o gpu $(mneme config --hip ldflags)
$cxx -w -O2 -std=c++17 $(mneme config --hip cxxflags) -x hip both_vendors.cu -x none -o both $(mneme config --hip ldflags)

# Every call gives what it gives without Mneme.
expect 0 on_gpu ./api module.co
[ "$(cat out)" = done ] || fail "the tests' HIP runtime"
expect 0 on_gpu mneme record -rdb api-db --device hip --max all -- ./api module.co
[ "$(cat out)" = done ] || fail "calls gave something else while they were recorded"
contains err "recorded 13 launches of 5 kernels in"
contains err "not recorded: 1 launch: the launch itself failed"
contains err "not recorded: 3 launches: launched into a graph"  # two are captured, and one is added to it
expect 0 on_gpu mneme profile --device hip -- ./api module.co
[ "$(cat out)" = done ] || fail "calls gave something else while they were timed"
contains err "by hip_event on "

# The device that programs of HIP run on is the GPU where there is one.
expect 0 on_gpu mneme record -rdb db -- ./both
contains out "20864.0 246896.0: hipSuccess"
contains err "recorded 3 launches of 2 kernels in"
expect 0 mneme show db sum
contains out "(hip), Mneme"

# Launches are recorded as on the CPU device, bit for bit, and replayed without the GPU.
hashes() { mneme ls --json "$1" >listed; json listed 'sorted((k["static_hash"], i["dynamic_hash"]) for k in d["kernels"] for i in k["instances"])'; }
expect 0 mneme record -rdb cpu-db --device cpu -- ./both
[ "$(hashes db)" = "$(hashes cpu-db)" ] || fail "launches on the GPU: $(hashes db), on the CPU device: $(hashes cpu-db)"
for launch in "weigh#0" "weigh#1" "sum#0"; do
  expect 0 mneme replay db "$launch" --device cpu
  [ "$(json out 'd["result"]["verified"]')" = True ] || fail "the replay of $launch is not verified"
done
for launch in "triple#1" "use_managed#0"; do
  expect 0 mneme replay api-db "$launch" --device cpu
  [ "$(json out 'd["result"]["verified"]')" = True ] || fail "the replay of a module's kernel is not verified: $launch"
done

# What reaches the runtime: the program's copies and launches in their order, and none of its allocations, which the recorder serves.
MNEME_TEST_HIP_CALLS=calls expect 0 on_gpu ./both
grep -c hipMalloc calls >count && [ "$(cat count)" = 3 ] || fail "three allocations of the program"
grep -E "hipMemcpy|hipLaunch" calls >order
rm calls
MNEME_TEST_HIP_CALLS=calls expect 0 on_gpu mneme record -rdb calls-db --device hip --max 1 -- ./both
grep -E "hipMemcpy|hipLaunch" calls | diff order - || fail "the calls of the program are in another order"
[ "$(sed '/hipMemcpy/,$d' calls | grep -c hipMalloc)" = 0 ] || fail "memory of the program that the recorder does not serve"
contains calls hipMemAddressReserve

# Memory that the recorder does not see keeps a launch from being recorded, and a variable that no host code names is found. Flags and
# codes that CUDA has not, and failures, are those of the runtime.
expect 0 on_gpu ./gpu
cp out bare
expect 0 on_gpu mneme record -rdb gpu-db --device hip --max all --strict -- ./gpu
diff bare out || fail "the program's results"
contains err "recorded 4 launches of 2 kernels in"
contains err "not recorded: 1 launch: an argument points to memory of another process or interface, which is not captured yet [first: increment(int*, int)]"
contains err "not recorded: 1 launch: the launch itself failed [first: increment(int*, int)]"
expect 0 mneme show gpu-db from_table
contains out "variable      _ZL5table (16 B)"
for launch in "from_table#0" "increment#0" "increment#1" "increment#2"; do
  expect 0 mneme replay gpu-db "$launch" --device cpu
  [ "$(json out 'd["result"]["verified"]')" = True ] || fail "the replay of $launch is not verified"
done
expect 0 on_gpu ./gpu fault
cp out bare
expect 0 on_gpu mneme record -rdb fault-db --device hip --max all -- ./gpu fault
diff bare out || fail "the program's results after a fault"
contains err "recorded 4 launches of 2 kernels in"
expect 0 mneme fsck fault-db

# A runtime without virtual memory management cannot be recorded at, and is told; the program goes on.
expect 0 env MNEME_TEST_HIP_NO_VIRTUAL_MEMORY=1 LD_PRELOAD="$MNEME_TEST_HIP_RUNTIME" mneme record -rdb old-db --device hip -- ./both
contains out "20864.0 246896.0: hipSuccess"
contains err "recorded nothing in"
contains err "recording ended early"

# Without a GPU the program gets what its runtime gives it without one.
status=0 && ./both >bare 2>bare-err || status=$?
expect $status env MNEME_INTERPOSERS="$MNEME_PREFIX/lib/libmneme_record.so" ./both
diff bare out || fail "the program's results without a GPU"
if [ ! -e /dev/kfd ]; then
  expect 2 mneme record -rdb no-db --device hip -- ./both
  contains err "looking for AMD GPUs: there is no /dev/kfd"
fi
