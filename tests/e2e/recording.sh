# What is recorded and what is not; recordings that are killed, that meet a full disk, or that run side by side.
cat >app.cu <<'SOURCE'
#include <cstdio>
#include <cstdlib>
#include <vector>
__device__ int total;
__constant__ int table[4];
__global__ void scale(int* data, int n, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + table[i % 4];
}
__global__ void count(const int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && data[i] % 2) atomicAdd(&total, 1);
}
int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 6, n = argc > 2 ? std::atoi(argv[2]) : 100000;
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * 2654435761u >> 3;
  int* data = nullptr;
  if (cudaMalloc(&data, n * sizeof(int)) != cudaSuccess) return 90;
  if (cudaMemcpy(data, host.data(), n * sizeof(int), cudaMemcpyHostToDevice) != cudaSuccess) return 91;
  for (int round = 0; round < rounds; ++round) {
    int values[4] = {round, 1, 2, 3};
    if (cudaMemcpyToSymbol(table, values, sizeof values) != cudaSuccess) return 92;
    scale<<<(n + 255) / 256, 256>>>(data, n, 3);
    count<<<(n + 255) / 256, 256>>>(data, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 93;
  }
  int result = 0;
  if (cudaMemcpyFromSymbol(&result, total, sizeof result) != cudaSuccess || cudaFree(data) != cudaSuccess) return 94;
  std::printf("%d odd\n", result);
}
SOURCE
compile app.cu app
record() { mneme record --device cpu "$@"; }
instances() { mneme ls --json "$1" >listing && json listing "sum(len(k['instances']) for k in d['kernels'] if '$2' in k['demangled'])"; }
check_all() { for kernel in "$1"/*.json; do expect 0 mneme show --check --json "$kernel"; done; }

expect 0 mneme run --device cpu -- ./app
mv out bare
same_output() { cmp -s out bare || fail "the output differs from that without recording"; }

# Limits. The last line says what was recorded and what was not.
expect 0 record -rdb limits --max 2 --skip 1 -- ./app
same_output
[ "$(instances limits scale)" -eq 2 ] || fail "--max 2 recorded another number of launches"
contains err "mneme: recorded 4 launches of 2 kernels in $PWD/limits"
contains err "2 launches: skipped (--skip)"
contains err "6 launches: the kernel has as many recorded launches as --max allows"
check_all limits
expect 0 record -rdb limits --max 2 --skip 1 --json told.json -- ./app
[ "$(json told.json "(d['launches'], d['recorded'], d['recorded_before'], sum(r['launches'] for r in d['not_recorded']))")" = "(12, 0, 4, 8)" ] ||
  fail "--json says $(cat told.json)"
expect 2 record -rdb limits --json missing/told.json -- ./app
expect 0 record -rdb limits --max 2 --skip 1 -- ./app
contains err "4 launches were the same as recorded ones"
expect 0 record --record-db-dir regex --kernels '^scale\(' -- ./app
[ "$(instances regex scale)" -eq 4 ] || fail "the default of --max is not 4"
[ "$(instances regex count)" -eq 0 ] || fail "--kernels let another kernel through"
contains err "the kernel's name does not match (--kernels)"
# An expression that would take for ever where matching goes back.
expect 0 record --record-db-dir never --kernels '(.*)*q' -- ./app
same_output
expect 0 record -rdb bytes --max-bytes 1000 -- ./app
same_output
contains err "the database would grow by more than allowed (--max-bytes)"
expect 64 record -rdb bytes --kernels '(' -- ./app
contains err "'(' is no regular expression"
expect 64 record -rdb bytes --kernels '(a)\1' -- ./app
contains err "back-references, as \1, are not supported"
expect 64 record -rdb bytes -vass 5000 -- ./app
contains err "from 0.002 to 1024 (GiB)"

# A range that is too small ends the recording and nothing else.
expect 0 record -rdb narrow -vass 0.002 -- ./app 6 1000000
contains err "recording ended early"
mv out narrow.out
expect 0 mneme run --device cpu -- ./app 6 1000000
cmp -s out narrow.out || fail "the output differs when the range is too small"
# What is lost is said first, and with --strict by the exit status.
expect 2 record -rdb narrow --strict -vass 0.002 -- ./app 6 1000000
contains err "recorded nothing in $PWD/narrow; 8 launches that were to be recorded are lost"
expect 7 record -rdb narrow --strict -vass 0.002 -- sh -c './app 6 1000000; exit 7'
contains err "that were to be recorded are lost"
expect 0 record -rdb strict --strict --max 2 -- ./app
lacks err lost
# Also a launch that was being stored when the program ended, by a thread that did not make it.
cat >leaves.cu <<'SOURCE'
#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <thread>
__global__ void scatter(uint64_t* data) {
  uint64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;
  data[i] = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
}
int main(int, char** argv) {
  constexpr unsigned kBlocks = 1 << 16;
  uint64_t* data = nullptr;
  if (cudaMalloc(&data, kBlocks * 256 * sizeof *data) != cudaSuccess) return 90;
  // Before the launch all pages are alike.
  std::thread([=] {
    for (uintmax_t bytes = 0; bytes < 8 << 20; usleep(1000)) {
      std::error_code ignored;
      bytes = 0;
      for (const auto& file : std::filesystem::directory_iterator(argv[1], ignored)) bytes += file.file_size(ignored);
    }
    _exit(0);
  }).detach();
  scatter<<<kBlocks, 256>>>(data);
  return 91;
}
SOURCE
compile leaves.cu leaves
expect 2 record -rdb left --strict -- ./leaves "$PWD/left/pages"
contains err "perhaps 1 more, which was being stored when the program ended"

# A database that cannot be: the program does not run in vain.
echo "a file" >file
expect 2 record -rdb file -- ./app
contains err "the database $PWD/file cannot be written"
lacks out odd
expect 2 mneme ls nowhere
contains err "there is no directory nowhere"
mkdir empty
expect 2 mneme ls empty
contains err "empty holds no recording"

# Full disk: recording stops, the program goes on, what was published stays readable.
mkdir small
if mount -t tmpfs -o size=1536k tmpfs small 2>/dev/null; then
  status=0
  record -rdb small/db --max 1000 -- ./app 40 >out 2>err || status=$?
  cp err full.err; cp out full.out
  (check_all small/db) || { umount small; fail "an instance on the full disk is not whole"; }
  published=$(instances small/db scale)
  umount small
  [ "$status" -eq 0 ] || fail "the program ended with $status on a full disk"
  contains full.err "No space left on device"
  contains full.err "recording ended early"
  [ "$published" -ge 1 ] || fail "nothing was published before the disk was full"
  expect 0 mneme run --device cpu -- ./app 40
  cmp -s out full.out || fail "the output differs when the disk is full"
fi

# Killed at any moment.
for delay in 0.05 0.1 0.15 0.2 0.3 0.4 0.6 2 8 32; do
  # A busy machine may need longer to begin.
  if [ "${delay%.*}" -gt 0 ] && [ "$(instances killed scale 2>/dev/null || echo 0)" -ge 1 ]; then break; fi
  # Not through the function: the process to kill is the command itself, whose end is the program's.
  mneme record --device cpu -rdb killed --max 100000 -- ./app 100000 >/dev/null 2>&1 &
  recorder=$!
  sleep "$delay"
  kill -9 "$recorder"
  wait "$recorder" 2>/dev/null || true
  if ls killed/*.json >/dev/null 2>&1; then check_all killed; fi
done
[ "$(instances killed scale)" -ge 1 ] || fail "the killed recordings left nothing"

# Two programs into one database.
record -rdb both -- ./app 6 1000 >/dev/null 2>&1 &
one=$!
record -rdb both -- ./app 6 2000 >/dev/null 2>&1 &
two=$!
wait "$one" && wait "$two" || fail "one of two recordings at once failed"
[ "$(instances both scale)" -eq 8 ] || fail "two recordings at once lost instances"
check_all both

# Two that do not see each other's process ids, as in two containers.
if unshare --pid --fork --mount-proc true 2>/dev/null; then
  recorders=()
  for i in 1 2; do
    unshare --pid --fork --mount-proc mneme record --device cpu --strict --max 100000 -rdb apart -- ./app 20 "${i}000" >"out$i" 2>"err$i" &
    recorders[i]=$!
  done
  for i in 1 2; do
    wait "${recorders[i]}" || { mv "err$i" err; fail "one of two recordings in namespaces of their own failed"; }
  done
  [ "$(instances apart scale)" -eq 40 ] || fail "two recordings in namespaces of their own lost instances"
  check_all apart
fi

# Somebody who holds the lock is named, and is not waited for without end.
mkdir -p locked/pages && : >locked/.lock
sh -c 'exec 9<locked/.lock; flock 9; echo held >held; exec sleep 60' &
holder=$!
until [ -e held ]; do sleep 0.05; done
expect 2 record -rdb locked -- ./app
contains err "waiting for $PWD/locked/.lock, which "
contains err "locking $PWD/locked/.lock: "
kill "$holder" 2>/dev/null || true
wait "$holder" 2>/dev/null || true

# A program that starts recordable programs.
cat >starts.sh <<'SHELL'
#!/bin/sh
./app 1 1000 && ./app 1 2000
SHELL
chmod +x starts.sh
expect 0 record -rdb children -- ./starts.sh
[ "$(instances children scale)" -eq 2 ] || fail "programs that the program starts are not recorded"
expect 0 record -rdb nothing -- /bin/true
contains err "no program that was built for Mneme ran"

# The shared CUDA runtime.
$(mneme config cxx) -O2 $(mneme config cxxflags) app.cu -o app-shared $(mneme config ldflags --cudart shared) -Wl,-rpath,"$(mneme config cudadir)/lib64"
expect 0 record -rdb shared -- ./app-shared
same_output
[ "$(instances shared scale)" -eq 4 ] || fail "the program with the shared CUDA runtime was not recorded"
