# The main job: record the examples, list, show, and replay every recorded launch, under two pipelines and another block size.
for example in vecadd cg stencil reduction; do compile "$EXAMPLES/$example/$example.cu" "$example"; done
for device in $DEVICES; do
  for example in vecadd cg stencil reduction; do
    expect 0 mneme run --device "$device" -- "./$example"
    mv out bare
    db=$device-$example
    expect 0 mneme record -rdb "$db" --device "$device" --max 2 -- "./$example"
    cmp -s out bare || fail "the output of $example differs when it is recorded"
    contains err "$db"

    expect 0 mneme ls --json "$db"
    mv out listing
    [ "$(json listing 'len(d["kernels"])')" -ge 1 ] || fail "$example: nothing was recorded"
    expect 0 mneme ls "$db"
    for kernel in "$db"/*.json; do
      expect 0 mneme show --check "$kernel"
      expect 0 mneme show --json "$kernel"
      for instance in $(json out '" ".join(i["dynamic_hash"] for i in d["instances"])'); do
        for pipeline in "default<O1>" "default<O3>"; do
          expect 0 mneme replay -rdb "$kernel" -rid "$instance" --device "$device" --iterations 3 "$pipeline"
          [ "$(json out 'd["result"]["verified"] and d["result"]["executed"] and not d["result"]["failed"]')" = True ] || fail "$example: not verified"
          [ "$(json out 'len(d["result"]["exec_time"])')" -eq 3 ] || fail "$example: exec_time has not one entry a timed run"
          [ "$(json out 'd["result"]["recorded_on"]')" = "$device" ] || fail "$example: recorded_on"
        done
      done
    done
  done
done

# Another block size: the vector add strides over its elements, so any shape does the same.
kernel=$(echo cpu-vecadd/*.json)
expect 0 mneme replay -rdb "$kernel" --device cpu --block-dim-x 128 --grid-dim-x 7 "default<O3>"
[ "$(json out 'd["result"]["block"]["x"], d["result"]["grid"]["x"]')" = "(128, 7)" ] || fail "the shape is not what was asked for"
# Fewer threads than the stencil needs: a verdict, not an error.
kernel=$(echo cpu-stencil/*.json)
expect 0 mneme show --json "$kernel"
instance=$(json out 'd["instances"][0]["dynamic_hash"]')
expect 1 mneme replay -rdb "$kernel" -rid "$instance" --device cpu --grid-dim-x 1 "default<O3>"
[ "$(json out 'd["result"]["verified"], d["result"]["failed"]')" = "(False, False)" ] || fail "a mismatch is not reported as one"
