# Many configurations of one recorded launch: the table, the folder of results, resuming, failures with their reasons, signals.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd 5000
kernel=$(echo db/[0-9a-f]*.json)
sweep() { mneme sweep "$kernel" --device cpu --iterations 3 "$@"; }
lines() { grep -c '"digest"' "$1/results.jsonl"; }

# Every combination, and what the fastest is good for.
expect 0 sweep --grid 'block.x=64:256:64' --grid 'passes=default<O1>|default<O3>' --results-dir all --top 3
contains out "RANK  block.x  passes"
contains out "8 of 8 configurations done: 8 verified, 0 failed"
contains out "as recorded (as-built: default<O2>): "
contains err "the fastest: mneme replay db add --config all/best.json"
[ "$(lines all)" -eq 10 ] || fail "not one line a configuration and two for the baseline"
[ "$(grep -c '"label":"baseline at the' all/results.jsonl)" -eq 2 ] || fail "the baseline"
eval "$(sed -n 's/.*the fastest: \(mneme replay.*\)/\1/p' err)" >replayed || fail "the command for the fastest"
[ "$(json replayed 'd["result"]["verified"]')" = True ] || fail "the fastest does not verify"
[ "$(json replayed 'd["configuration"]["passes"]')" = "$(json all/best.json 'd["configuration"]["passes"]')" ] || fail "another configuration"

# A folder of results is used once, and resuming a whole sweep measures nothing.
expect 2 sweep --grid block.x=64 --results-dir all
contains err "all has the results of a sweep already: --resume all goes on with it; or name another folder"
cp all/results.jsonl before
expect 0 mneme sweep --resume all --json
[ "$(json out 'd["total"], d["resumed"], d["measured"], len(d["best"])')" = "(8, 8, 0, $(json out 'len(d["best"])'))" ] || fail "resuming measured something"
cmp -s all/results.jsonl before || fail "resuming a whole sweep wrote"
speed_ups=$(json out '[b["speed_up"] for b in d["best"]]')
[ "$(json out 'd["best"][0]["speed_up"]')" = "$(json all/best.json 'd["speed_up"]')" ] || fail "resumed, other speed-ups: $speed_ups"
expect 0 mneme sweep --resume all
contains out "as recorded (as-built: default<O2>): "
! grep -q "not measured" out || fail "the baseline of a sweep that is resumed is not what it was"

for options in '--top 400' --json; do
  status=0
  # shellcheck disable=SC2086  # the words are meant to be split
  mneme sweep --resume all $options >/dev/full 2>err || status=$?
  [ "$status" -eq 2 ] || fail "with a full output it ended with $status"
  contains err "mneme: error: writing to standard output: No space left on device"
  contains err "the fastest: mneme replay db add --config "
done
expect 2 python3 -c 'import os, subprocess, sys
read, write = os.pipe()
os.close(read)
sys.exit(subprocess.run(["mneme", "sweep", "--resume", "all"], stdout=write).returncode)'
contains err "mneme: error: writing to standard output: Broken pipe"

# What becomes best.json's is what the table said, and nothing is written when there was nothing to do.
expect 0 python3 -c 'import json, statistics
lines = [json.loads(line) for line in open("all/results.jsonl")][1:]
baselines = [statistics.median(line["result"]["exec_time"]) for line in lines if "label" in line]
best = json.load(open("all/best.json"))
assert abs(best["speed_up"] - statistics.median(baselines) / best["time"]) < 1e-9, (best["speed_up"], baselines, best["time"])
best["mark"] = 1
json.dump(best, open("all/best.json", "w"))'
expect 0 mneme sweep --resume all
[ "$(json all/best.json 'd["mark"]')" -eq 1 ] || fail "best.json was written anew"
for file in results.jsonl sweep.json; do
  cp -r all damaged
  sed -i 's/"/x/' "damaged/$file"
  expect 2 mneme sweep --resume damaged
  contains err "; take the file from a copy, or begin the sweep anew in another folder"
  [ "$(cat out err | wc -l)" -eq 1 ] || fail "more than why"
  rm -r damaged
done

# Sharing is told, and can be left out.
expect 0 sweep --grid 'passes=default<O2>|default<O2>,verify|default<O2>,verify,verify' --results-dir shared --json
[ "$(json out 'd["measured"], d["shared"], d["best"][0]["alike"]')" = "(1, 2, 2)" ] || fail "not shared"
expect 0 sweep --grid 'passes=default<O2>|default<O2>,verify|default<O2>,verify,verify' --results-dir alone --no-share --json
[ "$(json out 'd["measured"], d["shared"], len(d["best"])')" = "(3, 0, 3)" ] || fail "shared"

# As many compilers as have something to do.
expect 0 sweep --grid block.x=64 --compile-workers 300 --devices 0,0 --compile-memory 2 --results-dir two --json
[ "$(json out 'd["rate"]["compile_workers"]')" -eq 1 ] || fail "$(json out 'd["rate"]["compile_workers"]') compilers for one point"
[ "$(json out 'd["rate"]["devices"]')" -eq 1 ] || fail "a device that is named twice is two"
[ "$(json two/sweep.json 'd["limits"]["compile_memory"] == 2 << 30')" = True ] || fail "the limits: $(json two/sweep.json 'd["limits"]')"
# A best.json that was lost is there again; the sweep's instances are its own.
rm two/best.json
expect 0 mneme sweep --resume two
[ "$(json two/best.json 'd["configuration"]["block"]["x"]')" -eq 64 ] || fail "no best.json"
expect 2 mneme sweep --resume two db 'add#0'
contains err "--resume two: its sweep has instances of its own: leave #N out"

# By chance: the same points for the same seed. Where no name is given the folder has a new one.
for i in 1 2; do
  expect 0 sweep --grid 'block.x=1:1000' --random 4 --seed 7
  mv sweep-* "random$i"
  python3 -c 'import json,sys; print(sorted(d["configuration"]["block"]["x"] for d in map(json.loads, open(sys.argv[1])) if "block" in d.get("configuration", {})))' \
    "random$i/results.jsonl" >"points$i"
done
cmp -s points1 points2 || fail "other points for the same seed: $(cat points1 points2)"
[ "$(tr -cd , <points1 | wc -c)" -eq 3 ] || fail "not four points"

# A recorded launch that fails is a warning once, though it is measured at the begin and at the end.
for _ in 1 2 3 4 5 6 7 8 9 10; do  # on a machine that is busy it may be compiled before the pool comes to look at the time
  rm -rf hurried
  status=0
  sweep --grid block.x=64 --compile-timeout 0.001 --results-dir hurried >out 2>err || status=$?
  if ! grep -q '"verified":true' hurried/results.jsonl; then break; fi
done
[ "$status" -eq 1 ] || fail "a sweep whose only configuration is not compiled in time ended with $status"
[ "$(grep -c "the launch as it was recorded fails here" err)" -eq 1 ] || fail "not one warning"
[ "$(grep -c '"label":"baseline at the' hurried/results.jsonl)" -eq 2 ] || fail "the baseline was not measured twice"

# What is wrong has its reason and an example. Nothing right: 1.
expect 0 mneme ir "$kernel" --stage recorded -o recorded.ll
sed 's/define /define broken /' recorded.ll >broken.ll
expect 0 sweep --grid 'block.x=64|2048' --grid 'ir=recorded.ll|broken.ll' --results-dir some
contains out "4 configurations done: 1 verified, 3 failed"
contains out "2 compile_error, as block.x=64 ir="
contains out "1 invalid_launch, as block.x=2048 ir="
expect 1 sweep --grid ir=broken.ll --results-dir none
contains out "0 verified, 1 failed"
[ ! -e none/best.json ] || fail "there is a best one"
# A pipeline of the plan that does not parse is named with its place before anything begins.
expect 2 sweep --grid 'passes=default<O1>|default<O2>|nonsense|default<O9>' --results-dir refused
contains err "grid 'passes', value 3 of 4: pass pipeline 'nonsense' does not parse: unknown pass name 'nonsense'"
expect 2 sweep --grid 'passes=sroa|function(gvn' --results-dir refused
contains err "grid 'passes', value 2 of 2: pass pipeline 'function(gvn' does not parse: "
expect 2 sweep 'default<O9>' --grid 'block.x=64|128' --results-dir refused
contains err "pass pipeline 'default<O9>' does not parse: invalid optimization level 'O9'"
[ ! -e refused ] || fail "a sweep that was refused has a folder"
# What it leaves is no configuration, and is told apart; its folder hints at the best one.
for file in sweep.json results.jsonl; do
  expect 2 mneme replay db --device cpu --config "some/$file"
  contains err "some/$file is "
  contains err ", and no configuration; the best one that was found is in some/best.json"
done
expect 2 mneme replay db --device cpu --config some
contains err "some is a folder; the best one that was found is in some/best.json"
expect 0 sweep --keep-threads --grid 'block.x=128|100' --results-dir kept
contains out "1 verified, 1 failed"
contains out "1 invalid_launch, as block.x=100: "
contains out "which blocks of 100 do not divide"
# Also where the impossible one comes first: the compiler is asked the same for the others, and their launches are their own.
expect 0 sweep 'default<O1>' --keep-threads --grid 'block.x=100|128|64' --results-dir kept-first
contains out "2 verified, 1 failed"
contains out "1 invalid_launch, as block.x=100: "

# What cannot be understood, and what cannot be done.
expect 64 sweep
contains err "nothing to sweep over: give --grid KEY=VALUES"
expect 64 mneme sweep --grid block.x=1
contains err "no recorded kernel: give DB KERNEL, as \`mneme ls DB\` lists them, or --resume DIR"
expect 64 sweep --grid blok.x=64
contains err "unknown key 'blok'; the nearest is 'block'"
expect 64 sweep --grid block.x=9:1
contains err "a range goes from its first number up to its last"
expect 64 sweep --grid block.x=1:10000 --grid block.y=1:10000 --grid grid.x=1:10000 --random 1000000000
contains err "--random 1000000000 of the grid's 1000000000000 points: at most 10000000 are drawn"
expect 64 sweep --grid a=null
contains err "grid 'a=null': configuration: unknown key 'a'"
expect 64 sweep --grid 'ir_digest=null|abc'
contains err "grid 'ir_digest': it is what the file of 'ir' has, and follows from that: give ir=FILE"
expect 64 sweep --grid block.x=64 --results-dir ''
contains err "--results-dir: a folder is expected, not ''"
expect 64 mneme sweep --resume all --grid block.x=64
contains err "--grid excludes --resume"
expect 2 mneme sweep --resume db
contains err "db has no sweep.json: give the folder of results of an earlier \`mneme sweep\`"
expect 2 sweep --grid block.x=64 --devices 1
contains err "--devices 1: there is one CPU device here, numbered from 0"
# A knob that no configuration can have here is refused before anything begins.
expect 2 sweep --grid block.x=64 --max-registers 32 --results-dir refused
contains err "assembler.max_registers has no effect on the CPU device"
expect 2 sweep --grid 'assembler.level=2|3' --results-dir refused
contains err "grid 'assembler.level': assembler.level has no effect on the CPU device"
# Bytes that no result could hold.
expect 64 sweep --grid $'passes=\xff|default<O3>' --results-dir refused
contains err "mneme sweep: the command line: \"passes=�|default<O3>\" at /grid is no UTF-8, and results are JSON, which is"
cp -r db $'d\xff'
expect 2 mneme sweep $'d\xff'"/${kernel#db/}" --device cpu --grid block.x=64 --results-dir refused
contains err "sweeping: \"$PWD/d�\" at /database is no UTF-8"
expect 2 sweep --grid block.x=64 --load-pass-plugin $'d\xff/p.so' --results-dir refused
contains err "the configuration: \"$PWD/d�/p.so\" at /pass_plugins/0 is no UTF-8"
expect 2 mneme replay -rdb "$kernel" --device cpu --load-pass-plugin $'d\xff/p.so'
contains err "the configuration: \"$PWD/d�/p.so\" at /pass_plugins/0 is no UTF-8"
[ ! -e refused ] || fail "a sweep that was refused has a folder"

# Results that were moved with their database are resumed there; where the database is elsewhere, -rdb says where.
mkdir here
cp -r db here/db
hash=$(basename "$kernel")
part() { mneme sweep --resume "$1" --json "${@:2}"; }
expect 0 mneme sweep "here/db/$hash" --device cpu --iterations 3 --grid 'block.x=64|128' --results-dir here/moved
sed -i '$d' here/moved/results.jsonl
sed -i '$d' here/moved/results.jsonl
mv here there
expect 0 part there/moved
[ "$(json out 'd["total"], d["done"], d["resumed"] < 2')" = "(2, 2, True)" ] || fail "not resumed where it was moved to"
mv there/db elsewhere
sed -i '$d' there/moved/results.jsonl
sed -i '$d' there/moved/results.jsonl
expect 2 part there/moved
contains err "is not there any more; if it was moved: mneme sweep --resume there/moved -rdb DIR/$hash"
[ "$(cat out err | wc -l)" -eq 1 ] || fail "a sweep that cannot begin says more than why"
expect 0 part there/moved -rdb elsewhere
[ "$(json out 'd["total"], d["done"], d["resumed"] < 2')" = "(2, 2, True)" ] || fail "not resumed with -rdb"
sed -i '$d' there/moved/results.jsonl
sed -i '$d' there/moved/results.jsonl
expect 0 part there/moved
compile "$EXAMPLES/reduction/reduction.cu" reduction
expect 0 mneme record -rdb elsewhere --device cpu --max 1 -- ./reduction
expect 2 part there/moved -rdb "$(find elsewhere -name '[0-9a-f]*.json' ! -name "$hash")"
contains err "--resume there/moved: its sweep is of the kernel ${hash%.json}, and elsewhere/"

# Files of IR are those that they were at the begin.
expect 0 mneme ir "$kernel" --device cpu --stage recorded -o one.ll
expect 0 sweep --grid 'ir=null|one.ll' --grid 'block.x=64|128' --results-dir of-ir --json
[ "$(json out 'd["verified"]')" -eq 4 ] || fail "IR from a file"
grep -q '"ir_digest":"' of-ir/results.jsonl || fail "no digest of the IR"
echo "; changed" >>one.ll
expect 0 mneme sweep --resume of-ir
sed -i '$d' of-ir/results.jsonl
sed -i '$d' of-ir/results.jsonl
expect 2 mneme sweep --resume of-ir
contains err "grid 'ir': the IR in place of the recorded one, $PWD/one.ll, has changed: "

# Killed at any moment it can be resumed, and nothing is measured twice. A signal ends it with that signal's status.
expect 0 python3 - "$kernel" <<'P'
import collections, fcntl, json, os, pty, select, shutil, signal, statistics, struct, subprocess, sys, termios, time
kernel, total = sys.argv[1], 60
def start(folder, *how):
    return subprocess.Popen(["mneme", "sweep", *how, "--compile-workers", "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
def results(folder):
    try:
        lines = [json.loads(line) for line in open(folder + "/results.jsonl") if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return [line["digest"] for line in lines if "digest" in line and "label" not in line]
# Each has code of its own, so that a run lasts.
grid = [kernel, "--device", "cpu", "--iterations", "2", "--grid", f"block.x=1:{total}", "--grid", "specialise.dimensions=true", "--no-share"]
class TooLate(Exception):
    """On a machine that is busy a sweep may have come to its end before it is met in its midst: that says nothing of it."""
def met(folder, meet):
    for _ in range(20):
        try:
            return meet(folder)
        except TooLate:
            shutil.rmtree(folder)
    raise AssertionError(f"{folder}: no sweep is met before its end")
def wait_for_some(run, folder):
    while len(results(folder)) < 5:
        assert run.poll() is None or len(results(folder)) >= 5, (run.returncode, run.communicate())
        time.sleep(0.02)

for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
    def ended_by_signal(folder):
        run = start(folder, *grid, "--results-dir", folder)
        wait_for_some(run, folder)
        first = time.monotonic()
        for _ in range(2 if number != signal.SIGKILL else 1):  # as GNU timeout does, for which it is one
            run.send_signal(number)
        apart = time.monotonic() - first
        said = run.communicate()[0]
        if len(results(folder)) == total or apart > 0.5:
            raise TooLate
        assert run.returncode == -number, (number, run.returncode, said)
        return said
    folder = f"ended-{int(number)}"
    said = met(folder, ended_by_signal)
    assert number == signal.SIGKILL or f" of {total} configurations done: " in said, said
    assert number == signal.SIGKILL or f"mneme sweep --resume {folder} goes on" in said, said
    before = results(folder)
    assert 5 <= len(before) < total, len(before)
    resumed = start(folder, "--resume", folder)
    said = resumed.communicate()[0]
    assert resumed.returncode == 0, said
    counts = collections.Counter(results(folder))
    assert len(counts) == total and set(counts.values()) == {1}, counts
    assert results(folder)[:len(before)] == before

# Where its children are killed, whenever that is, what is known is told, and that it is not all.
def children(process):
    try:
        return [int(pid) for task in os.listdir(f"/proc/{process}/task") for pid in open(f"/proc/{process}/task/{task}/children").read().split()]
    except (FileNotFoundError, ProcessLookupError):  # a thread that has ended, before its file is opened or after
        return []
def kept(folder):
    lines = [json.loads(line) for line in open(folder + "/results.jsonl") if line.endswith("\n")]
    return {line["digest"] for line in lines if "digest" in line and "label" not in line and line["failure"] != "worker_lost"}
def children_killed(folder):
    run = start(folder, *grid, "--results-dir", folder)
    wait_for_some(run, folder)
    for when in ("while it measures", "before it measures"):
        known = len(kept(folder))
        while run.poll() is None and not children(run.pid):
            time.sleep(0.001)
        for zygote in children(run.pid):
            for victim in (*children(zygote)[:1], zygote):
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:  # it has ended meanwhile
                    pass
        said = run.communicate()[0]
        if len(kept(folder)) == total:
            raise TooLate
        assert run.returncode == 2, (when, run.returncode, said)
        done = int(said.split(f" of {total} configurations done: ")[0].split()[-1])
        assert known <= done < total and "mneme: error: " in said, (when, known, said)
        assert f"mneme sweep --resume {folder} goes on" in said, (when, said)
        run = start(folder, "--resume", folder)
    assert run.communicate() and run.returncode == 0 and len(kept(folder)) == total
met("killed", children_killed)
folder = "ended-15"

# A later signal ends it at once: here while nobody reads what it prints.
run = subprocess.Popen(["mneme", "sweep", "--resume", folder, "--json", "--top", "100"], stdout=subprocess.PIPE)
fcntl.fcntl(run.stdout, fcntl.F_SETPIPE_SZ, 4096)
select.select([run.stdout], [], [])
run.send_signal(signal.SIGTERM)
time.sleep(1.2)
assert run.poll() is None, run.returncode
end = time.monotonic() + 60
while run.poll() is None:  # where the first was late to come, one that follows it within a second is the same one
    assert time.monotonic() < end, "no later signal ends it"
    run.send_signal(signal.SIGTERM)
    time.sleep(0.3)
assert run.returncode == -signal.SIGTERM, run.returncode

# While it goes on best.json has the fastest until then, and one that is left is told. What is resumed has new limits.
short = range(2, 22)
counts = "|".join(map(str, (*short, 1000000)))
def read(terminal):  # what is there; None: nobody writes any more
    said = b""
    while select.select([terminal], [], [], 0.02)[0]:
        try:
            said += os.read(terminal, 65536)
        except OSError:
            return said or None
    return said
def fastest(folder):
    lines = [json.loads(line) for line in open(folder + "/results.jsonl") if line.endswith("\n")]
    return min(statistics.median(line["result"]["exec_time"]) for line in lines if "digest" in line and "label" not in line)
def best_time(folder):  # results are in the log while the first best.json still comes to the disk
    return json.load(open(folder + "/best.json"))["time"] if os.path.exists(folder + "/best.json") else None
def left_at_the_long_one(folder):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("4H", 24, 30, 0, 0))
        os.dup2(os.open("long.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        axis = f"execution.iterations={counts}"
        os.execvp("mneme", ["mneme", "sweep", kernel, "--device", "cpu", "--grid", axis, "--no-share", "--results-dir", folder, "--compile-workers", "1"])
    said, end = b"", time.monotonic() + 100
    while len(results(folder)) < len(short) or (len(results(folder)) == len(short) and best_time(folder) != fastest(folder)):
        assert time.monotonic() < end, "best.json is not that of the fastest"
        said += read(terminal) or b""
    os.kill(child, signal.SIGINT)
    while (some := read(terminal)) is not None:
        assert time.monotonic() < end, said
        said += some
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    if len(results(folder)) > len(short):
        raise TooLate
    assert status == -signal.SIGINT, status
    assert f"\n{len(short)} of {len(short) + 1} configurations done: " in open("long.out").read(), open("long.out").read()
    assert b"not all is done; mneme sweep --resume long goes on" in said, said
    # A line that is drawn over stays off the edge of the terminal, where it would begin another.
    drawn = [part.split("\r")[0] for part in said.decode().split("\r\033[K")[1:] if part.startswith("[")]
    assert max(map(len, drawn)) == 29, drawn
met("long", left_at_the_long_one)
def resumed_in_a_hurry(folder):
    shutil.copytree("long", folder)
    resumed = subprocess.run(["mneme", "sweep", "--resume", folder, "--json", "--compile-timeout", "0.001"], stdout=subprocess.PIPE)
    told = json.loads(resumed.stdout)
    if list(told["failures"]) != ["compile_timeout"]:  # what is compiled before the pool comes to look at the time is timed
        raise TooLate
    assert (resumed.returncode, told["resumed"]) == (0, len(short)), told
met("long-in-a-hurry", resumed_in_a_hurry)

# A terminal that is closed is a signal too.
def terminal_closed(folder):
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("mneme", ["mneme", "sweep", *grid, "--results-dir", folder, "--compile-workers", "1"])
    while len(results(folder)) < 5:
        select.select([terminal], [], [], 0.02)[0] and os.read(terminal, 65536)
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if len(results(folder)) == total:
        raise TooLate
    assert status == -signal.SIGHUP, status
met("closed", terminal_closed)
P
[ "$(json ended-9/best.json 'd["result"]["verified"]')" = True ] || fail "no best one"
# One process at a time works on a folder.
exec 9<ended-9
flock 9
expect 2 mneme sweep --resume ended-9
contains err "another sweep is working on ended-9: wait for its end, or name another folder"
# Also at its begin, before anything is written; where no folder is named, each has its own.
mkdir taken
exec 9<taken
flock 9
expect 2 sweep --grid block.x=64 --results-dir taken
contains err "another sweep is working on taken: wait for its end, or name another folder"
[ -z "$(ls taken)" ] || fail "written into another sweep's folder: $(ls taken)"
exec 9<&-
sweep --grid block.x=64 >one 2>&1 &
first=$!
expect 0 sweep --grid block.x=128
wait "$first" || fail "one of two at once: $(cat one)"
[ "$(cat sweep-*/results.jsonl | grep -c '"label":"baseline at the begin"')" -eq 2 ] || fail "two sweeps share a folder"
[ "$(cat sweep-*/sweep.json | grep -c mneme_sweep)" -eq 2 ] || fail "two sweeps share a plan"
# Compiling puts nothing beside the folder of results, so that nothing is left of a compiler that was ended.
expect 0 env TMPDIR="$PWD/nowhere" mneme sweep "$kernel" --device cpu --iterations 3 --grid block.x=64 --results-dir no-tmp
# The guide's few lines of Python, as they are printed: of one instance, of several, and with a last line that was cut off.
python3 - "$CASE_FOLDER/../../docs/guide/sweep.md" >few.py <<'P'
import pathlib, re, sys, textwrap
text = pathlib.Path(sys.argv[1]).read_text()
print(textwrap.dedent(re.search(r"With Python:\n\n((?:    .*\n|\n)+)", text)[1]))
P
for size in 5000 6000; do expect 0 mneme record -rdb several --device cpu --max 1 -- ./vecadd "$size"; done
expect 0 mneme sweep several/[0-9a-f]*.json --all-instances --device cpu --iterations 3 --grid 'block.x=64|128' --results-dir blocks
[ "$(json blocks/best.json 'len(d["result"]["instances"])')" -eq 2 ] || fail "not two instances"
# Each was launched once. How they are weighed is said, and kept where the sweep goes on.
contains out "2 instances, weighed as the program launched them, 1 : 1"
[ "$(json blocks/sweep.json 'd["weights"]')" = "{'by': 'program', 'of': [1.0, 1.0]}" ] || fail "the plan has no weights"
[ "$(json blocks/summary.json 'd["weights"]["by"]')" = program ] || fail "the summary has no weights"
expect 64 mneme sweep --resume blocks --weights equal
expect 0 mneme sweep --resume blocks
contains out "2 instances, weighed as the program launched them, 1 : 1"
expect 0 mneme sweep several/[0-9a-f]*.json --all-instances --weights equal --device cpu --iterations 3 --grid block.x=64 --results-dir equal
contains out "2 instances, weighed equally"
expect 64 mneme sweep several/[0-9a-f]*.json --all-instances --weights both --device cpu --grid block.x=64
for results in blocks all; do
  rm -rf cut
  mkdir cut
  cp -r "$results" cut/blocks
  printf '{"configuration": {"blo' >>cut/blocks/results.jsonl
  expect 0 env -C cut python3 "$PWD/few.py"
  contains out "'block': {'x': "
done
