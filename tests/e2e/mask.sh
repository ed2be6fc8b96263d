# What a kernel only writes is made wrong (masked) before the run that is verified, so that code which does not write it is not right.
compile "$CASE_FOLDER/programs/masked.cu" masked
for example in vecadd stencil reduction cg; do compile "$EXAMPLES/$example/$example.cu" "$example"; done
kernel() { grep -l "\"demangled\": \"$1(" "$device.db"/[0-9a-f]*.json || fail "there is no kernel $1"; }
replay() { mneme replay --device "$device" --iterations 1 -rdb "$(kernel "$1")" "${@:2}"; }
mask() { json out '"{} {} {}".format(d["result"]["verified"], d["result"]["masked_bytes"], d["result"]["mask"])'; }
is() { [ "$(mask)" = "$1" ] || fail "'$(mask)' is not '$1'"; }

for device in $DEVICES; do
  expect 0 mneme record -rdb "$device.db" --device "$device" --skip 1 -- ./masked

  # Output that was right before: nothing has to be written, unless it is masked.
  for name in twice letters into_table; do
    expect 0 replay "$name" --no-mask --block-dim-x 64 --grid-dim-x 16
    is "True 0 off"
    expect 1 replay "$name" --block-dim-x 64 --grid-dim-x 16
    # An older version called it poison.
    for key in mask poison; do
      echo "{\"verdict\": {\"$key\": false}}" >configuration.json
      expect 0 replay "$name" --config configuration.json --block-dim-x 64 --grid-dim-x 16
    done
    expect 0 replay "$name" --no-poison --block-dim-x 64 --grid-dim-x 16
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

  # A sweep that an older version began, which said poison, is gone on with: nothing of it is measured again.
  expect 0 mneme sweep "$(kernel twice)" --device "$device" --iterations 1 --no-poison --grid 'codegen.level=1|2' \
    --grid 'verdict.poison=true|false' --results-dir "$device.older"
  contains out "4 of 4 configurations done: 4 verified"
  sed -i 's/"mask"/"poison"/g; s/"masked_bytes"/"poisoned_bytes"/g; s/verdict\.mask/verdict.poison/g' "$device.older"/{sweep.json,results.jsonl}
  grep -q '"verdict":{"poison":false}' "$device.older/results.jsonl" || fail "no result of an older version"
  cp -r "$device.older" "$device.cut"
  expect 0 mneme sweep --resume "$device.older"
  contains out "4 of 4 configurations done: 4 verified"
  contains out "; 4 of an earlier run"
  # Neither is it where there is something left to measure.
  sed -i "$(grep -nv '"label"' "$device.cut/results.jsonl" | tail -1 | cut -d: -f1)d" "$device.cut/results.jsonl"
  expect 0 mneme sweep --resume "$device.cut"
  contains out "; 3 of an earlier run"
  ! grep -q poison "$device.cut/results.jsonl" || fail "the log is not as it is written now"

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
  [[ "$(mask)" = "True 0 $fault"* ]] || fail "'$(mask)'"
  contains err "mneme: warning: nothing is masked, as $fault"
  [ "$(wc -l <err)" = 1 ] || fail "more than the warning"
  expect 0 replay only_optimised --no-mask
  is "True 0 off"
  expect 2 replay only_optimised --no-guard
  contains out '"error": "device_fault: mask: '"$fault"
  contains err '; a new process can replay the launch without one: --no-mask, {"verdict": {"mask": false}}'
  expect 0 mneme diff "$(kernel only_optimised)" --device "$device"
  contains err "mneme: warning: nothing is masked, as $fault"
  expect 0 mneme sweep "$(kernel only_optimised)" --device "$device" --iterations 1 --grid 'block.x=32|64' --results-dir "$device.only_optimised"
  contains out "2 of 2 configurations done: 2 verified"
  grep -q "\"mask\":\"$fault" "$device.only_optimised"/results.jsonl || fail "no reason in the results"

  # Every kernel of the examples is right from its masked memory.
  for example in vecadd stencil reduction cg; do
    expect 0 mneme record -rdb "$example.$device.db" --device "$device" --max 1 -- "./$example"
    for file in "$example.$device.db"/[0-9a-f]*.json; do
      expect 0 mneme replay --device "$device" --iterations 1 -rdb "$file"
      echo "$(json "$file" 'd["kernel"]["demangled"]'): $(mask)" | tee -a found.$device
    done
  done
  [ "$(grep -c ' on$' found.$device)" -ge 4 ] || fail "hardly anything was masked"
done
