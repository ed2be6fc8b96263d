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
