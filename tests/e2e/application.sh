# The application keeps its output, exit status and signals, under `mneme run` and under `mneme record`.
cat >app.cu <<'SOURCE'
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }
int main(int argc, char** argv) {
  int* device;
  if (cudaMalloc(&device, 1024 * sizeof(int)) != cudaSuccess) return 90;
  fill<<<1, 1024>>>(device, argc);
  if (cudaDeviceSynchronize() != cudaSuccess) return 91;
  for (int i = 1; i < argc; ++i) std::printf("[%s]\n", argv[i]);
  std::fprintf(stderr, "to stderr\n");
  char line[64];
  if (std::fgets(line, sizeof line, stdin)) std::printf("read %s", line);
  std::fflush(stdout);
  if (argc > 1 && !std::strcmp(argv[1], "--exec")) ::execl("/proc/self/exe", "app", "another", "program", nullptr);
  if (argc > 1 && !std::strcmp(argv[1], "--abort")) std::abort();
  if (argc > 1 && !std::strcmp(argv[1], "--term")) std::raise(SIGTERM);
  if (argc > 1 && !std::strcmp(argv[1], "--exit")) return std::atoi(argv[2]);
}
SOURCE
compile app.cu app
for way in "run" "record -rdb db"; do
  # shellcheck disable=SC2086
  through="mneme $way --device cpu -- ./app"
  echo "a line" | $through --flag "two words" "" >out 2>err || fail "$way: exit status $?"
  contains out "[two words]"
  contains out "[]"
  contains out "read a line"
  contains err "to stderr"
  expect 7 $through --exit 7
  expect 134 $through --abort
  expect 143 $through --term
done
# A process that becomes another program is recorded on.
expect 0 mneme record -rdb db-exec --device cpu -- ./app --exec
contains out "[program]"
expect 0 mneme ls db-exec "fill(int*, int)" --json
contains out '"dynamic_hash"'
expect 2 mneme run --device cpu -- ./does-not-exist
contains err "does-not-exist"

# A program whose main() has ended by pthread_exit() ends with the last of its threads.
cat >main_ends.cu <<'SOURCE'
#include <pthread.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
__global__ void add_one(int* values) { values[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
static int* memory;
static void launch(int last) {
  add_one<<<40, 256>>>(memory);
  cudaMemcpy(&last, memory + 40 * 256 - 1, sizeof last, cudaMemcpyDeviceToHost);
  std::printf("last %d\n", last);
}
static void* behind_main(void*) {
  usleep(100000);
  launch(0);
  return nullptr;
}
int main() {
  cudaMalloc(&memory, 40 * 256 * sizeof *memory);
  cudaMemset(memory, 0, 40 * 256 * sizeof *memory);
  launch(0);
  std::atexit([] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    std::printf("blocked at the end: %d\n", sigismember(&blocked, SIGTERM));
    launch(0);
  });
  pthread_t other;
  pthread_create(&other, nullptr, behind_main, nullptr);
  pthread_exit(nullptr);
}
SOURCE
compile main_ends.cu main_ends
for way in "run" "record -rdb db-main-ends"; do
  # shellcheck disable=SC2086
  expect 0 timeout -s KILL 100 mneme $way --device cpu -- ./main_ends
  [ "$(cat out)" = "$(printf 'last 1\nlast 2\nblocked at the end: 0\nlast 3')" ] || fail "$way: the program printed other lines"
done
contains err "recorded 3 launches of 1 kernel"

# Signals reach the application, and the recording that was made by then is whole.
cat >waits.cu <<'SOURCE'
#include <csignal>
#include <cstdio>
#include <unistd.h>
__global__ void fill(int* out) { out[threadIdx.x] = 1; }
volatile sig_atomic_t got = 0;
int main() {
  std::signal(SIGTERM, [](int) { got = 1; });
  int* device;
  if (cudaMalloc(&device, 4096) != cudaSuccess) return 90;
  fill<<<1, 1024>>>(device);
  cudaDeviceSynchronize();
  std::puts("waiting");
  std::fflush(stdout);
  while (!got) usleep(1000);
  std::puts("got it");
  return 5;
}
SOURCE
compile waits.cu waits
mneme record -rdb signalled --device cpu -- ./waits >out 2>err &
recorder=$!
for _ in $(seq 600); do grep -q waiting out && break; sleep 0.1; done
kill -TERM "$recorder"
status=0
wait "$recorder" || status=$?
[ "$status" -eq 5 ] || fail "the exit status is $status, not the application's 5"
contains out "got it"
expect 0 mneme ls signalled
