# ls and show of a database with a damaged file: each file is named once, with what to do, and what is sound is shown.
compile "$EXAMPLES/cg/cg.cu" cg
expect 0 mneme record -rdb db --max 2 --device cpu -- ./cg
expect 0 mneme ls --json db
kernel=db/$(json out '[k["static_hash"] for k in d["kernels"] if len(k["instances"]) == 2][0]').json
hash=$(basename "$kernel" .json)
expect 0 mneme show --json "$kernel"
first=$(json out 'd["instances"][0]["dynamic_hash"]')
second=$(json out 'd["instances"][1]["dynamic_hash"]')

expect 0 mneme show --check "$kernel"
contains out "checked: the IR, 2 instances and "
contains out ": all whole"
expect 0 mneme ls db

advice="take the file from a copy, or remove the kernel's and record it again"
once() { [ "$(grep -c "$1" err)" -eq 1 ] || fail "$1 is not named once"; contains err "$advice"; }
damage() { rm -rf hurt && cp -r db hurt && truncate -s 40 "hurt/$1"; }

damage "DeviceState.prologue.$hash.$first.mneme"
expect 2 mneme show "hurt/$hash.json"
once "DeviceState.prologue.$hash.$first"
contains out "instance $first"
contains out "damaged"
contains out "instance $second"
expect 2 mneme show --check "hurt/$hash.json"
lacks out "all whole"
# Of several instances the sound ones have their results; what could not be replayed is not right, wherever it stands.
for order in "$first $second" "$second $first"; do
  read -r one other <<<"$order"
  expect 2 mneme replay "hurt/$hash.json" --device cpu --iterations 1 -rid "$one" -rid "$other"
  [ "$(json out 'd["verified"], sorted(i["result"]["verified"] for i in d["instances"])')" = "(False, [False, True])" ] || fail "the instances' verdict"
done
expect 2 mneme show --json "hurt/$hash.json"
[ "$(json out '[i["pages"] is None for i in d["instances"]], len(d["damaged"])')" = "([True, False], 1)" ] || fail "the instances"

damage "RecordedIR_$hash.bc"
for command in "ls hurt" "ls --json hurt" "show hurt/$hash.json"; do
  # shellcheck disable=SC2086  # a command and its argument
  expect 2 mneme $command
  once "RecordedIR_$hash.bc"
done

for pack in db/pages/*.mneme; do
  damage "pages/$(basename "$pack")"
  status=0
  mneme ls hurt >out 2>err || status=$?
  [ "$status" -eq 0 ] || once "$(basename "$pack")"
done

expect 0 mneme ls "$kernel" --json
[ "$(json out '[k["static_hash"] for k in d["kernels"]]')" = "['$hash']" ] || fail "a kernel's file is not listed alone"
expect 2 mneme ls ''
contains err "the database has no name"
expect 2 mneme ls ./cg
contains err "./cg is a file: a database is a directory"

# What is no regular file is told by its kind, and nothing waits for it; the program that is recorded goes on.
for file in "$hash.json" "RecordedIR_$hash.bc" "DeviceState.prologue.$hash.$first.mneme" pages/*.mneme; do
  rm -rf hurt && cp -r db hurt
  for place in hurt/$file; do rm "$place" && mkfifo "$place"; done
  expect 2 timeout 60 mneme show --check "hurt/$hash.json"
  contains err "it is a FIFO, where a regular file is needed"
  expect 0 timeout 60 mneme record -rdb hurt --max 2 --device cpu -- ./cg
done
rm hurt/.lock
ln -s elsewhere hurt/.lock
expect 2 mneme record -rdb hurt --device cpu -- ./cg
contains err "hurt/.lock: it is a symbolic link"
[ ! -e hurt/elsewhere ] || fail "the lock made the target of a link"

# Recording again heals.
for file in "DeviceState.prologue.$hash.$first.mneme" "RecordedIR_$hash.bc" "pages/$(ls db/pages | head -n 1)"; do
  damage "$file"
  expect 0 mneme record -rdb hurt --max 2 --strict --device cpu -- ./cg
  for healed in hurt/*.json; do expect 0 mneme show --check "$healed"; done
done
