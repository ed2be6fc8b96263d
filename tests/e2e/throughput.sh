# bench/throughput.py over a few configurations on the CPU device: of programs that it records, and of recordings that are given.
bench=$CASE_FOLDER/../../bench/throughput.py
for file in throughput_report.py throughput.py; do
  (cd "$CASE_FOLDER/../../bench" && PYTHONDONTWRITEBYTECODE=1 python3 -m doctest "$file") || fail "the examples of $file"
done
cat >few.json <<'J'
{"works": [{"name": "few", "program": "vecadd", "kernel": "add", "arguments": {"cpu": "2000"},
            "grid": {"cpu": ["passes=default<O1>|default<O3>", "block.x=64|128|4096"]}},
           {"name": "two arrays", "program": "add_to", "kernel": "add_to", "arguments": {"cpu": "2000"},
            "grid": {"cpu": ["block.x=64|128"]}}],
 "recorded": {"grid": {"cpu": ["passes=default<O1>|default<O2>"]}}}
J
# Restoring and a check take what this says.
cat >steps <<'J'
#!/bin/sh
echo '{"restore_ns": 1000.0, "check_ns": 500000.0}'
J
chmod +x steps
measure() { python3 "$bench" --device cpu --configurations few.json --folder folder --candidate ./steps "$@"; }

expect 0 measure --json all.json --talk --sharing --scale
contains out "| few | "
contains out "| 4 of 6 | 2 | "
contains out "- few: 2 invalid_launch, as "
contains out "| two arrays | "
contains out "With sharing, as a search does it"
contains out "| two arrays | 1 | "
contains out " | 1.000 | "
contains out "| pool (\`mneme sweep\`) | "
contains out '- few: `passes=default<O1>|default<O3>`, `block.x=64|128|4096`'
[ "$(json all.json '[(line["observations"], line["sharing"]["measured"] > 0) for line in d]')" = "[(4, True), (2, True)]" ] || fail "observations"
[ "$(json all.json 'all(line["ratio"] > 0 and line["stages_ns"]["timed_runs"] > 0 and line["distinct_objects"] > 0 for line in d)')" = True ] || fail "figures"
# An observation takes eight launches, each restored, and a check.
[ "$(json all.json 'all(abs(1e9 / line["floor_per_second"] - 8 * (line["launch_ns"] + 1000) - 500000) < 1 for line in d)')" = True ] || fail "the floor"

# Recordings: in folders, and listed in a file. What is known is not measured again; what is not right is said and the rest goes on.
compile "$EXAMPLES/reduction/reduction.cu" reduction
expect 0 mneme record -rdb recorded/one --device cpu --max 1 -- ./reduction 2000
expect 0 mneme record -rdb recorded/deeper/two --device cpu --max 1 -- ./folder/vecadd 2000
printf '# some\nrecorded\nnowhere\n' >list
expect 0 measure --programs list --kernels sum --json programs.json --no-floor
contains out "| one: weighted_sum | "
lacks out "| two: "
contains err "nowhere: no recording is in it"
[ "$(json programs.json '[(line["observations"], line["floor_per_second"]) for line in d]')" = "[(2, None)]" ] || fail "recordings"
expect 0 measure --programs recorded --json programs.json --resume
lacks err ": one: weighted_sum, on 1 device"
contains out "| one: weighted_sum | "
contains out "| two: add | "
expect 1 measure --programs recorded --within 0
contains err "two: add: not begun, --within 0 is over"
expect 1 measure --works none
contains err "nothing was measured: --works takes a part of 'few', 'two arrays'"

# Cut off, it keeps and prints what it has; a sweep that takes too long is ended, and counts with what it has.
sed -i 's/block.x=64|128"/block.x=1:100000"/' few.json
# A machine that is busy may need longer to begin.
for limit in 3 12 48; do
  status=0
  measure --works 'two arrays' --limit $limit >out 2>err || status=$?
  if ! grep -q "it had not begun when --limit was over" err; then break; fi
done
[ $status -eq 0 ] || fail "cut off after $limit s: $status"
contains out "- two arrays: cut off after "
python3 "$bench" --device cpu --configurations few.json --folder folder --no-floor --json cut.json --limit 1000 >out 2>err &
measuring=$!
until grep -q "2: two arrays, on 1 device" err || ! kill -0 $measuring; do sleep 0.1; done
kill -TERM $measuring
status=0
wait $measuring || status=$?
[ $status -eq 1 ] || fail "cut off: $status"
contains out "| few | "
contains err "cut off"
[ "$(json cut.json '[line["work"] for line in d]')" = "['few']" ] || fail "what was kept"
