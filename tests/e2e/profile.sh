# The program's own times, recorded and told; and a replay beside them.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
for device in $DEVICES; do
  expect 0 mneme record --profile -rdb "db-$device" --device "$device" --max 1 -- ./vecadd 100000 12
  kernel=$(echo "db-$device"/*.json)
  expect 0 mneme show "$kernel"
  contains out "launches that were not recorded"
  expect 0 mneme show --json --check "$kernel"
  # All but the recorded one and the one right after it.
  [ "$(json out 'd["instances"][0]["recorded_time"]["others"]["launches"]')" -eq 10 ] || fail "not every launch was timed"
  expect 0 mneme ls --json "db-$device"
  [ "$(json out 'd["kernels"][0]["instances"][0]["recorded_time"]["others"]["median"] > 0')" = True ] || fail "ls has no time"
  expect 0 mneme replay -rdb "$kernel" --device "$device" --stop time --max-time 0.05 --min-iterations 4 --warm-up 1
  [ "$(json out 'd["result"]["recorded_time"]["ratio"] > 0 and d["result"]["exec_time_stats"]["count"] >= 4')" = True ] || fail "no ratio"
  [ "$(json out 'd["result"]["recorded_time"]["clock_source"] == d["result"]["clock_source"]')" = True ] || fail "two clocks"
done

# Without --profile nothing is timed; a second recording adds the time to what is there.
expect 0 mneme record -rdb later --device cpu --max 1 -- ./vecadd 100000 12
expect 0 mneme show --json later/*.json
[ "$(json out 'd["instances"][0]["recorded_time"]')" = None ] || fail "a time without --profile"
expect 0 mneme replay -rdb later/*.json --device cpu
[ "$(json out 'd["result"]["recorded_time"]')" = None ] || fail "a time in the result without --profile"
expect 0 mneme record --profile -rdb later --device cpu --max 1 -- ./vecadd 100000 12
expect 0 mneme show --json later/*.json
[ "$(json out 'len(d["instances"]), d["instances"][0]["recorded_time"]["others"]["launches"]')" = "(1, 10)" ] || fail "the time is not added"

# Of several ranks the first is profiled, and nothing is said of the others, whether their launcher or each of them is run by Mneme.
expect 0 env OMPI_COMM_WORLD_RANK=1 mneme profile --device cpu --json rank.json -- ./vecadd 100000 2
[ ! -s err ] && [ ! -e rank.json ] || fail "of a rank that is not profiled something is said: $(cat err)"
expect 0 env OMPI_COMM_WORLD_RANK=0 mneme profile --device cpu --json rank.json -- ./vecadd 100000 2
contains err "2 launches of 1 kernel"
# As mpirun does: a program without kernels starts the ranks, which record at the same time into one database.
printf '%s' 'for rank in 0 1 2 3; do OMPI_COMM_WORLD_RANK=$rank ./vecadd $((1000 * (rank + 1))) 2 >rank$rank & done; wait' >launcher
expect 0 mneme profile --device cpu -- sh launcher
contains err "2 launches of 1 kernel"
expect 0 mneme record -rdb rank --device cpu -- sh launcher
contains err "recorded 2 launches of 1 kernel"
contains err "holds no recordable code itself; programs that it starts"
expect 0 mneme record -rdb ranks --device cpu --record-ranks all -- sh launcher
contains err "recorded 8 launches of 1 kernel in"
expect 0 mneme fsck ranks
expect 0 mneme record -rdb some --device cpu --record-ranks 1,3 -- sh launcher
contains err "recorded 4 launches of 1 kernel in"
for rank in 0 2; do
  expect 0 env OMPI_COMM_WORLD_RANK=$rank mneme record -rdb each --device cpu --record-ranks 2 -- ./vecadd 1000 2
  if [ $rank = 0 ]; then [ ! -s err ] || fail "of a rank that is not recorded something is said: $(cat err)"; fi
done
contains err "recorded 2 launches of 1 kernel"
# Each rank that is run by a `mneme record` of its own tells its numbers in a file of its own.
for rank in 0 1 2; do
  OMPI_COMM_WORLD_RANK=$rank mneme record -rdb own --device cpu --record-ranks all --json own.json -- ./vecadd $((1000 * (rank + 1))) $((rank + 1)) >rank$rank 2>&1 &
done
wait
told() { json "$1" "(d['launches'], d['recorded'] + d['recorded_before'])"; }
[ "$(told own.json) $(told own.rank1.json) $(told own.rank2.json)" = "(1, 1) (2, 2) (3, 3)" ] || fail "not every rank tells its own numbers: $(head own*.json)"

# A knob without effect on the device is refused.
expect 2 mneme replay -rdb later/*.json --device cpu --l2 cold
contains err "execution.l2 'cold' has no effect on the device cpu"
