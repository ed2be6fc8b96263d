# Memory outside of the recorder's range, which a program maps itself or shares with the host: it is recorded where it lies, at a
# driver that runs without a GPU, and replayed there by every way to replay.
[ -n "${MNEME_TEST_DRIVER:-}" ] || skip "the driver of the tests was not built"
export LD_LIBRARY_PATH=$MNEME_TEST_DRIVER
steps="dlsym $MNEME_TEST_DRIVER_CUBIN mapped managed mapped_elsewhere"
# shellcheck disable=SC2086  # the steps are meant to be split
{
  expect 0 "$MNEME_TEST_DRIVER_PROGRAM" $steps
  mv out bare
  expect 0 mneme record -rdb db --device cuda --vass 1 --max 5 -- "$MNEME_TEST_DRIVER_PROGRAM" $steps
}
cmp -s out bare || fail "the program prints other things when it is recorded"
contains err "recorded 3 launches of 1 kernel"
lacks err "not recorded"
kernel=$(basename db/Instances_*.mneme .mneme) && kernel=${kernel#Instances_}
expect 0 mneme show --check db "$kernel"
contains out "4.00 MiB in 0 allocations, 1 piece of mapped memory and 1 variable"
contains out "in 0 allocations, 1 piece of managed memory and 1 variable"
expect 0 mneme show --json db "$kernel"
[ "$(json out '[(i["mapped_memory"], i["managed_memory"]) for i in d["instances"]]')" = "[(1, 0), (0, 1), (1, 0)]" ] || fail "other memory"

for number in 0 1 2; do
  expect 0 mneme replay db "add_one#$number" --device cuda --iterations 3
  [ "$(json out 'd["result"]["verified"]')" = True ] || fail "instance $number is not verified"
  expect 0 mneme check db "add_one#$number" --device cuda
  contains out "deterministic, and as recorded"
  expect 0 mneme diff db "add_one#$number" --device cuda
  contains out "no byte differs"
  expect 0 mneme sweep db "add_one#$number" --device cuda --grid 'block.x=64:256:*2' --keep-threads --results-dir "sweep$number"
  contains out "3 verified, 0 failed"
done

# A driver that, when it opens a device, maps memory of its own where the recorded memory belongs, if there is room: the place is held before,
# whatever it is that opens the device.
export MNEME_FAKE_TAKES_AT=0x7b0000000000
expect 0 mneme replay db 'add_one#0,2' --device cuda --iterations 3
[ "$(json out 'd["verified"]')" = True ] || fail "not verified where the driver would have taken the addresses"
expect 0 mneme replay db add_one#0 --iterations 3
expect 0 mneme check db add_one#0 --device cuda
expect 0 mneme diff db add_one#0 --device cuda
expect 0 mneme sweep db 'add_one#0,2' --device cuda --grid 'block.x=64:256:*2' --keep-threads --results-dir held
contains out "3 verified, 0 failed"
unset MNEME_FAKE_TAKES_AT

# Where the driver has another address for it, that is what is said.
MNEME_FAKE_ELSEWHERE_FROM=0x7b0000000000 expect 2 mneme replay db add_one#0 --device cuda
contains err "reserving the recorded address 0x7b0000000000 of 4.00 MiB of mapped memory: "
contains err "the driver gave "
contains err "try again, since the system places what a process has elsewhere each time"
