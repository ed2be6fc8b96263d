# From an unchanged program to one that runs what was found: record, sweep, deploy, run; and all that must leave the program as it was.
compile "$CASE_FOLDER/../gpu/deployed.cu" deployed -O0
expect 0 mneme run --device cpu -- ./deployed
mv out plain
contains plain "pending 0"
tuned() { expect 0 mneme run --device cpu --tuned "$@" -- ./deployed; cmp -s out plain || fail "the program printed something else"; }

# The guide's commands. The file's code has the place of each launch that its rule covers.
expect 0 mneme record -rdb db --device cpu --max 1 -- ./deployed
expect 0 mneme sweep db scale --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir found
expect 0 mneme deploy found --unconfirmed -o app.tuned
contains out "app.tuned: 1 kernel with deployed code; mneme run --tuned app.tuned -- PROGRAM"
tuned app.tuned
contains err "tuned: scale(int*, int const*, int, int): 39 of 39 launches ran the deployed code"
MNEME_TUNED=app.tuned expect 0 mneme run --device cpu -- ./deployed
contains err "39 of 39 launches"
expect 0 mneme deploy --show app.tuned
contains out "launches       any, as they are"
contains out "variable       offsets"
contains out '"passes":"default<O3>"'

# Conditions: what the code was specialised to, and the launch shape.
found() { # CLAIM INTERVAL CONFIGURATION
  rm -rf confirmed; mkdir confirmed
  python3 - "$@" <<'PYTHON'
import json, sys
claim, interval, configuration = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
plan = json.load(open("found/sweep.json"))
json.dump(plan, open("confirmed/tune.json", "w"))
configuration = {"passes": "default<O2>", "execution": {"iterations": 2}, **configuration}
speed_up = interval and sum(interval) / 2
json.dump({"configuration": configuration, "claim": claim, "interval": interval, "speed_up": speed_up}, open("confirmed/best.json", "w"))
PYTHON
}
found faster '[1.2, 1.3]' '{"specialise": {"arguments": ["factor"], "alignment": true, "no_alias": true}, "keep_threads": true, "block": {"x": 64}}'
expect 0 mneme deploy confirmed --unconfirmed -o special.tuned
expect 0 mneme deploy --show special.tuned
contains out "blocks of 128x1x1 become as many threads in blocks of 64x1x1"
contains out "argument 3 has the bytes 03000000"
contains out "argument 1 leads to memory that"
tuned special.tuned
contains err "36 of 39 launches ran the deployed code; the others: 1 another launch shape, 2 other arguments"
# What it is made of: each thing taken back alone, verified and measured, with what to write for it.
expect 0 mneme deploy --explain confirmed
contains out "scale(int*, int const*, int, int), "
contains out "all of it together"
contains out "  block: <<<"
contains out "  specialise.arguments: factor: a template parameter"
contains out "  specialise.alignment: __builtin_assume_aligned()"
contains out "  specialise.no_alias: __restrict__ for "
lacks out "not measured"
python3 - confirmed/explained.json <<'PYTHON'
import json, sys
explained = json.load(open(sys.argv[1]))
assert explained["mneme_explained"] == 1
(one,) = explained["instances"]
assert sorted(each["key"] for each in one["ingredients"]) == ["block", "passes", "specialise.alignment", "specialise.arguments", "specialise.no_alias"], one
for each in one["ingredients"]:
    low, high = each["speed_up"]["interval"]
    assert each["verified"] and low <= each["speed_up"]["value"] <= high, each
PYTHON
expect 64 mneme deploy --explain confirmed -o none.tuned
expect 2 mneme deploy --explain nowhere
contains err "nowhere has no results"
found faster '[1.2, 1.3]' '{"specialise": {"no_alias": true, "dimensions": true}}'
expect 0 mneme deploy confirmed --unconfirmed -o shape.tuned
tuned shape.tuned
contains err "36 of 39 launches ran the deployed code; the others: 2 another launch shape, 1 memory that may be reached in two ways"

# The kernel without variables is taken as the search has confirmed it; what it has not is left out and said.
expect 0 mneme sweep db spread --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir spread
python3 - <<'PYTHON'
import json
best = json.load(open("spread/best.json"))
for name, claim, interval in ("faster", "faster", [1.4, 1.6]), ("even", "no difference", [0.9, 1.1]):
    json.dump({**best, "claim": claim, "interval": interval, "speed_up": sum(interval) / 2}, open(f"{name}.json", "w"))
PYTHON
cp even.json spread/best.json
expect 1 mneme deploy spread -o none.tuned
contains out "spread: spread(int*, int) is left out: by the search: 1.000 times as fast (0.900 to 1.100, 95 %), which is not surely faster"
contains out "nothing to deploy: none.tuned is not written"
[ ! -e none.tuned ] || fail "an empty file was written"
cp faster.json spread/best.json
expect 0 mneme deploy app.tuned spread -o both.tuned
contains out "both.tuned: 2 kernels with deployed code"
expect 0 mneme deploy --show both.tuned
contains out "1.500 (1.400 to 1.600, 95 %)"
tuned both.tuned
contains err "tuned: spread(int*, int): 1 of 1 launches ran the deployed code"

# Whatever the file is, the program runs as it is, and one line says why.
as_it_was() {
  tuned "$1"
  contains err "mneme: warning: tuned: the program runs as it is: $PWD/$1: $2"
  [ "$(wc -l <err)" -eq 1 ] || fail "more than one line"
}
head -c 1000 app.tuned >short.tuned
as_it_was short.tuned "the file has 1000 bytes"
python3 -c 'd = bytearray(open("app.tuned", "rb").read()); d[-5] ^= 1; open("flipped.tuned", "wb").write(d)'
as_it_was flipped.tuned "the file's checksum is not the one that stands in it"
as_it_was plain "this is no file of \`mneme deploy\`"
tuned missing.tuned
contains err "mneme: warning: tuned: the program runs as it is: "
expect 2 mneme deploy --show short.tuned
contains err "the file has 1000 bytes"

# Another build of the program, and code for another device.
sed 's/+ weights\[i\]/+ 2 * weights[i]/' "$CASE_FOLDER/../gpu/deployed.cu" >other.cu
compile other.cu other -O0
expect 0 mneme run --device cpu --tuned app.tuned -- ./other
contains err "tuned: 1 of 1 kernels of $PWD/app.tuned were not launched here: was it made for another build of the program, or another device?"

# A full disk leaves the file that was there.
cp app.tuned kept.tuned
expect 2 mneme deploy app.tuned -o /dev/full
contains err "No space left on device"
(ulimit -f 1; expect 2 mneme deploy app.tuned -o kept.tuned) 2>limit || fail "$(cat limit)"
cmp -s app.tuned kept.tuned || fail "the file that was there is gone"
expect 2 mneme deploy nowhere -o app.tuned
expect 2 mneme deploy db -o app.tuned
contains err "db has no results: give a folder that \`mneme sweep\` or \`mneme tune\` has written"
expect 64 mneme deploy found
contains err "name folders of results and the file to write: mneme deploy RESULTS -o app.tuned"

# What cannot be a file is told before the work begins.
mkdir folder
expect 2 mneme deploy app.tuned -o folder
contains err "error: writing folder: Is a directory: name a file in it, or another one"
expect 2 mneme deploy app.tuned -o nowhere/app.tuned
contains err "error: writing nowhere/app.tuned: there is no folder nowhere"
for way in "" --program; do
  # shellcheck disable=SC2086  # an empty one is none
  expect 2 mneme export db scale $way -o folder
  contains err "error: writing folder: Is a directory: name a file in it, or another one"
  # shellcheck disable=SC2086
  expect 2 mneme export db scale $way -o nowhere/file
  contains err "error: writing nowhere/file: there is no folder nowhere"
  # shellcheck disable=SC2086
  expect 2 mneme export db scale $way -o ""
  contains err "error: no file to write is named"
done
expect 2 mneme export db scale --source -o ""
contains err "error: no file to write is named"
expect 2 mneme copy db ""
contains err "error: the database has no name: give a directory, or one that is to be made"
expect 0 mneme export db scale -o one.mneme
expect 2 mneme import one.mneme ""
contains err "error: the database has no name: give a directory, or one that is to be made"
expect 2 mneme import one.mneme app.tuned
contains err "error: the database app.tuned cannot be written: it is a file; name a directory, or one that is to be made"
[ -z "$(ls -A folder)" ] || fail "something was left in the folder"
