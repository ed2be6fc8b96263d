# timeout: 600
# Each kind of memory with each kind of launch, as docs/reference/recorded.md has it: what it says is recorded is, and is replayed, and the rest passes
# through with the reason that stands there. What a package runs on a GPU for that runs here on the CPU device.
mkdir -p package/bin package/examples
cp "$CASE_FOLDER/../../scripts/check-gpu" package/bin/mneme-check-gpu
ln -s "$MNEME_PREFIX/bin/mneme" package/bin/mneme
compile "$CASE_FOLDER/../gpu/crossed.cu" package/examples/crossed
expect 0 package/bin/mneme-check-gpu --device cpu --only crossed
contains out "PASS  crossed, linked: the same output when recorded"
contains out "0 failed on cpu"
# What is not as the table says is found; here without the replays.
sed -e 's/"ordered pool"/"ordered"/' -e 's/"--iterations", "1", "as-built"\]/"--help"]/' package/bin/mneme-check-gpu >package/bin/other-table
chmod +x package/bin/other-table
expect 1 package/bin/other-table --device cpu --only crossed
contains out "FAIL  crossed, linked: 71 launches pass through for the reasons that are documented"
contains out "FAIL  crossed, linked: 72 launches recorded"

expect 0 mneme run --device cpu -- package/examples/crossed
mv out printed
expect 0 python3 - "$CASE_FOLDER/../.." package/bin/mneme-check-gpu printed <<'P'
import importlib.machinery
import importlib.util
import pathlib
import re
import sys

root, script, printed = map(pathlib.Path, sys.argv[1:])
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("check_gpu", str(script))
check_gpu = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_gpu", loader))
loader.exec_module(check_gpu)

table = (root / "docs/reference/recorded.md").read_text().split("\n## Memory by launches\n")[1].split("\n## ")[0]
rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]
launches_of_columns = [re.findall(r"`(\w+)`", cell) for cell in rows[0][1:]]
pairs = {}
for row in rows[2:]:
    for memory in re.findall(r"`(\w+)`", row[0]):
        for launches, cell in zip(launches_of_columns, row[1:], strict=True):
            for launch in launches:
                assert (memory, launch) not in pairs, f"{memory} by {launch} stands there twice"
                pairs[memory, launch] = cell
missing = sorted(set(re.findall(r"^(\w+) by (\w+): ", printed.read_text(), re.M)) ^ set(pairs))
assert not missing, f"in the table or in the program alone: {missing}"
for (memory, launch), cell in pairs.items():
    assert check_gpu.why_not_recorded("driver", memory, launch) is None
    reason = check_gpu.why_not_recorded("linked", memory, launch)
    expected = f"recorded; by linked calls: *{reason}*" if reason else "recorded"
    assert cell == expected, f"{memory} by {launch}: the table says '{cell}', and what is checked is '{expected}'"
# What the CPU device has not is said there too.
absent = set(re.findall(r"^(\w+) by (\w+): not there on this device$", printed.read_text(), re.M))
assert absent == {(memory, launch) for memory, launch in pairs if memory == "mapped" or launch == "cluster"}, absent
assert "on the CPU device, where `mapped` and `cluster` are not there" in " ".join(table.split())
P
