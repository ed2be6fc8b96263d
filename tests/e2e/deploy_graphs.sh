# Deployed code in the nodes of a graph that the program builds and changes itself, and in managed memory: the program prints the same.
compile "$CASE_FOLDER/../gpu/graph_nodes.cu" graph_nodes
expect 0 mneme run --device cpu -- ./graph_nodes
mv out plain
contains plain "its first kernel: scale, 32 of 128, factor 3"
contains plain "pending 0"
expect 0 mneme record -rdb db --device cpu --max 1 -- ./graph_nodes
expect 0 mneme sweep db --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir found
tuned() { expect 0 mneme run --device cpu --tuned "$@" -- ./graph_nodes; cmp -s out plain || fail "the program printed something else"; }

# One launch, two nodes that are made, two changes of the executable graph, two of the graph, and one attribute.
expect 0 mneme deploy found --unconfirmed -o any.tuned
tuned any.tuned
contains err "mneme: tuned: scale(int*, int const*, int, int): 8 of 8 launches ran the deployed code"

# Each is decided by its own arguments and shape.
python3 - <<'PYTHON'
import json, os
os.mkdir("special")
json.dump(json.load(open("found/sweep.json")), open("special/tune.json", "w"))
configuration = {"passes": "default<O2>", "execution": {"iterations": 2}, "specialise": {"arguments": ["factor"], "no_alias": True}, "keep_threads": True, "block": {"x": 64}}
json.dump({"configuration": configuration, "claim": "faster", "interval": [1.2, 1.3], "speed_up": 1.25}, open("special/best.json", "w"))
PYTHON
expect 0 mneme deploy special --unconfirmed -o special.tuned
tuned special.tuned
contains err "6 of 8 launches ran the deployed code; the others: 1 another launch shape, 1 other arguments"

# What is to be compared first is the program's own in a graph.
tuned any.tuned --verify 1
contains err "of 8 launches ran the deployed code; the others: 1 run both ways"
