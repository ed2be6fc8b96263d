# Textures and surfaces: fetches of every shape and kind of memory give what the CUDA Programming Guide says of them, and launches
# with them are recorded and replayed.
cp "$CASE_FOLDER/programs/textures.cu" .
compile textures.cu textures
compile textures.cu textures_O0 -O0
for device in $DEVICES; do
  for program in textures textures_O0; do
    expect 0 mneme run --device "$device" -- ./$program
    contains out "textures: PASS"
  done
done
# What ends a launch, on the CPU device.
expect 0 mneme run --device cpu -- ./textures beyond
contains out cudaErrorLaunchFailure
contains err "an access to byte -4 of row 1 of slice 0 of a surface that has 16 bytes in a row, 4 rows and 1 slices"
expect 0 mneme run --device cpu -- ./textures nothing
contains out cudaErrorLaunchFailure
contains err "a use of texture object 0x3039, which there is not"
expect 0 mneme run --device cpu -- ./textures surface
contains err "a use of texture object 0x"
# Launches are recorded with the arrays, and with what there is of textures and surfaces, and are replayed by new ones.
for device in $DEVICES; do
  expect 0 mneme record -rdb "$device" --device "$device" -- ./textures
  contains out "textures: PASS"
  contains err "recorded 16 launches of 13 kernels"
  lacks err "not recorded"
  for kernel in "$device"/[0-9a-f]*.json; do
    expect 0 mneme show --check --json "$kernel"
    for instance in $(json out '" ".join(i["dynamic_hash"] for i in d["instances"])'); do
      for pipeline in "default<O3>" "default<O1>"; do
        expect 0 mneme replay -rdb "$kernel" -rid "$instance" --device "$device" --iterations 2 "$pipeline"
        [ "$(json out 'd["result"]["verified"]')" = True ] || fail "not verified"
      done
    done
  done
  # What a surface writes is compared: a launch with too few threads leaves some of it out.
  expect 1 mneme replay "$device" twice --device "$device" --block-dim-x 3
  contains out "array 0x"
  expect 1 mneme replay "$device" by_struct --device "$device" --block-dim-x 3
  expect 1 mneme replay "$device" halve --device "$device" --block-dim-x 1
  # A pool's workers have textures of their own.
  expect 0 mneme sweep "$device" twice --device "$device" --iterations 2 --grid 'passes=default<O3>|default<O1>'
  lacks out "not verified"
done
# What there was of them can be seen.
expect 0 mneme show cpu twice
contains out "2 arrays and"
contains out "of an array of 4 x 4 texels of 4 B"
contains out "surface 0x"
expect 0 mneme show --json cpu layers
[ "$(json out 'd["instances"][0]["arrays"]')" -ge 3 ] || fail "arrays"
contains out '"description": "texture 0x'
# An array that was freed is not recorded any more.
lacks out "of an array of 4 texels of 4 B"
expect 0 mneme show --json cpu halve
contains out "of level 1 of a mipmapped array of 4 x 4 texels of 4 B"
# Sources of such a launch would have to make them: they are refused. A program makes them.
expect 2 mneme export cpu halve --source -o sources
contains err "the launch has textures or surfaces, which main.cpp does not make; --program does"
[ ! -e sources ] || fail "a folder was made"
# At a driver that runs without a GPU, and replayed there.
if [ -n "${MNEME_TEST_DRIVER:-}" ]; then
  export LD_LIBRARY_PATH=$MNEME_TEST_DRIVER
  expect 0 mneme record -rdb driver --device cuda --vass 1 -- "$MNEME_TEST_DRIVER_PROGRAM" dlsym "$MNEME_TEST_DRIVER_CUBIN" surface
  contains err "recorded 1 launch of 1 kernel"
  expect 0 mneme show driver add_one
  contains out "surface 0x4d of an array of 4 x 2 texels of 4 B"
  expect 0 mneme replay driver add_one --device cuda --iterations 3
  [ "$(json out 'd["result"]["verified"]')" = True ] || fail "not verified at the driver"
fi
