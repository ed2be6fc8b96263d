# What hangs, crashes or is killed during a replay is one result with its reason, and the process that waits for it goes on.
compile "$CASE_FOLDER/programs/patient.cu" patient
expect 0 mneme record -rdb db --device cpu -- ./patient
kernel=$(echo db/[0-9a-f]*.json)
replay() { mneme replay --device cpu -rdb "$kernel" --iterations 1 "$@"; }
failed() { [ "$(json out 'd["result"]["failed"], d["result"]["verified"], d["configuration"] is None')" = "(True, False, False)" ] || fail "no failed result"; }
expect 0 replay
expect 0 replay --no-guard
expect 0 replay --run-timeout 0 --compile-timeout 0 --compile-memory 0
expect 64 replay --run-timeout -1
ulimit -c unlimited

# A kernel that never ends.
expect 2 replay --block-dim-x 16 --run-timeout 0.5
failed
contains err "the kernel's launch took longer than 0.5 s and was ended"
[ "$(json out 'd["result"]["error"]')" = "timeout: the kernel's launch took longer than 0.5 s and was ended: it may never end under this configuration; --run-timeout S allows more (0: no limit)" ] || fail "the error"

# A compilation that never ends, crashes, ends the process, or takes all memory.
expect 2 replay trigger-crash-module
failed
contains err "compiling ended by signal 6 (Aborted): LLVM, a pass of the pipeline or a plugin crashed"
"$(mneme config cc)" -shared -fPIC -O1 "$CASE_FOLDER/programs/misbehaving.c" -o misbehaving.so
misbehave() { MISBEHAVE=$1 LD_PRELOAD=$PWD/misbehaving.so replay --no-cache "${@:2}"; }  # what is compiled already asks LLVM nothing
expect 2 misbehave loop --compile-timeout 0.5
failed
contains err "compiling took longer than 0.5 s and was ended: the pipeline may never end; --compile-timeout S allows more (0: no limit)"
expect 2 env MISBEHAVE=loop LD_PRELOAD="$PWD/misbehaving.so" mneme ir "$kernel" --device cpu --stage asm --compile-timeout 0.5
contains err "compiling took longer than 0.5 s and was ended"
[ ! -s out ] || fail "there is output"
expect 2 misbehave overflow
failed
contains err "compiling ended by signal 11 (Segmentation fault)"
expect 2 misbehave exit
failed
contains err "compiling ended its process with exit status 3 before there was a result"
expect 2 misbehave memory --compile-memory 1
failed
contains err "compiling ended by signal 6 (Aborted)"
[ -z "$(find . -name 'core*')" ] || fail "a core file"

# A device that hangs when it is given code.
expect 2 misbehave load --load-timeout 0.5
failed
contains err "preparing the device took longer than 0.5 s and was ended: the device or its driver may hang; --load-timeout S allows more (0: no limit)"

# A kernel that comes back when it is verified, and no more ten seconds later, when it is timed.
compile "$CASE_FOLDER/programs/masked.cu" masked
expect 0 mneme record -rdb masked.db --device cpu --skip 1 --kernels twice -- ./masked
sed 's/out\[i\] = 2 \* in\[i\];/{ long long now; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); volatile int* seen = out; while (now > DEADLINE) now += seen[i] - seen[i]; out[i] = 2 * in[i]; }/' "$CASE_FOLDER/programs/masked.cu" >waiting.cu
! cmp -s waiting.cu "$CASE_FOLDER/programs/masked.cu" || fail "the kernel does not wait"
# shellcheck disable=SC2046  # the flags are meant to be split
$(mneme config cxx) -O1 -std=c++17 $(mneme config cxxflags) -DDEADLINE=$(($(date +%s%N) + 10000000000))ll --cuda-device-only -S -emit-llvm \
  waiting.cu -o waiting.ll
expect 2 mneme replay --device cpu -rdb "$(echo masked.db/[0-9a-f]*.json)" --ir waiting.ll --run-timeout 0.5 --stop time --max-time 60 \
  --max-iterations 1000000
failed
[ "$(json out 'd["result"]["error"].split(",")[1:]')" = "[' though the verified launch came back: what the kernel does may depend on more than its memory; --run-timeout S allows more (0: no limit)']" ] || fail "the error"
contains err "a batch of timed launches took longer than "

# The child of a replay, once it is there.
child_of() {
  local children=
  while [ -z "$children" ] && sleep 0.05; do children=$(cat "/proc/$1/task/$1/children"); done
  echo "${children% }"
}
# A replay that hangs in its kernel, in the background; its process is $!.
hang() { mneme replay --device cpu -rdb "$kernel" --block-dim-x 16 --run-timeout 0 >out 2>err & }
ended() {
  for _ in $(seq 200); do
    [ -e "/proc/$1" ] || return 0
    ! grep -q '^State:.Z' "/proc/$1/status" || return 0
    sleep 0.05
  done
  fail "process $1 still runs"
}

hang
kill -KILL "$(child_of $!)"
status=0
wait $! || status=$?
[ "$status" = 2 ] || fail "status $status after the child was killed"
failed
contains err "ended by signal 9 (Killed): somebody killed the process, or the system did because memory ran out"

for signal in TERM HUP; do
  hang
  child=$(child_of $!)
  kill -"$signal" $!
  status=0
  wait $! || status=$?
  [ "$status" = $((128 + $(kill -l "$signal"))) ] || fail "status $status after SIG$signal"
  ended "$child"
done

# While threads read the pages of memory, from a disk that does not answer: reading has no limit, and can be ended.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb vecadd.db --device cpu --max 1 -- ./vecadd 1000000
MISBEHAVE=read LD_PRELOAD=$PWD/misbehaving.so mneme replay --device cpu -rdb vecadd.db/[0-9a-f]*.json --load-timeout 0.5 >out 2>err &
child=$(child_of $!)
for _ in $(seq 600); do
  [ -e "/proc/$child" ] || fail "a replay that reads was ended: $(cat err)"
  if [ "$(ls "/proc/$child/task" | wc -l)" -ge 2 ]; then break; fi
  sleep 0.1
done
[ "$(ls "/proc/$child/task" | wc -l)" -ge 2 ] || fail "no thread reads"
sleep 1.5
[ -e "/proc/$child" ] || fail "a replay that reads was ended: $(cat err)"
kill -TERM $!
status=0
wait $! || status=$?
[ "$status" = 143 ] || fail "status $status after SIGTERM"
ended "$child"

# Ctrl-C: a background process of a script ignores SIGINT, so this one is started with it in force.
expect 130 python3 - "$kernel" <<'P'
import signal, subprocess, sys, time
replay = subprocess.Popen(["mneme", "replay", "--device", "cpu", "-rdb", sys.argv[1], "--block-dim-x", "16", "--run-timeout", "0"],
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
children = f"/proc/{replay.pid}/task/{replay.pid}/children"
while not open(children).read(): time.sleep(0.05)
replay.send_signal(signal.SIGINT)
replay.wait()
sys.exit(128 - replay.returncode)
P

# The parent killed: the child goes too.
hang
child=$(child_of $!)
kill -KILL $!
wait $! 2>/dev/null || true
ended "$child"
