# HIP programs are recorded on the CPU device, and all that is done with a recording is done with theirs.
needs_hip
for example in vecadd cg stencil reduction; do
  compile_hip "$EXAMPLES/$example/$example.cu" "$example"
  expect 0 mneme run --device cpu -- "./$example"
  mv out bare
  expect 0 mneme record -rdb "$example.db" --device cpu --max 1 -- "./$example"
  cmp -s out bare || fail "the output of $example differs when it is recorded"
  for kernel in "$example.db"/[0-9a-f]*.json; do
    expect 0 mneme show --check "$kernel"
    contains out "gfx90a"
    expect 0 mneme replay -rdb "$kernel" --device cpu --iterations 3
    [ "$(json out 'd["result"]["verified"], d["result"]["failed"], len(d["result"]["exec_time"]), d["configuration"]["passes"]')" = "(True, False, 3, 'as-built')" ] ||
      fail "$example: $kernel is not verified"
  done
done
expect 0 mneme replay vecadd.db add --device cpu --iterations 1 "default<O0>"
expect 0 mneme ls vecadd.db
contains out "add("
expect 0 mneme ls --json vecadd.db
expect 0 mneme show --json vecadd.db add
[ "$(json out 'd["target"], d["arch"]')" = "('amdgcn', 'gfx90a')" ] || fail "what it was recorded for"
expect 0 mneme show vecadd.db add
contains out "compiled by   default<O2>"

# Another shape, as many threads in other blocks, and one with fewer threads than it needs.
add=$(grep -l '"demangled": "add(' vecadd.db/[0-9a-f]*.json)
expect 0 mneme replay -rdb "$add" --device cpu --iterations 1 --block-dim-x 128 --grid-dim-x 7
expect 0 mneme replay -rdb "$add" --device cpu --iterations 1 --keep-threads --block-dim-x 64
expect 1 mneme replay -rdb "$(echo stencil.db/[0-9a-f]*.json)" --device cpu --grid-dim-x 1
[ "$(json out 'd["result"]["verified"], d["result"]["failed"]')" = "(False, False)" ] || fail "a mismatch is not reported as one"
expect 1 mneme diff -rdb "$(echo stencil.db/[0-9a-f]*.json)" --device cpu --grid-dim-x 1
contains out "14400 f32: 12480 differ"

# Wavefronts of 32.
HIP_ARCH=gfx1030 compile_hip "$EXAMPLES/reduction/reduction.cu" narrow
expect 0 mneme record -rdb narrow.db --device cpu --max 1 -- ./narrow
for kernel in narrow.db/[0-9a-f]*.json; do
  expect 0 mneme replay -rdb "$kernel" --device cpu --iterations 1
  contains out '"verified": true'
done
