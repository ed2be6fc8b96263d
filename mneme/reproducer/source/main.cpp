// One launch of a kernel, as it was recorded: its memory is put back at its addresses, the kernel runs, and what it leaves is
// compared with what was recorded after the launch. Then it is timed. Nothing but the GPU vendor's own API is used.
//
//   ./program [RUNS [DEVICE [CODE]]]
//
// RUNS launches are timed (10), on the device of that number (0). CODE is the machine code, kernel.cubin or kernel.hsaco; for an
// NVIDIA GPU a file of PTX, which the driver assembles, will do as well. Exit status: 0 the memory is as recorded, 1 it is not,
// 2 the launch could not be run.
//
// launch.h says what is launched: the shape, the arguments, and which memory is where. gpu.h has the vendor's API, memory.h puts
// that memory there, and compare.h compares.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compare.h"
#include "gpu.h"
#include "launch.h"
#include "memory.h"

// All memory that is mapped is compared, also what lies between the allocations.
static bool is_right(const std::vector<gpu::Address>& places) {
  bool right = true;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (places[i] == 0) continue;
    if (!compare::span_is_right(i, pieces, get(i, places[i]), content_of(i, true))) right = false;
  }
  if (!right) std::puts("not verified: memory is not as recorded after the launch");
  return right;
}

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 10, ordinal = count > 2 ? std::atoi(words[2]) : 0;
  gpu::start();
  hold_addresses();
  gpu::open_device(ordinal);
  map_memory();

  const auto kernel = gpu::load(count > 3 ? words[3] : gpu::kCodeFile);
  const std::vector<gpu::Address> places = find_places();
  std::vector<Content> before;
  for (size_t i = 0; i < spans.size(); ++i) before.push_back(content_of(i, false));

  const gpu::Event begin = gpu::make_event(), end = gpu::make_event();
  std::vector<float> times;
  for (int run = 0; run <= runs; ++run) {  // the first is not timed, since it takes longer
    for (size_t i = 0; i < spans.size(); ++i)
      if (places[i] != 0) put(i, places[i], before[i]);
    gpu::record(begin);
    gpu::launch(kernel);
    gpu::record(end);
    gpu::wait();
    if ((run == 0 || run == runs) && !is_right(places)) return 1;
    if (run != 0) times.push_back(gpu::milliseconds(begin, end) * 1000);
  }
  std::puts("verified: memory is as recorded after the launch");
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  std::printf("time: %.2f us (median of %zu launches, %.2f us at least)\n", times[times.size() / 2], times.size(), times[0]);
  return 0;
}
