# bench/throughput.py over a few configurations on the CPU device, of an example that it records and of a database that is given.
bench=$CASE_FOLDER/../../bench/throughput.py
compile "$EXAMPLES/reduction/reduction.cu" reduction
expect 0 mneme record -rdb reduction-db --device cpu --max 1 -- ./reduction 2000
cat >few.json <<'J'
{"works": [{"name": "few", "example": "vecadd", "kernel": "add", "arguments": {"cpu": "2000"},
            "grid": {"cpu": ["passes=default<O1>|default<O3>", "block.x=64|128|4096"]}}],
 "recorded": {"grid": {"cpu": ["passes=default<O1>|default<O2>"]}}}
J
expect 0 python3 "$bench" --device cpu --configurations few.json --json all.json --talk reduction-db
contains out "| few | "
contains out "| 4 of 6 | 2 | "
contains out "- few: 2 invalid_launch, as "
contains out "| reduction-db: weighted_sum | "
contains out "| pool (\`mneme sweep\`) | "
[ "$(json all.json '[line["observations"] for line in d]')" = "[4, 2]" ] || fail "observations"
[ "$(json all.json 'all(line["ratio"] > 0 and line["stages_ns"]["timed_runs"] > 0 and line["distinct_objects"] > 0 for line in d)')" = True ] || fail "figures"
# What cannot be measured is said.
expect 1 python3 "$bench" --device cpu --configurations few.json --works none nowhere
contains err "nowhere: "
