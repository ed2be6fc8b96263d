# A winner that was found on several launches of a kernel: one promise of those that one code covers, whose evidence names all of them.
cat >app.cu <<'SOURCE'
#include <cuda_runtime.h>
#include <cstdio>
__global__ void twice(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}
int main() {
  float *data, first, last;
  cudaMalloc(&data, 1024 * sizeof(float));
  float ones[1024];
  for (float& one : ones) one = 1;
  cudaMemcpy(data, ones, sizeof ones, cudaMemcpyHostToDevice);
  twice<<<8, 128>>>(data, 512);                               // of the first shape: some data,
  for (int i = 0; i < 3; ++i) twice<<<8, 128>>>(data, 1024);  // and other data each time
  twice<<<4, 256>>>(data, 1024);
  cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost);
  cudaMemcpy(&last, data + 1023, sizeof last, cudaMemcpyDeviceToHost);
  std::printf("%g %g\n", first, last);
}
SOURCE
compile app.cu app -O3
expect 0 mneme record -rdb db --device cpu --max 2 -- ./app
expect 0 mneme record -rdb db --device cpu --max 3 --skip 2 -- ./app
expect 0 mneme ls --json db
python3 - >hashes <<'PYTHON'
import json
(kernel,) = json.load(open("out"))["kernels"]
assert len(kernel["instances"]) == 5, kernel
print(*(one["dynamic_hash"] for one in kernel["instances"]), sep="\n")
PYTHON

verified_on() { # NUMBERS
  grep -o 'verified on .*' out | awk '{print $3}' | sort >named
  for number in "$@"; do sed -n "$((number + 1))p" hashes; done | sort >wanted
  cmp -s named wanted || fail "the evidence does not name the launches $*: $(cat out)"
}

# Code for launches of any shape: all five are in its evidence, and counted in one line.
expect 0 mneme sweep db twice --all-instances --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir any
expect 0 mneme deploy any --unconfirmed -o any.tuned
contains out "any: twice(float*, int), 5 launches, is deployed"
contains out "any.tuned: 1 kernel with deployed code"
expect 0 mneme deploy --show any.tuned
verified_on 0 1 2 3 4

# Code for a block: each block has its own, with the launches that it covers.
expect 0 mneme sweep db twice --all-instances --device cpu --iterations 2 --set keep_threads=true --grid block.x=64 --results-dir blocks
expect 0 mneme deploy blocks --unconfirmed -o blocks.tuned
contains out "blocks.tuned: 2 kernels with deployed code"
expect 0 mneme deploy --show blocks.tuned
verified_on 0 1 2 3 4
expect 0 mneme run --device cpu --tuned blocks.tuned -- ./app
contains out "32 16"
contains err "tuned: twice(float*, int): 5 of 5 launches ran the deployed code"

# What is right on the first launch and wrong on another of the same shape would run in both: it is deployed for neither.
expect 0 mneme sweep db 'twice#0' --device cpu --iterations 2 --grid block.x=64 --results-dir half
expect 0 mneme deploy half --unconfirmed -o half.tuned
python3 - <<'PYTHON'
import json
plan = json.load(open("half/sweep.json"))
plan["instances"] += [open("hashes").read().split()[1]]
json.dump(plan, open("half/sweep.json", "w"))
PYTHON
expect 1 mneme deploy half --unconfirmed -o wrong.tuned
contains out "half: twice(float*, int), 2 launches, is left out: on $(sed -n 2p hashes): not verified: "
[ ! -e wrong.tuned ] || fail "code that is wrong on a recorded launch was written"

# One code for launches whose pointers are aligned otherwise asks for no more than the least of them, whichever comes last.
cat >shift.cu <<'SOURCE'
#include <cuda_runtime.h>
#include <cstdio>
__global__ void shift(float* data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
int main() {
  float *data, first;
  cudaMalloc(&data, 1024 * sizeof(float));
  cudaMemset(data, 0, 1024 * sizeof(float));
  shift<<<1, 64>>>(data);
  shift<<<1, 64>>>(data + 1);
  shift<<<1, 64>>>(data);
  cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost);
  std::printf("%g\n", first);
}
SOURCE
compile shift.cu shift -O3
expect 0 mneme record -rdb shifted --device cpu -- ./shift
expect 0 mneme sweep shifted shift --all-instances --device cpu --iterations 2 --set specialise.alignment=true --grid 'passes=default<O3>' --results-dir aligned
for order in 1 -1; do
  python3 - $order <<'PYTHON'
import json, sys
plan = json.load(open("aligned/sweep.json"))
assert len(plan["instances"]) == 3, plan
plan["instances"] = sorted(plan["instances"])[:: int(sys.argv[1])]
json.dump(plan, open("aligned/sweep.json", "w"))
PYTHON
  expect 0 mneme deploy aligned --unconfirmed -o aligned.tuned
  contains out "aligned: shift(float*), 3 launches, is deployed"
  expect 0 mneme run --device cpu --tuned aligned.tuned -- ./shift
  contains err "tuned: shift(float*): 3 of 3 launches ran the deployed code"
done
