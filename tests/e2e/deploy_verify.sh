# Deployed code is compared with the program's own in the program: what does the same runs, what rounds otherwise does not, unless the
# program says by how much it may.
cat >rounding.cu <<'SOURCE'
#include <cuda_runtime.h>
#include <mneme/annotate.h>

#include <cstdio>
// Whole numbers round in no case; others do, where the multiplication and the addition become one operation, or not.
__global__ void advance(double* y, const double* x, double a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
int main() {
  const int n = 4096;
  static double numbers[n];
  double *x, *y;
  if (cudaMalloc(&x, sizeof numbers) || cudaMalloc(&y, sizeof numbers)) return 90;
  for (int launch = 0; launch < 6; ++launch) {
    for (int i = 0; i < n; ++i) numbers[i] = launch == 0 ? i % 7 : 1.0 / (i % 13 + launch);
    if (cudaMemcpy(x, numbers, sizeof numbers, cudaMemcpyHostToDevice) || cudaMemcpy(y, numbers, sizeof numbers, cudaMemcpyHostToDevice)) return 91;
#ifdef ANNOTATED
    mneme::annotate(y, {MNEME_F64, 1e-12, MNEME_RELATIVE});
#endif
    advance<<<n / 128, 128>>>(y, x, launch == 0 ? 3 : 0.1, n);
    if (cudaMemcpy(numbers, y, sizeof numbers, cudaMemcpyDeviceToHost)) return 92;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += numbers[i] * (i % 5 + 1);
    if (!ANNOTATED_ONLY) std::printf("%a\n", sum);
    std::printf("%.6f\n", sum);
  }
}
SOURCE
compile rounding.cu rounding -DANNOTATED_ONLY=0
expect 0 mneme run --device cpu -- ./rounding
mv out plain
expect 0 mneme record -rdb db --device cpu --max 1 -- ./rounding
expect 0 mneme sweep db --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir same
expect 0 mneme deploy same --unconfirmed -o same.tuned
expect 0 mneme sweep db --device cpu --iterations 2 --grid 'passes=default<O3>' --contraction fast --results-dir fused
expect 0 mneme deploy fused --unconfirmed -o fused.tuned
tuned() { expect 0 mneme run --device cpu --tuned "$@" -- ./rounding; }
same_output() { cmp -s out plain || fail "the program printed something else"; }

tuned same.tuned --verify 2
same_output
contains err "tuned: advance(double*, double const*, double, int): 4 of 6 launches ran the deployed code; the others: 2 run both ways"
MNEME_TUNED=same.tuned MNEME_TUNED_VERIFY=3 expect 0 mneme run --device cpu -- ./rounding
contains err "3 of 6 launches ran the deployed code; the others: 3 run both ways"
# Both ways take what they take: whichever was slower, each launch is counted, and the output is the same.
tuned same.tuned --race
same_output
contains err "of 6 launches ran the deployed code; the others: 5 run both ways"

# It was right for the recorded launch. Without being verified here it changes the output.
expect 0 mneme deploy --show fused.tuned
contains out "launches       32x1x1 blocks of 128x1x1"
tuned fused.tuned
! cmp -s out plain || fail "the planted code rounds as the program's own"
tuned fused.tuned --verify 2
same_output
contains err "the program's own code runs from now on: "
contains err "0 of 6 launches ran the deployed code; the others: 2 run both ways, 4 after a difference ("

# With a tolerance it is right.
compile rounding.cu rounding -DANNOTATED -DANNOTATED_ONLY=1
expect 0 mneme run --device cpu -- ./rounding
mv out plain
expect 0 mneme record -rdb tolerated --device cpu --max 1 -- ./rounding
expect 0 mneme sweep tolerated --device cpu --iterations 2 --grid 'passes=default<O3>' --contraction fast --results-dir tolerated-fused
expect 0 mneme deploy tolerated-fused --unconfirmed -o tolerated.tuned
expect 0 mneme deploy --show tolerated.tuned
contains out "right if       bytes from byte 0 behind argument 0 on are within f64, 1e-12, relative"
tuned tolerated.tuned --verify 2
same_output
contains err "4 of 6 launches ran the deployed code; the others: 2 run both ways"

# So it is where what rounds is a variable.
cat >variable.cu <<'SOURCE'
#include <cuda_runtime.h>
#include <mneme/annotate.h>

#include <cstdio>
__device__ double sums[4096];
__global__ void add(const double* x, double a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] = a * x[i] + sums[i];
}
int main() {
  const int n = 4096;
  static double numbers[n];
  double *x, *variable;
  if (cudaMalloc(&x, sizeof numbers) || cudaGetSymbolAddress((void**)&variable, sums)) return 90;
  for (int launch = 0; launch < 6; ++launch) {
    for (int i = 0; i < n; ++i) numbers[i] = launch == 0 ? i % 7 : 1.0 / (i % 13 + launch);
    if (cudaMemcpy(x, numbers, sizeof numbers, cudaMemcpyHostToDevice) || cudaMemcpyToSymbol(sums, numbers, sizeof numbers)) return 91;
    mneme::annotate(variable, {MNEME_F64, 1e-12, MNEME_RELATIVE});
    add<<<n / 128, 128>>>(x, launch == 0 ? 3 : 0.1, n);
    if (cudaMemcpyFromSymbol(numbers, sums, sizeof numbers)) return 92;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += numbers[i] * (i % 5 + 1);
    std::printf("%.6f\n", sum);
  }
}
SOURCE
compile variable.cu variable
expect 0 mneme run --device cpu -- ./variable
mv out plain
expect 0 mneme record -rdb variable-db --device cpu --max 1 -- ./variable
expect 0 mneme sweep variable-db --device cpu --iterations 2 --grid 'passes=default<O3>' --contraction fast --results-dir variable-fused
expect 0 mneme deploy variable-fused --unconfirmed -o variable.tuned
expect 0 mneme deploy --show variable.tuned
contains out "right if       bytes from byte 0 of the variable sums on are within f64, 1e-12, relative"
expect 0 mneme run --device cpu --tuned variable.tuned --verify 2 -- ./variable
same_output
contains err "4 of 6 launches ran the deployed code; the others: 2 run both ways"

# What the program's own code does not leave alike twice is not held against the deployed code, which does not run there.
cat >clocks.cu <<'SOURCE'
#include <cuda_runtime.h>

#include <cstdio>
__global__ void stamp(long long* out, int clocks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = clocks ? clock64() : i;
}
int main() {
  long long *out, numbers[256];
  if (cudaMalloc(&out, sizeof numbers)) return 90;
  for (int launch = 0; launch < 5; ++launch) {
    stamp<<<2, 128>>>(out, launch > 0);
    if (cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost)) return 91;
    std::printf("%d\n", launch > 0 ? numbers[7] > 7 : numbers[7] == 7);
  }
}
SOURCE
compile clocks.cu clocks
expect 0 mneme run --device cpu -- ./clocks
mv out plain
expect 0 mneme record -rdb clocks-db --device cpu --max 1 -- ./clocks
expect 0 mneme sweep clocks-db --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir clocks-found
expect 0 mneme deploy clocks-found --unconfirmed -o clocks.tuned
expect 0 mneme run --device cpu --tuned clocks.tuned --verify 2 -- ./clocks
same_output
lacks err "the program's own code runs from now on"
contains err "0 of 5 launches ran the deployed code; the others: 1 run both ways, 4 whose own code leaves memory otherwise each time ("
contains err ": where that is right, say by how much they may differ)"

# A kernel whose variables come to hold an address cannot be copied then; a cooperative launch can be.
compile "$CASE_FOLDER/../gpu/deployed.cu" deployed -O0
expect 0 mneme run --device cpu -- ./deployed
mv out plain
expect 0 mneme record -rdb variables --device cpu --max 1 -- ./deployed
for kernel in scale spread; do expect 0 mneme sweep variables $kernel --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir $kernel; done
expect 0 mneme deploy scale spread --unconfirmed -o both.tuned
expect 0 mneme run --device cpu --tuned both.tuned --verify 1 -- ./deployed
same_output
contains err "tuned: scale(int*, int const*, int, int): 36 of 39 launches ran the deployed code; the others: 1 run both ways, 2 with memory that is not known, so that it cannot be copied"
contains err "tuned: spread(int*, int): 0 of 1 launches ran the deployed code; the others: 1 run both ways"

expect 64 mneme run --device cpu --tuned both.tuned --verify -1 -- ./deployed
expect 64 mneme run --device cpu --tuned both.tuned --verify many -- ./deployed
for option in "--verify 2" --race; do
  # shellcheck disable=SC2086  # the option and its value
  expect 64 mneme run --device cpu $option -- ./deployed
  contains err "--verify and --race are about deployed code: name its file with --tuned"
done
