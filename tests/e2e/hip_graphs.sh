# Graphs of HIP programs, on the CPU device and at the program's own HIP runtime: their kernels run as ever, each is counted and told
# when a node is given it, and launches beside them are recorded.
needs_hip
MNEME_COMMAND=$(command -v mneme)
export MNEME_COMMAND  # with which the tests' HIP runtime lowers kernels
compile_hip "$CASE_FOLDER/programs/hip_graphs.hip" graphs
expect 0 mneme run --device cpu -- ./graphs
cp out plain
[ "$(tail -1 plain)" = done ] || fail "the program"
lacks plain FAILED

devices=cpu
[ -z "${MNEME_TEST_HIP_RUNTIME:-}" ] || devices="cpu hip"
on_device() { if [ "$device" = hip ]; then LD_PRELOAD="$MNEME_TEST_HIP_RUNTIME" "$@"; else "$@"; fi; }
for device in $devices; do
  expect 0 on_device mneme record -rdb "$device-db" --device "$device" --max all -- ./graphs
  diff plain out || fail "the program came to something else while it was recorded: $device"
  contains err "recorded 2 launches of 1 kernel in"
  contains err "not recorded: 10 launches: launched into a graph"  # 4 are captured, and nodes are given 3 when they are added and 3 later
  contains err "not recorded: 1 launch: launched while a stream was being captured into a graph"
  expect 0 mneme replay "$device-db" "step#1" --device cpu
  [ "$(json out 'd["result"]["verified"]')" = True ] || fail "the replay of the launch behind the graphs: $device"
  expect 0 on_device mneme profile --device "$device" -- ./graphs
  diff plain out || fail "the program came to something else while it was profiled: $device"
  contains err "not profiled: 10 launches: launched into a graph"
done
if [ "$device" = hip ]; then
  expect 0 on_device ./graphs
  diff plain out || fail "the tests' HIP runtime"
fi
