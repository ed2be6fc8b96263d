# Textures and surfaces of HIP programs: they are read and written as those of CUDA are, and launches with them are recorded and replayed.
# timeout: 600
needs_hip
compile_hip "$CASE_FOLDER/programs/textures.cu" textures -w
compile_hip "$CASE_FOLDER/programs/textures.cu" textures_O0 -w -O0
for program in textures textures_O0; do
  expect 0 mneme run --device cpu -- ./$program
  contains out "textures: PASS"
done
expect 0 mneme run --device cpu -- ./textures nothing
contains out hipErrorLaunchFailure
contains err "a use of texture object 0x3039, which there is not"
expect 0 mneme run --device cpu -- ./textures surface
contains err "a use of texture object 0x"

# Launches are recorded with the arrays, and with what there is of textures and surfaces, and are replayed by new ones.
expect 0 mneme record -rdb db --device cpu -- ./textures
contains out "textures: PASS"
contains err "recorded 16 launches of 13 kernels"
lacks err "not recorded"
for kernel in db/[0-9a-f]*.json; do
  expect 0 mneme show --check --json "$kernel"
  for instance in $(json out '" ".join(i["dynamic_hash"] for i in d["instances"])'); do
    expect 0 mneme replay -rdb "$kernel" -rid "$instance" --device cpu --iterations 1 "default<O1>"
    [ "$(json out 'd["result"]["verified"]')" = True ] || fail "not verified"
  done
done
expect 1 mneme replay db twice --device cpu --block-dim-x 3
contains out "array 0x"
expect 1 mneme replay db halve --device cpu --block-dim-x 1
expect 0 mneme sweep db twice --device cpu --iterations 2 --grid 'passes=default<O3>|default<O1>'
lacks out "not verified"
expect 0 mneme show db twice
contains out "of an array of 4 x 4 texels of 4 B"
expect 2 mneme export db halve --source -o sources
contains err "the launch has textures or surfaces, which main.cpp does not make; --program does"
expect 0 mneme export db halve --program -o program --device cpu
expect 0 ./program
contains out "verified: memory is as recorded"

# Code is made for GPUs that have the instructions; those of gfx942 have none.
expect 0 mneme replay db layers --compile-only --arch gfx90a
expect 2 mneme replay db layers --compile-only --arch gfx942
contains err "requested image instruction is not supported on this GPU"

# At the program's own HIP runtime, which does not tell what an array is, launches are recorded as on the CPU device.
[ -n "${MNEME_TEST_HIP_RUNTIME:-}" ] || skip "built without the tests' HIP runtime"
MNEME_COMMAND=$(command -v mneme)
export MNEME_COMMAND  # with which that runtime lowers kernels
LD_PRELOAD=$MNEME_TEST_HIP_RUNTIME expect 0 mneme record -rdb gpu --device hip -- ./textures
contains out "textures: PASS"
contains err "recorded 16 launches of 13 kernels"
hashes() { mneme ls --json "$1" >listed; json listed 'sorted((k["static_hash"], i["dynamic_hash"]) for k in d["kernels"] for i in k["instances"])'; }
[ "$(hashes gpu)" = "$(hashes db)" ] || fail "launches on the GPU: $(hashes gpu), on the CPU device: $(hashes db)"
expect 0 mneme replay gpu twice --device cpu
[ "$(json out 'd["result"]["verified"]')" = True ] || fail "not verified"
