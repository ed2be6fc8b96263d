# Deployed code at the program's own HIP runtime, as on an AMD GPU: over a runtime of the tests in the place of ROCm's, whose GPU runs the
# CPU device's machine code. So what was found and verified on the CPU device is what is deployed, for the targets of that GPU and of another.
# timeout: 600
needs_hip
[ -n "${MNEME_TEST_HIP_RUNTIME:-}" ] || skip "built without the tests' HIP runtime"
MNEME_COMMAND=$(command -v mneme)
export MNEME_COMMAND  # with which that runtime lowers kernels
on_gpu() { LD_PRELOAD="$MNEME_TEST_HIP_RUNTIME" "$@"; }
compile_hip "$CASE_FOLDER/../gpu/deployed.cu" deployed -O0
compile_hip "$CASE_FOLDER/../gpu/graph_nodes.cu" graph_nodes
# shellcheck disable=SC2046  # the flags are meant to be split
$(mneme config cxx) -std=c++20 -DFMT_HEADER_ONLY -I"$MNEME_PREFIX/include" -isystem "$MNEME_PREFIX/include/mneme/third_party" \
  "$CASE_FOLDER/programs/edit_tuned.cc" -o edit_tuned -L"$MNEME_PREFIX/lib" -lmneme -Wl,-rpath,"$MNEME_PREFIX/lib"
# for_target FILE TARGET OUTPUT: what was deployed for the CPU device as code for an AMD GPU.
for_target() {
  expect 0 ./edit_tuned "$1" device.tuned device hip
  expect 0 ./edit_tuned device.tuned "$3" architecture "$2"
}
# tuned PROGRAM ARG…: it prints the same as without, under the command as with the variable alone.
tuned() {
  local program=$1
  shift
  expect 0 on_gpu mneme run --device hip --tuned "$@" -- "./$program"
  diff "$program.plain" out || fail "$program printed something else"
}
for program in deployed graph_nodes; do
  expect 0 on_gpu "./$program"
  mv out $program.plain
done
contains deployed.plain "deployed: PASS"
contains graph_nodes.plain "graph_nodes: PASS"

# Code for several targets, of which the GPU runs its own: also such as asks for less than the GPU has.
expect 0 mneme record -rdb db --device cpu --max 1 -- ./deployed
for kernel in scale spread; do expect 0 mneme sweep db $kernel --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir $kernel; done
expect 0 mneme deploy scale spread --unconfirmed -o cpu.tuned
for_target cpu.tuned "$HIP_ARCH" own.tuned
for_target cpu.tuned gfx942 another.tuned
expect 0 ./edit_tuned another.tuned broken.tuned image 64
expect 0 mneme deploy broken.tuned own.tuned -o app.tuned
expect 0 mneme deploy --show app.tuned
contains out "gfx942"
contains out "$HIP_ARCH"
tuned deployed app.tuned
contains err "tuned: scale(int*, int const*, int, int): 39 of 39 launches ran the deployed code"
contains err "tuned: spread(int*, int): 1 of 1 launches ran the deployed code"
MNEME_TUNED=app.tuned expect 0 on_gpu ./deployed
diff deployed.plain out || fail "the program printed something else"
contains err "39 of 39 launches ran the deployed code"

# Loaded once each, and none for the other target.
MNEME_TEST_HIP_CALLS=$PWD/calls tuned deployed app.tuned
[ "$(grep -c '^hipModuleLoadData$' calls)" = 2 ] || fail "what is loaded"
[ "$(grep -c '^hipLaunchKernel$' calls)" = 0 ] || fail "launches of the program's own code"

# Compared and timed in the program.
tuned deployed app.tuned --verify 1
contains err "tuned: scale(int*, int const*, int, int): 36 of 39 launches ran the deployed code; the others: 1 run both ways, 2 with memory that is not known, so that it cannot be copied"
contains err "tuned: spread(int*, int): 0 of 1 launches ran the deployed code; the others: 1 run both ways"
tuned deployed app.tuned --race
contains err "of 39 launches ran the deployed code; the others: "
contains err " run both ways"

# What the GPU does not run, what cannot be loaded, and what is for another device.
kept() { contains err "tuned: scale(int*, int const*, int, int): 0 of 39 launches ran the deployed code; the others: 39 $1"; }
tuned deployed another.tuned
kept "no code for the device (the file's code is for gfx942, and the device is $HIP_ARCH)"
for_target cpu.tuned "$HIP_ARCH:xnack+" settings.tuned
tuned deployed settings.tuned
kept "no code for the device (the file's code is for $HIP_ARCH:xnack+, and the device is $HIP_ARCH)"
expect 0 ./edit_tuned own.tuned damaged.tuned image 64
tuned deployed damaged.tuned
kept "after a failure"
contains err "the program's own code runs from now on: cudaLibraryLoadData returned 200"
expect 0 ./edit_tuned own.tuned unknown.tuned variable nothing
tuned deployed unknown.tuned
kept "after a failure"
tuned deployed cpu.tuned
contains err "tuned: 2 of 2 kernels of $PWD/cpu.tuned were not launched here: was it made for another build of the program, or another device?"

# Conditions on arguments, and on memory that the program has allocated, hold for the launches that they hold for on the CPU device.
# found FOLDER CONFIGURATION: as `mneme tune` leaves what it has found.
found() {
  python3 - "$@" <<'PYTHON'
import json, os, sys
folder, configuration = sys.argv[1], json.loads(sys.argv[2])
os.makedirs(folder, exist_ok=True)
json.dump(json.load(open("scale/sweep.json")), open(folder + "/tune.json", "w"))
best = {"configuration": {"passes": "default<O2>", "execution": {"iterations": 2}} | configuration, "claim": "faster", "interval": [1.2, 1.3], "speed_up": 1.25}
json.dump(best, open(folder + "/best.json", "w"))
PYTHON
  expect 0 mneme deploy "$1" --unconfirmed -o "$1-cpu.tuned"
  for_target "$1-cpu.tuned" "$HIP_ARCH" "$1.tuned"
  tuned deployed "$1.tuned"
}
found arguments '{"specialise": {"arguments": ["factor"], "no_alias": true}, "keep_threads": true, "block": {"x": 64}}'
contains err "36 of 39 launches ran the deployed code; the others: 2 another launch shape, 1 other arguments"
found memory '{"specialise": {"no_alias": true, "dimensions": true}}'
contains err "36 of 39 launches ran the deployed code; the others: 2 another launch shape, 1 memory that may be reached in two ways"

# Nodes of graphs that the program builds: each is decided by what it is given, and told as the program has made it.
expect 0 mneme record -rdb nodes-db --device cpu --max 1 -- ./graph_nodes
expect 0 mneme sweep nodes-db --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir nodes
expect 0 mneme deploy nodes --unconfirmed -o nodes-cpu.tuned
for_target nodes-cpu.tuned "$HIP_ARCH" nodes.tuned
tuned graph_nodes nodes.tuned
contains err "tuned: scale(int*, int const*, int, int): 7 of 7 launches ran the deployed code"
tuned graph_nodes nodes.tuned --verify 1
contains err "of 7 launches ran the deployed code; the others: 1 run both ways"
