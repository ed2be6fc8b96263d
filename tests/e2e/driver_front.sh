# A program that was not built for recording, recorded by the command at a driver that runs without a GPU.
[ -n "${MNEME_TEST_DRIVER:-}" ] || skip "the driver of the tests was not built"
program=$MNEME_TEST_DRIVER_PROGRAM cubin=$MNEME_TEST_DRIVER_CUBIN
export LD_LIBRARY_PATH=$MNEME_TEST_DRIVER

steps="dlsym $cubin launch alias async grid"
# shellcheck disable=SC2086  # the steps are meant to be split
{
  expect 0 "$program" $steps
  mv out bare
  expect 0 mneme record -rdb db --device cuda --vass 1 -- "$program" $steps
}
cmp -s out bare || fail "the program prints other things when it is recorded"
contains err "recorded 2 launches of 1 kernel"
contains err "not recorded: 1 launch: an argument points to memory that is mapped at two addresses"
contains err "not recorded: 1 launch: launched by a function that older programs use (cuLaunch)"
expect 0 mneme ls db
contains out add_one
kernel=$(basename db/Instances_*.mneme .mneme) && kernel=${kernel#Instances_}
expect 0 mneme show db "$kernel"
contains out cubin
expect 0 mneme show --check "db/$kernel.json"
cmp -s db/Image_*.cubin "$cubin" && fail "the code is kept as it is, without a checksum"

# The same launch is not recorded twice; what a script starts is recorded too, and its other children are left alone.
expect 0 mneme record -rdb db --device cuda --vass 1 -- sh -c "ls / >listing && '$program' dlsym '$cubin' launch"
contains out "sum 500500"
contains err "1 launch was the same as a recorded one"
expect 0 mneme record -rdb other --device cuda --vass 1 --kernels nothing -- "$program" proc "$cubin" launch
contains err "does not match"

expect 0 mneme record -rdb nothing --device cuda --vass 1 -- ls /
contains err "recorded nothing in"
contains err "nothing that ran has called the CUDA driver"
expect 0 mneme profile --device cuda -- ls /
contains err "profiled nothing: nothing that ran has called the CUDA driver"

# Options that choose launches work as at any front.
expect 0 mneme record -rdb chosen --device cuda --vass 1 --max 1 -- "$program" dlsym "$cubin" launch launch launch
contains err "recorded 1 launch of 1 kernel"
expect 0 mneme profile --device cuda -- "$program" dlsym "$cubin" launch launch
contains err "add_one"

# What a graph launches is recorded when the graph runs.
graphs=$MNEME_TEST_DRIVER_GRAPHS
expect 0 mneme record -rdb graphs --device cuda --vass 1 --max 2 -- "$graphs" "$cubin" make instantiate launch launch
contains out "launched: a=4 b=4"
contains err "recorded 2 launches of 1 kernel"
contains err "not recorded: 4 launches: the kernel has as many recorded launches as --max allows"
lacks err "in a graph"
expect 0 mneme show graphs "$(basename graphs/Instances_*.mneme .mneme | sed s/Instances_//)" --json
contains out '"graph": "1"'
expect 0 mneme record -rdb conditions --device cuda --vass 1 -- "$graphs" "$cubin" make_condition instantiate launch
contains err "not recorded: 1 launch: in a graph with a condition, where it cannot be run by itself"
expect 0 mneme profile --device cuda -- "$graphs" "$cubin" make instantiate launch
contains err "not timed: 1 launch: made by a graph, counted with the mean of those that were"

# What cannot be preloaded into is refused before it runs.
expect 2 mneme record -rdb none --device cpu --front driver -- "$program" dlsym "$cubin" launch
contains err "--front driver: on the cpu device there is no CUDA driver to record at"
expect 0 mneme record -rdb none --device cuda --front linked -- "$MNEME_TEST_DRIVER_LINKED" linked "$cubin" launch
contains err "holds no recordable code"
printf 'int main(void) { return 0; }\n' >static.c
if cc -static static.c -o static 2>/dev/null; then
  expect 2 mneme record -rdb none --device cuda -- ./static
  contains err "static is linked statically, so that nothing can stand before its calls of the CUDA driver"
fi
cp "$program" setuid && chmod u+s setuid
expect 2 mneme record -rdb none --device cuda -- ./setuid dlsym "$cubin" launch
contains err "runs with the rights of its owner (setuid), where the dynamic loader preloads no library"

# Of several ranks the first is recorded, or those that are named; both at once, into one database. The others run as without Mneme.
ranks() { # runs two ranks at once, of which each launches its own number of times
  # shellcheck disable=SC2016  # the child's own
  printf '%s' 'RANK=0 "$0" dlsym "$1" launch >zero & RANK=1 "$0" dlsym "$1" launch launch launch >one; wait'
}
expect 0 mneme record -rdb ranks --device cuda --vass 1 -- sh -c "$(ranks)" "$program" "$cubin"
contains err "recorded 1 launch of 1 kernel"
[ "$(cat zero one)" = "$(printf 'sum 500500\nsum 502500')" ] || fail "the ranks print other things when they are recorded"
expect 0 mneme record -rdb all-ranks --device cuda --vass 1 --record-ranks all -- sh -c "$(ranks)" "$program" "$cubin"
expect 0 mneme show --check all-ranks/*.json
expect 0 mneme ls all-ranks add_one --json
[ "$(grep -c '"dynamic_hash"' out)" = 3 ] || fail "two ranks have recorded other than their three launches: $(cat out)"
expect 0 mneme record -rdb second-rank --device cuda --vass 1 --record-ranks 1,7 -- sh -c "$(ranks)" "$program" "$cubin"
contains err "recorded 3 launches of 1 kernel"
expect 0 env SLURM_PROCID=2 mneme record -rdb no-rank --device cuda --vass 1 -- "$program" dlsym "$cubin" launch
[ ! -s err ] || fail "of a rank that is not recorded something is said: $(cat err)"
expect 64 mneme record -rdb none --device cuda --record-ranks first -- "$program" dlsym "$cubin" launch
contains err "ranks to record are all, or numbers with commas between them such as 0,2, not 'first'"
