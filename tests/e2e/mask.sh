# What a kernel only writes is made wrong before the run that is verified, so that code which does not write it is not right.
compile "$CASE_FOLDER/programs/masked.cu" poison
for example in vecadd stencil reduction cg; do compile "$EXAMPLES/$example/$example.cu" "$example"; done
kernel() { grep -l "\"demangled\": \"$1(" "$device.db"/[0-9a-f]*.json || fail "there is no kernel $1"; }
replay() { mneme replay --device "$device" --iterations 1 -rdb "$(kernel "$1")" "${@:2}"; }
poison() { json out '"{} {} {}".format(d["result"]["verified"], d["result"]["poisoned_bytes"], d["result"]["poison"])'; }
is() { [ "$(poison)" = "$1" ] || fail "'$(poison)' is not '$1'"; }

for device in $DEVICES; do
  expect 0 mneme record -rdb "$device.db" --device "$device" --skip 1 -- ./poison

  # Output that was right before: nothing has to be written, unless it is poisoned.
  for name in twice letters into_table; do
    expect 0 replay "$name" --no-poison --block-dim-x 64 --grid-dim-x 16
    is "True 0 off"
    expect 1 replay "$name" --block-dim-x 64 --grid-dim-x 16
    echo '{"verdict": {"poison": false}}' >configuration.json
    expect 0 replay "$name" --config configuration.json --block-dim-x 64 --grid-dim-x 16
  done
  expect 0 replay twice
  is "True 4000 on"
  expect 0 replay twice "default<O0>"
  is "True 4000 on"
  # One byte of eight.
  expect 0 replay letters
  is "True 1000 on"

  # A global that nothing reads, as far as it is written.
  expect 0 replay into_table
  is "True 4000 on"
  expect 0 replay into_table "default<O0>"
  is "True 4000 on"

  # Nor in the worker of a pool, which shares it.
  expect 0 mneme sweep "$(kernel into_table)" --device "$device" --iterations 1 --grid 'block.x=32|64' --results-dir "$device.sweep"
  contains out "2 of 2 configurations done: 1 verified, 1 failed"
  contains out "1 wrong_result, as block.x=64"

  # What is read is as it was.
  expect 0 replay count
  is "True 0 the kernel writes no byte that it does not also read"
  expect 0 replay highest
  is "True 0 the kernel writes no byte that it does not also read"
  expect 0 replay bits
  is "True 0 the kernel writes no byte that it does not also read"
  expect 0 replay by_assembly
  is "True 0 inline assembly accesses memory: 'st.global.u32 [\$0], \$1;'"

  # Code that faults when it notes its accesses is replayed by another process without.
  fault="looking for it ended in a device fault: "
  expect 0 replay only_optimised
  [[ "$(poison)" = "True 0 $fault"* ]] || fail "'$(poison)'"
  contains err "mneme: warning: there is no poison, as $fault"
  [ "$(wc -l <err)" = 1 ] || fail "more than the warning"
  expect 0 replay only_optimised --no-poison
  is "True 0 off"
  expect 2 replay only_optimised --no-guard
  contains out '"error": "device_fault: poison: '"$fault"
  contains err '; a new process can replay the launch without poison: --no-poison, {"verdict": {"poison": false}}'
  expect 0 mneme diff "$(kernel only_optimised)" --device "$device"
  contains err "mneme: warning: there is no poison, as $fault"
  expect 0 mneme sweep "$(kernel only_optimised)" --device "$device" --iterations 1 --grid 'block.x=32|64' --results-dir "$device.only_optimised"
  contains out "2 of 2 configurations done: 2 verified"
  grep -q "\"poison\":\"$fault" "$device.only_optimised"/results.jsonl || fail "no reason in the results"

  # Every kernel of the examples is right from its poisoned memory.
  for example in vecadd stencil reduction cg; do
    expect 0 mneme record -rdb "$example.$device.db" --device "$device" --max 1 -- "./$example"
    for file in "$example.$device.db"/[0-9a-f]*.json; do
      expect 0 mneme replay --device "$device" --iterations 1 -rdb "$file"
      echo "$(json "$file" 'd["kernel"]["demangled"]'): $(poison)" | tee -a found.$device
    done
  done
  [ "$(grep -c ' on$' found.$device)" -ge 4 ] || fail "hardly anything was poisoned"
done
