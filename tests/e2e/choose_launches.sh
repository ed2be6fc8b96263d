# Which launches are recorded, and `mneme profile`, by which the kernels that take most time are chosen.
cat >app.cu <<'SOURCE'
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
__global__ void busy(int* data, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int round = 0; round < rounds; ++round) data[i] = data[i] * 1664525 + 1013904223;
}
__global__ void idle(int* data) { data[0] += 1; }
__global__ void touch(int* data) { data[1] = 7; }
int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 12, n = 100000;
  int* data = nullptr;
  if (rounds == 0) return 3;
  if (cudaMalloc(&data, n * sizeof(int)) != cudaSuccess || cudaMemset(data, 0, n * sizeof(int)) != cudaSuccess) return 90;
  for (int round = 0; round < rounds; ++round) {
    busy<<<(n + 255) / 256, 256>>>(data, n, 200);
    idle<<<1, round % 3 + 1>>>(data);
    touch<<<1, 1>>>(data);
    if (cudaDeviceSynchronize() != cudaSuccess) return 93;
  }
  int result[2] = {};
  if (cudaMemcpy(result, data, sizeof result, cudaMemcpyDeviceToHost) != cudaSuccess) return 94;
  std::printf("%d %d\n", result[0], result[1]);
  if (argc > 2) { std::fflush(stdout); _exit(5); }
}
SOURCE
compile app.cu app
record() { mneme record --device cpu "$@"; }
instances() { mneme ls --json "$1" >listing && json listing "sum(len(k['instances']) for k in d['kernels'] if '$2' in k['demangled'])"; }
expect_instances() { [ "$(instances "$1" "$2")" -eq "$3" ] || fail "$1 has another number of instances of $2 than $3"; }

expect 0 mneme run --device cpu -- ./app
mv out bare
same_output() { cmp -s out bare || fail "the output differs from that without recording"; }

expect 0 record -rdb exclude --exclude 'busy|^touch' -- ./app
same_output
expect_instances exclude idle 4
expect_instances exclude "" 4
contains err "not recorded: 24 launches: the kernel's name matches (--exclude) [first: busy(int*, int, int)]"
expect 0 record -rdb every --kernels idle --every 5 --skip 1 -- ./app
expect_instances every idle 3
contains err "not recorded: 1 launch: skipped (--skip)"
contains err "not recorded: 8 launches: between those that are recorded (--every)"
expect 0 record -rdb window --window 4:6 -- ./app
expect_instances window "" 3
contains err "not recorded: 33 launches: outside of the window (--window)"
expect 0 record -rdb seconds --window 1000s: -- ./app
contains err "recorded nothing in $PWD/seconds"
expect 0 record -rdb large --max-launch-bytes 100K -- ./app
contains err "not recorded: 36 launches: the launch sees more memory than allowed (--max-launch-bytes)"
expect 0 record -rdb fits --max-launch-bytes 1M --max 1 -- ./app
expect_instances fits "" 3

expect 0 record -rdb all --kernels idle --max all -- ./app
same_output
expect_instances all idle 12

# Of each kind one; what is the same does not count for --max.
expect 0 record -rdb shape --kernels idle --distinct shape --max 8 -- ./app
expect_instances shape idle 3
contains err "not recorded: 9 launches: a launch of the same shape is recorded already (--distinct shape)"
expect 0 record -rdb arguments --distinct arguments --max 8 -- ./app
expect_instances arguments "" 5
contains err "31 launches: a launch with the same arguments is recorded already (--distinct arguments)"
expect 0 record -rdb data --kernels idle --distinct data --max 3 -- ./app
expect_instances data idle 3

# How often the shape of each ran, counted without being asked.
expect 0 mneme show --json shape idle
[ "$(json out '[sorted(i["shape_launches"]) for i in d["instances"]]')" = "[['count', 'total'], ['count', 'total'], ['count', 'total']]" ] ||
  fail "on the CPU device the time of a shape is not told, though it costs nothing"
[ "$(json out '[i["shape_launches"]["count"] for i in d["instances"]]')" = "[4, 4, 4]" ] || fail "the shapes ran otherwise"
[ "$(json out '[i["shape_launches"]["total"] > 0 and i["recorded_time"] is None for i in d["instances"]]')" = "[True, True, True]" ] || fail "no times of shapes, or times of launches"
expect 0 mneme show shape "idle#0"
contains out "4 launches of this shape in the program"
expect 0 record -rdb timed --profile --max 1 -- ./app
expect 0 mneme show --json timed busy
[ "$(json out '(lambda l, t: l["count"] == 12 and l["total"] >= 12 * t["others"]["min"])(d["instances"][0]["shape_launches"], d["instances"][0]["recorded_time"])')" = True ] ||
  fail "busy did not run as long as it was timed"
expect 0 mneme show timed busy
contains out "12 launches of this shape in the program, "
lacks out "us in all"  # but ms

for device in $DEVICES; do
  expect 0 mneme profile --device "$device" --json "profile-$device.json" -- ./app 500
  contains err "1500 launches of 3 kernels in "
  contains err "busy(int*, int, int)"
  lacks err recorded
  json "profile-$device.json" "d['format'], d['version'], d['device_kind']" >head
  contains head "('mneme profile', {'major': 1, 'minor': 0}, '$device')"
  [ "$(json "profile-$device.json" "d['kernels'][0]['demangled'], d['kernels'][0]['launches'], d['kernels'][0]['timed'] >= 490")" = "('busy(int*, int, int)', 500, True)" ] ||
    fail "busy is not the one that takes most time"
  [ "$(json "profile-$device.json" "sorted((s['block'][0], s['launches']) for k in d['kernels'] if 'idle' in k['demangled'] for s in k['shapes'])")" = "[(1, 167), (2, 167), (3, 166)]" ] ||
    fail "the shapes of idle are others"
  [ "$(json "profile-$device.json" "abs(sum(k['share'] for k in d['kernels']) - 1) < 1e-9")" = True ] || fail "the shares are not of one whole"
  expect 0 mneme record --device "$device" -rdb "slowest-$device" --slowest 1 --profile-from "profile-$device.json" -- ./app
  expect_instances "slowest-$device" busy 4
  expect_instances "slowest-$device" "" 4
  contains err "not recorded: 24 launches: other kernels take more time in all (--slowest)"
done
expect 0 mneme profile --device cpu --top 1 -- ./app
same_output
contains err "and 2 kernels that take less (--top)"

# As the program ends, with what it told.
expect 3 mneme profile --device cpu -- ./app 0
contains err "profiled nothing: the program launched no kernel"
expect 0 mneme profile --device cpu -- /bin/true
contains err "profiled nothing: no program that was built for Mneme ran"
expect 5 mneme profile --device cpu -- ./app 2 leaves
contains err "not profiled: 6 launches: failed, or made just before a process was killed or left by _exit()"
# Ended by Ctrl-C, it has told most of it. A busy machine may need longer to begin.
for seconds in 4 16 64; do
  expect 130 timeout --preserve-status -s INT "$seconds" mneme profile --device cpu -- ./app 100000000
  if grep -qF " launches of 3 kernels in " err; then break; fi
done
contains err " launches of 3 kernels in "
expect 0 mneme profile --device cpu -- sh -c './app 2; ./app 3'
contains err "15 launches of 3 kernels in "

# What cannot be.
expect 64 record -rdb none --slowest 1 -- ./app
contains err "--slowest needs a profile: write one by \`mneme profile --json FILE -- PROGRAM\`, and name it by --profile-from FILE"
expect 64 record -rdb none --profile-from profile-cpu.json -- ./app
contains err "--profile-from has no use without --slowest N"
expect 2 record -rdb none --slowest 1 --profile-from nowhere.json -- ./app
contains err "nowhere.json"
echo '{"format": "mneme instances"}' >other.json
expect 2 record -rdb none --slowest 1 --profile-from other.json -- ./app
contains err "other.json: /format: 'mneme profile' expected, not 'mneme instances'"
mneme profile --device cpu --json empty.json -- ./app 0 >/dev/null 2>&1 || true
expect 2 record -rdb none --slowest 1 --profile-from empty.json -- ./app
contains err "empty.json: the profile has no kernel that can be recorded"
expect 64 record -rdb none --window 9:3 -- ./app
contains err "no launch is in the window '9:3': it ends before it begins"
expect 64 record -rdb none --window soon -- ./app
contains err "'soon' is no window: FROM:TO are the numbers of launches"
expect 64 record -rdb none --exclude '(' -- ./app
contains err "'(' is no regular expression"
expect 64 record -rdb none --distinct memory -- ./app
contains err "memory"
expect 64 record -rdb none --every 0 -- ./app
contains err "'0' is not a whole number from 1"
expect 2 mneme profile --device cpu --json nowhere/profile.json -- ./app
contains err nowhere
lacks out 7
[ ! -e none ] || fail "a database was made in vain"
