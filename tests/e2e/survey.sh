# A table of what is recorded of many programs, and what of it verifies.
cat >app.cu <<'SOURCE'
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
__global__ void twice(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}
__global__ void place(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[1 + atomicAdd(data, 1)] = i;
}
__global__ void far(float* data) { data[-(1ll << 40)] = 1; }
int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "fails") == 0) return 3;
  if (std::strcmp(what, "sleeps") == 0) ::sleep(60);
  if (std::strcmp(what, "differs") == 0) std::printf("recorded: %d\n", std::getenv("MNEME_RECORD") != nullptr);
  const int n = 4096;
  float* data = nullptr;
  if (cudaMalloc(&data, (n + 1) * sizeof(float)) != cudaSuccess || cudaMemset(data, 0, (n + 1) * sizeof(float)) != cudaSuccess) return 90;
  twice<<<n / 256, 256>>>(data, n);
  if (std::strcmp(what, "order") == 0) place<<<n / 256, 256>>>(reinterpret_cast<int*>(data), n);
  if (std::strcmp(what, "far") == 0) far<<<1, 1>>>(data);
  else if (cudaDeviceSynchronize() != cudaSuccess) return 91;
  std::printf("%lld ns since the epoch\n", static_cast<long long>(std::chrono::system_clock::now().time_since_epoch().count()));
}
SOURCE
compile app.cu app
survey() { python3 "$CASE_FOLDER/../../bench/survey.py" --mneme "$(command -v mneme)" --device cpu "$@"; }
cat >list.toml <<'LIST'
limit = 20
[[program]]
name = "good"
command = "./app"
[[program]]
name = "order | of threads"
command = "./app order"
[[program]]
name = "fails"
command = "./app fails"
[[program]]
name = "sleeps"
command = "./app sleeps"
limit = 1
[[program]]
name = "not there"
command = "./nothing"
LIST
expect 0 survey list.toml --results found --jobs 2
contains err "2 of 2 (100.0 %) programs that run here by themselves are unchanged by recording; 3 more do not run, end or do right."
contains err "3 of 3 (100.0 %) kernels that they launch have an instance."
grep -Eq '^\| good \| unchanged \| [0-9.]+ s \| [0-9.]+ s \| 1 \| 1 \| 1 \| 1 \| 0 \|  \|$' found/survey.md || fail "no row of good"
grep -Eq '^\| order \\\| of threads \| unchanged \| [0-9.]+ s \| [0-9.]+ s \| 2 \| 2 \| 2 \|' found/survey.md || fail "no row of order"
[ "$(wc -l <found/programs.jsonl)" -eq 5 ] || fail "not every program has an entry"

# What outlives its limit is ended with what it has started, wherever that has gone. --limit counts in place of the list's.
cat >lasting.toml <<'LIST'
limit = 300
[[program]]
name = "lasting"
command = "sh -c 'setsid sleep 98765 & setsid -f sleep 98764; sleep 98763'"
limit = 300
LIST
before=$SECONDS
expect 0 survey lasting.toml --results lasting --limit 2
contains err "lasting: does not end in 2 s by itself"
[ $((SECONDS - before)) -lt 100 ] || fail "the limit was not --limit's"
if pgrep -x sleep -a | grep -q "sleep 9876[345]"; then fail "what the program had started was left running"; fi
expect 2 survey lasting.toml --limit 0
contains err "invalid seconds value: '0'"

# What has left all of that, with its environment too, cannot be found. It keeps its output, which the survey does not wait for.
cat >lost.sh <<'SOURCE'
env -i setsid sh -c 'echo $$ >>lost.pids; exec sleep 120' &
sleep 98763
SOURCE
printf '[[program]]\nname = "lost"\ncommand = "sh lost.sh"\n' >lost.toml
before=$SECONDS
expect 0 survey lost.toml --results lost --limit 2
contains err "lost: does not end in 2 s by itself"
[ $((SECONDS - before)) -lt 100 ] || fail "the survey waited for what it cannot end"
# shellcheck disable=SC2046
kill $(cat lost.pids)

# When it is interrupted, no other run begins.
cat >runs.sh <<'SOURCE'
echo one >>runs
sleep 98763
SOURCE
printf '[[program]]\nname = "long"\ncommand = "sh runs.sh"\n[[program]]\nname = "waits"\ncommand = "sh runs.sh"\n' >runs.toml
env --default-signal=INT python3 "$CASE_FOLDER/../../bench/survey.py" --mneme "$(command -v mneme)" --device cpu runs.toml \
  --results interrupted --limit 30 2>err &
until [ -s runs ]; do sleep 0.1; done
kill -INT $!
wait $! || fail "it ended otherwise"
contains err "mneme-survey: interrupted; the same command goes on"
[ "$(cat runs)" = one ] || fail "a run began after the survey was interrupted"
[ ! -s interrupted/programs.jsonl ] || fail "what was interrupted has an entry"

# A program that prints what the survey has put into its environment is unchanged.
cat >tells.toml <<'LIST'
[[program]]
name = "tells"
command = "sh -c 'echo $MNEME_SURVEY_RUN; exec ./app'"
LIST
expect 0 survey tells.toml --results tells
contains err "tells: unchanged"

# Each launch compiled for an architecture that need not be there, and one that there is no compiler for.
expect 0 survey list.toml --results compiled --only '^good$' --compile-for sm_80
contains compiled/survey.md "1 of 1 (100.0 %) instances are compiled; a point of the grid has fewer registers for "
json_line() { python3 -c 'import json,sys; d=json.loads(open(sys.argv[1]).readline())["instances"][0]["compiled"]; print(eval(sys.argv[2]))' "$@"; }
[ "$(json_line compiled/programs.jsonl 'd["points"], len(d["registers"]), min(d["registers"] + d["bytes"]) > 0')" = "(4, 2, True)" ] || fail "what the code needs"
expect 0 survey list.toml --results none --only '^good$' --compile-for riscv
contains none/survey.md "0 of 1 (0.0 %) instances are compiled"
contains none/survey.md "not compiled: error: there is no compiler for the architecture 'riscv' in this build"

expect 0 survey list.toml --results foreign --only '^good$' --compile-for gfx942
contains foreign/survey.md "not compiled: compile_error: incompatible: compiling for gfx942: the module is for 'nvptx64-nvidia-cuda', not for AMD GPUs"

# A further run goes on: a line that was cut off is a program that is not known yet.
head -c -20 found/programs.jsonl >cut && mv cut found/programs.jsonl
expect 0 survey list.toml --results found
contains err "[5/5]"

# A program that recording changes is told, and the exit status says so.
printf '[[program]]\nname = "differs"\ncommand = "./app differs"\n' >differs.toml
expect 1 survey differs.toml --results changed
contains changed/survey.md "CHANGED: "

# What is right is told by the output; a kernel that the CPU device ends is told even where the program does not notice.
cat >right.toml <<'LIST'
right = "since the epoch"
wrong = "recorded: 1"
[[program]]
name = "right"
command = "./app"
[[program]]
name = "says nothing"
command = "./app"
right = "PASS"
[[program]]
name = "says it is wrong"
command = "./app differs"
wrong = "recorded: [0-9]"
[[program]]
name = "does not notice"
command = "./app far"
LIST
expect 0 survey right.toml --results right
contains err "1 of 1 (100.0 %) programs that run here by themselves are unchanged by recording; 3 more do not run, end or do right."
contains err "right: unchanged"
contains err "says nothing: not right by itself: its output has no 'PASS'"
contains err "says it is wrong: not right by itself: its output has 'recorded: 0'"
contains err "does not notice: fails by itself: kernel 'far(float*)', block [0,0,0], thread [0,0,0]: a write to address 0x"

# Lists that cannot be used.
printf '[[program]]\nname = "x"\n' >bad.toml
expect 2 survey bad.toml
contains err "reading bad.toml: each [[program]] has a command, as text"
printf '[[program]]\ncommand = "a"\n[[program]]\ncommand = "a b"\n' >bad.toml
expect 2 survey bad.toml
contains err "two programs have the name a"
printf '[[program]]\ncommand = "a \\\\"\n' >bad.toml
expect 2 survey bad.toml
contains err "the command 'a \\\\': No escaped character"
printf 'limit = ' >bad.toml
expect 2 survey bad.toml
expect 2 survey missing.toml
contains err "reading missing.toml"
printf 'right = "("\n[[program]]\ncommand = "a"\n' >bad.toml
expect 2 survey bad.toml
contains err "right = '(': missing )"
