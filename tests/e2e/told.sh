# What a person is told: a replay at a terminal, what was not written, the time in the program, and what depends on the order of threads.
cat >told.cu <<'SOURCE'
__global__ void fill(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}
__global__ void add_up(const float* in, float* sum, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(sum, 1 / (1 + in[i]));
  atomicAdd(count, 1);
}
__global__ void meet(float* place) { place[threadIdx.x] = 1; }
int main() {
  const int n = 4096;
  float host[n], *in, *out;
  int* count;
  for (int i = 0; i < n; ++i) host[i] = i;
  if (cudaMalloc(&in, sizeof host) || cudaMalloc(&out, sizeof host) || cudaMalloc(&count, sizeof(int))) return 90;
  if (cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice) || cudaMemset(out, 0, sizeof host) || cudaMemset(count, 0, sizeof(int))) return 91;
  for (int i = 0; i < 4; ++i) fill<<<n / 256, 256>>>(in, out, n);
  if (cudaMemset(out, 0, sizeof host)) return 92;
  add_up<<<n / 64, 64>>>(in, out, count, n);
  meet<<<2, 32>>>(out);
  return cudaDeviceSynchronize() || cudaFree(in) || cudaFree(out) || cudaFree(count);
}
SOURCE
compile told.cu told -g
expect 0 mneme record -rdb db --profile --device cpu --max 1 -- ./told
kernel() { grep -l "\"demangled\": \"$1(" db/[0-9a-f]*.json || fail "there is no kernel $1"; }
at_terminal() { "$MNEME_PYTHON" -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@" </dev/null; }

# At a terminal words, elsewhere and with --json JSON.
replay=(mneme replay -rdb "$(kernel fill)" --device cpu --iterations 3)
expect 0 at_terminal "${replay[@]}"
contains out "verified: memory is as recorded, to the byte"
contains out "the median of 3 runs"
contains out "s, the median of 2 launches that were not recorded (steady_clock)"
contains out "as recorded"
lacks out '"verified"'
expect 0 at_terminal "${replay[@]}" --json
contains out '"verified": true'
expect 0 "${replay[@]}"
[ "$(json out 'd["result"]["not_written"], d["result"]["fewer_threads"]')" = "(None, [])" ] || fail "a right result"

# Half of the threads: what they leave out is told by the buffer's name, and never as a value.
why="2048 of 4096 f32 of argument 'out' were not written (2048 of 4096 threads in x: --keep-threads keeps them)"
expect 1 at_terminal "${replay[@]}" --block-dim-x 128
contains out "not verified: $why"
expect 1 "${replay[@]}" --block-dim-x 128
contains err "not verified: $why"
[ "$(json out '[(n["where"], n["not_written"], n["first"], n["wrong"]) for n in d["result"]["not_written"]]')" = "[(\"argument 'out'\", 2048, 2048, 0)]" ] ||
  fail "not_written in the result"
[ "$(json out 'd["result"]["mismatches"][0]["buffer"]')" = "argument 'out'" ] || fail "the mismatch has no name"
expect 0 "${replay[@]}" --block-dim-x 128 --keep-threads
expect 1 mneme diff "$(kernel fill)" --device cpu --block-dim-x 128 --png where.png
contains out "2048 elements were not written by this configuration, the first at index 2048"
contains out "not written                  2048 #"
contains out "2048 of 4096 threads in x ran: --keep-threads keeps them"
lacks out "worst absolute"
lacks out "e+3"
[ "$(head -c 4 where.png | tail -c 3)" = PNG ] || fail "the picture is none"

# How much time each kernel had in the program.
expect 0 mneme ls db
contains out "TIME IN PROGRAM"
expect 0 mneme ls --json db
[ "$(json out 'sorted((k["time_in_program"] or {"launches": 0})["launches"] for k in d["kernels"])[-1] >= 2')" = True ] || fail "the time in the program"

# A sum of floats depends on the order of blocks; the line is named.
sum=$(kernel add_up)
expect 0 mneme show "$sum"
contains out "the kernel adds floating-point numbers by atomic operations, and each order rounds otherwise (1 place, at "
expect 0 mneme show --json "$(kernel fill)"
[ "$(json out 'd["order_dependences"]')" = "[]" ] || fail "fill depends on no order"
for i in 1 2; do
  expect 1 mneme check "$sum" --device cpu --runs 6 --seed 4
  contains out "6 runs, not deterministic"
  contains out "--seed 4, which repeats them"
  contains out "the kernel adds floating-point numbers by atomic operations"
  lacks out "race:"
  mv out "out-$i"
done
cmp out-1 out-2 || fail "the same seed does not do the same"
expect 1 mneme replay -rdb "$sum" --device cpu --block-dim-x 32
contains err "mneme check tells whether it is deterministic"

# Threads of two blocks that write to the same places, though always the same.
expect 0 mneme check "$(kernel meet)" --device cpu --runs 2 --seed 1
contains out "2 runs, each time as recorded, though by its code it need not be"
contains out "race: 32 of 4096 f32 of argument 'place', the first at index 0: thread [0,0,0] of block ["
expect 0 mneme check "$(kernel fill)" --device cpu --runs 2
contains out "2 runs, deterministic, and as recorded"
lacks out "race"
