// Modules and launches: names, shapes, parameters, shared memory, globals, collectives, atomics, output, time.
#include <algorithm>
#include <cmath>

#include "mneme/device/backend.h"
#include "mneme/device/conformance/conformance.h"

namespace mneme::conformance {
namespace {

class Launches : public Conformance {};

TEST_F(Launches, ModulesKnowTheirNames) {
  EXPECT_EQ(module_->kernel("no_such_kernel").status().code(), Code::not_found);
  EXPECT_NE(module_->kernel("no_such_kernel").status().message().find("no_such_kernel"), std::string::npos);
  EXPECT_EQ(module_->global("no_such_global").status().code(), Code::not_found);
  auto kernel = module_->kernel("write_indices");
  ASSERT_OK(kernel.status());
  EXPECT_EQ((*kernel)->name(), "write_indices");
  auto table = module_->global("table");
  ASSERT_OK(table.status());
  EXPECT_EQ(table->size, Bytes(kTableEntries * 4));
}

TEST_F(Launches, ImagesOfAnotherDeviceAreRefused) {
  CodeImage image = target().image();
  for (const Backend& other : backends()) {
    if (other.kind == target().kind) continue;
    image.device = other.kind;
    EXPECT_EQ(device_->load(image).status().code(), Code::incompatible) << other.name;
  }
}

TEST_F(Launches, EveryThreadOfEveryShapeRunsOnce) {
  const LaunchShape shapes[] = {
      {.grid = {1, 1, 1}, .block = {1, 1, 1}},    {.grid = {3, 1, 1}, .block = {100, 1, 1}},
      {.grid = {2, 3, 1}, .block = {8, 4, 1}},    {.grid = {2, 3, 5}, .block = {4, 3, 7}},
      {.grid = {1, 1, 70}, .block = {1, 1, 64}},  {.grid = {5, 1, 1}, .block = {1024, 1, 1}},
      {.grid = {1, 300, 1}, .block = {1, 33, 1}},
  };
  for (const LaunchShape& shape : shapes) {
    const uint64_t threads = shape.block.volume(), count = shape.grid.volume() * threads;
    DevicePtr out = zeros(Bytes(count * sizeof(ThreadIndices)));
    run("write_indices", shape, Arguments(out.address));
    const auto indices = download<ThreadIndices>(out, count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t t = i % threads, b = i / threads;
      const ThreadIndices expected = {
          {uint32_t(t % shape.block.x), uint32_t(t / shape.block.x % shape.block.y), uint32_t(t / shape.block.x / shape.block.y)},
          {uint32_t(b % shape.grid.x), uint32_t(b / shape.grid.x % shape.grid.y), uint32_t(b / shape.grid.x / shape.grid.y)}};
      ASSERT_EQ(std::memcmp(&indices[i], &expected, sizeof expected), 0)
          << fmt::format("grid {} block {} thread {}", shape.grid, shape.block, i);
    }
  }
}

TEST_F(Launches, ShapesBeyondTheLimitsAreRefusedWithTheLimit) {
  const DeviceProperties& limits = device_->properties();
  DevicePtr out = zeros(Bytes(64));
  auto refusal = [&](LaunchShape shape) {
    Status status = launch("write_indices", shape, Arguments(out.address));
    EXPECT_EQ(status.code(), Code::invalid_argument) << status.to_string();
    return status.message();
  };
  EXPECT_NE(
      refusal({.grid = {1, 1, 1}, .block = {limits.max_threads_per_block + 1, 1, 1}}).find(fmt::format("{}", limits.max_block)),
      std::string::npos);
  EXPECT_NE(refusal({.grid = {1, 1, 1}, .block = {limits.max_threads_per_block, 2, 1}})
                .find(std::to_string(limits.max_threads_per_block)),
            std::string::npos);
  EXPECT_NE(refusal({.grid = {1, 1, limits.max_grid.z + 1}, .block = {1, 1, 1}}).find(std::to_string(limits.max_grid.z)),
            std::string::npos);
  EXPECT_NE(refusal({.grid = {1, 0, 1}, .block = {1, 1, 1}}).find("an extent is zero"), std::string::npos);
  const Bytes shared = limits.max_shared_memory_per_block;
  EXPECT_NE(refusal({.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_memory = shared + Bytes(16)})
                .find(std::to_string(shared.count)),
            std::string::npos);
  // The device is still good for what it can run.
  run("write_indices", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, Arguments(out.address));
}

TEST_F(Launches, StaticAndDynamicSharedMemory) {
  for (uint32_t threads : {1u, 32u, 100u, kReverseThreads}) {
    std::vector<uint32_t> data(threads * 9);
    for (uint32_t i = 0; i < data.size(); ++i) data[i] = i * 3;
    DevicePtr memory = upload(data);
    LaunchShape shape{.grid = {9, 1, 1}, .block = {threads, 1, 1}, .dynamic_shared_memory = Bytes(threads * 4)};
    run("reverse_in_block", shape, Arguments(memory.address));
    const auto reversed = download<uint32_t>(memory, data.size());
    for (uint32_t i = 0; i < data.size(); ++i)
      ASSERT_EQ(reversed[i], data[i / threads * threads + threads - 1 - i % threads]) << i;
  }
}

TEST_F(Launches, AllOfTheSharedMemoryCanBeUsed) {
  const auto fixed =
      (*module_->kernel("reverse_in_block"))->resources().static_shared_memory.value_or(Bytes(kReverseThreads * 4));
  DevicePtr memory = upload(std::vector<uint32_t>{1, 2, 3, 4});
  LaunchShape shape{
      .grid = {1, 1, 1}, .block = {4, 1, 1}, .dynamic_shared_memory = device_->properties().max_shared_memory_per_block - fixed};
  run("reverse_in_block", shape, Arguments(memory.address));
  EXPECT_EQ(download<uint32_t>(memory, 4), (std::vector<uint32_t>{4, 3, 2, 1}));
}

TEST_F(Launches, GlobalsAreReadAndWrittenByHostAndKernel) {
  auto counters = module_->global("counters"), table = module_->global("table");
  ASSERT_OK(counters.status());
  ASSERT_OK(table.status());
  EXPECT_EQ(counters->size, Bytes(kGlobalCounters * 4));
  EXPECT_EQ(download<uint32_t>(counters->address, kGlobalCounters), (std::vector<uint32_t>{10, 20, 30, 40}));
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 0.5f};
  ASSERT_OK(stream_->copy_to_device(table->address, std::as_bytes(std::span(values))));
  DevicePtr sum = zeros(Bytes(4)), reals = zeros(Bytes(4));
  run("read_globals", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, Arguments(sum.address, reals.address));
  EXPECT_EQ(download<uint32_t>(sum, 1)[0], 100u);
  EXPECT_EQ(download<float>(reals, 1)[0], 28.5f);
  EXPECT_EQ(download<uint32_t>(counters->address, kGlobalCounters), (std::vector<uint32_t>{11, 21, 31, 41}));
}

TEST_F(Launches, StructuresByValue) {
  DevicePtr out = zeros(Bytes(7 * 8));
  const Particle particle = {'p', {1, 2, 3}, -7, uint64_t{1} << 50, {1, 2, 3, 4, 5}};
  run("by_value", {}, Arguments(char{-3}, particle, short{-1234}, out.address));
  EXPECT_EQ(download<double>(out, 7), (std::vector<double>{-3, 'p', 321, -7, double(uint64_t{1} << 50), 6, -1234}));
}

TEST_F(Launches, ShufflesAndVotes) {
  std::vector<int32_t> values(2 * 64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * i % 101);
  DevicePtr in = upload(values), out = zeros(Bytes(values.size() * sizeof(WarpResults)));
  run("warp_collectives", {.grid = {2, 1, 1}, .block = {64, 1, 1}}, Arguments(in.address, out.address));
  const auto results = download<WarpResults>(out, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const int32_t* warp = &values[i / 32 * 32];
    WarpResults expected{};
    for (uint32_t lane = 0; lane < 32; ++lane) {
      expected.sum += warp[lane];
      if (lane <= i % 32) expected.prefix += warp[lane];
      expected.ballot |= static_cast<uint32_t>(warp[lane] & 1) << lane;
      expected.any |= warp[lane] == 7 ? 1 : 0;
    }
    expected.butterfly = expected.sum;
    expected.broadcast = warp[5];
    expected.segment = warp[i % 32 / 8 * 8 + 1];
    expected.all = 1;
    ASSERT_EQ(std::memcmp(&results[i], &expected, sizeof expected), 0) << i;
  }
}

TEST_F(Launches, ExitedThreadsAreNotWaitedFor) {
  DevicePtr out = zeros(Bytes(64 * 4));
  run("collectives_after_exit", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, Arguments(out.address));
  const auto results = download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(results[i], i % 2 == 0 ? 0x55555555u : 0u) << i;
}

TEST_F(Launches, ReductionsAtBarriers) {
  DevicePtr out = zeros(Bytes(100 * 12));
  run("barrier_reductions", {.grid = {1, 1, 1}, .block = {100, 1, 1}}, Arguments(out.address));
  const auto results = download<uint32_t>(out, 300);
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ((std::vector<uint32_t>{results[3 * i], results[3 * i + 1], results[3 * i + 2]}), (std::vector<uint32_t>{34, 1, 0}))
        << i;
  }
}

TEST_F(Launches, Atomics) {
  AtomicResults initial{};
  initial.bits_and = ~0u;
  DevicePtr memory = upload(std::vector<AtomicResults>{initial});
  const uint32_t n = 40 * 128;
  run("atomic_operations", {.grid = {40, 1, 1}, .block = {128, 1, 1}}, Arguments(memory.address));
  const AtomicResults results = download<AtomicResults>(memory, 1)[0];
  uint32_t bits = 0;
  int32_t most = 0;
  for (uint32_t i = 0; i < n; ++i) bits ^= i, most = std::max(most, static_cast<int32_t>(i * 7919 % 1009));
  EXPECT_EQ(results.add, static_cast<int32_t>(n * (n - 1) / 2));
  EXPECT_EQ(results.maximum, most);
  EXPECT_EQ(results.minimum, -static_cast<int32_t>(n - 1));
  EXPECT_EQ(results.bits_or, ~0u);
  EXPECT_EQ(results.bits_and, 0xffffff00u);
  EXPECT_EQ(results.bits_xor, bits);
  EXPECT_EQ(results.exchanged, 5u);
  EXPECT_EQ(results.compared, 2 * n);
  EXPECT_EQ(results.wide, uint64_t{n} << 33);
  EXPECT_EQ(results.real, n * 0.5f);
  EXPECT_EQ(results.wrapped, n % 100);
}

TEST_F(Launches, LanesThatComeTogether) {
  std::vector<uint32_t> keys(4 * 128), expected;
  for (uint32_t i = 0; i < keys.size(); ++i) keys[i] = i * i % 31;
  for (uint32_t i = 0; i < keys.size(); ++i)
    if (keys[i] % 3 == 0) expected.push_back(i);
  DevicePtr in = upload(keys), count = zeros(Bytes(4)), places = zeros(Bytes(keys.size() * 4));
  run("aggregated_count", {.grid = {4, 1, 1}, .block = {128, 1, 1}}, Arguments(in.address, count.address, places.address));
  EXPECT_EQ(download<uint32_t>(count, 1)[0], expected.size());
  auto placed = download<uint32_t>(places, expected.size());
  std::sort(placed.begin(), placed.end());
  EXPECT_EQ(placed, expected);
}

TEST_F(Launches, CooperativeGroups) {
  std::vector<int32_t> in(64), expected(64);
  for (int32_t i = 0; i < 64; ++i) in[i] = i * 3 - 20;
  for (size_t i = 0; i < 64; ++i) {
    for (size_t k = 0; k < 8; ++k) expected[i] += in[i / 8 * 8 + k];
    expected[i] += static_cast<int32_t>(i / 8) * 1000;
  }
  DevicePtr from = upload(in), out = zeros(Bytes(64 * 4));
  run("group_sums", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, Arguments(from.address, out.address));
  EXPECT_EQ(download<int32_t>(out, 64), expected);
}

TEST_F(Launches, Matches) {
  std::vector<uint64_t> in(32);
  for (uint64_t i = 0; i < 32; ++i) in[i] = (i % 4) << 40;
  DevicePtr from = upload(in), out = zeros(Bytes(96 * 4));
  run("match_lanes", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, Arguments(from.address, out.address));
  const auto results = download<uint32_t>(out, 96);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ((std::vector<uint32_t>{results[3 * i], results[3 * i + 1], results[3 * i + 2]}),
              (std::vector<uint32_t>{0x11111111u << i % 4, ~0u, 1}));
  }
}

TEST_F(Launches, FunctionPointersRecursionAndHeap) {
  const uint32_t fibonacci[16] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610};
  DevicePtr out = zeros(Bytes(64 * 4));
  run("call_by_pointer", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, Arguments(out.address));
  auto results = download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(results[i], i % 2 == 0 ? fibonacci[i % 16] : 2 * (i % 16)) << i;
  run("heap", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, Arguments(out.address));
  results = download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(results[i], 40 * i + 780) << i;
}

TEST_F(Launches, NamedBarriers) {
  DevicePtr out = zeros(Bytes(64 * 4));
  run("named_barriers", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, Arguments(out.address));
  const auto results = download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(results[i], i < 32 ? 2u : 1u) << i;
}

TEST_F(Launches, Mathematics) {
  std::vector<double> in(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i) * 0.37;
  DevicePtr from = upload(in), out = zeros(Bytes(64 * 8)), singles = zeros(Bytes(64 * 4));
  run("mathematics", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, Arguments(from.address, out.address, singles.address));
  const auto doubles = download<double>(out, 64);
  const auto floats = download<float>(singles, 64);
  for (size_t i = 0; i < in.size(); ++i) {
    const double x = in[i];
    const double expected = std::sin(x) + std::exp(-x) + std::pow(x + 1, 1.5) + std::sqrt(x) + (2 * x + 1) + std::floor(x);
    EXPECT_NEAR(doubles[i], expected, 1e-12 * std::abs(expected)) << i;
    EXPECT_NEAR(floats[i], std::sin(x) + std::exp(-x) + 1 / std::sqrt(x + 1), 1e-5) << i;
  }
}

TEST_F(Launches, Output) {
  testing::internal::CaptureStdout();
  Status status = launch("print", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, Arguments(int32_t{-5}, 2.5));
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "number -5, real 2.500, string c 1099511627776\n");
  ASSERT_OK(status);
}

TEST_F(Launches, TimesOfManyLaunchesAreTakenAtOnce) {
  DevicePtr out = zeros(Bytes(1024 * 4));
  auto kernel = module_->kernel("busy");
  ASSERT_OK(kernel.status());
  const LaunchShape shape{.grid = {4, 1, 1}, .block = {256, 1, 1}};
  const Arguments arguments(uint32_t{1000}, out.address);
  auto none = stream_->take_times();
  ASSERT_OK(none.status());
  EXPECT_TRUE(none->empty());
  for (size_t count : {size_t{1}, size_t{5}, size_t{100}}) {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_OK(stream_->fill(out, std::byte{0}, Bytes(1024 * 4)));  // nobody waits between the two
      ASSERT_OK(stream_->launch_timed(**kernel, shape, arguments.bytes()));
    }
    ASSERT_OK(stream_->launch(**kernel, shape, arguments.bytes()));
    auto times = stream_->take_times();
    ASSERT_OK(times.status());
    ASSERT_EQ(times->size(), count);
    for (Nanoseconds time : *times) EXPECT_GT(time.count(), 0);
  }
  auto clock = device_->clock();
  ASSERT_OK(clock.status());
  EXPECT_FALSE(clock->source.empty());
  uint32_t expected = 1023;
  for (int k = 0; k < 1000; ++k) expected = expected * 1664525 + 1013904223;
  EXPECT_EQ(download<uint32_t>(out, 1024)[1023], expected);
}

TEST_F(Launches, ATimedLaunchThatIsRefusedHasNoTime) {
  auto kernel = module_->kernel("write_indices");
  ASSERT_OK(kernel.status());
  EXPECT_EQ(stream_->launch_timed(**kernel, {.grid = {1, 0, 1}, .block = {1, 1, 1}}, {}).code(), Code::invalid_argument);
  auto times = stream_->take_times();
  ASSERT_OK(times.status());
  EXPECT_TRUE(times->empty());
}

TEST_F(Launches, MemoryIsReadThroughACacheWhereThereIsOne) {
  const std::vector<uint32_t> values(5000, 7);
  DevicePtr memory = upload(values);
  Status read = stream_->read_through(memory, Bytes(values.size() * 4));
  if (device_->properties().l2_cache.count == 0)
    EXPECT_EQ(read.code(), Code::unsupported) << read.to_string();
  else
    ASSERT_OK(read);
  EXPECT_EQ(download<uint32_t>(memory, values.size()), values);
}

TEST_F(Launches, WorkOfAStreamIsInOrder) {
  const uint32_t n = 1 << 20;
  DevicePtr a = allocate(Bytes(n * 4)), b = allocate(Bytes(n * 4)), sum = allocate(Bytes(n * 4));
  std::vector<float> ones(n, 1);
  ASSERT_OK(stream_->copy_to_device(a, std::as_bytes(std::span(ones))));
  ASSERT_OK(stream_->fill(b, std::byte{0}, Bytes(n * 4)));
  auto kernel = module_->kernel("vector_add");
  ASSERT_OK(kernel.status());
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(stream_->launch(**kernel, {.grid = {n / 256, 1, 1}, .block = {256, 1, 1}},
                              Arguments(a.address, b.address, sum.address, n).bytes()));
    ASSERT_OK(stream_->copy(b, sum, Bytes(n * 4)));
  }
  EXPECT_EQ(download<float>(b, n), std::vector<float>(n, 10));
}

TEST_F(Launches, CooperativeBlocksWaitForOneAnother) {
  const uint32_t blocks = 2 * std::min(device_->properties().multiprocessors, 16u), rounds = 10;
  DevicePtr arrivals = zeros(Bytes(4)), written = zeros(Bytes(blocks * 4)), wrong = zeros(Bytes(4));
  LaunchShape shape{.grid = {blocks, 1, 1}, .block = {64, 1, 1}, .dynamic_shared_memory = Bytes(0), .cooperative = true};
  run("grid_rounds", shape, Arguments(arrivals.address, written.address, wrong.address, rounds));
  EXPECT_EQ(download<uint32_t>(arrivals, 1)[0], 2 * rounds * blocks);
  EXPECT_EQ(download<uint32_t>(wrong, 1)[0], 0u);
}

TEST_F(Launches, KernelsUseAnAddressSpace) {
  auto space = device_->reserve(kDefaultAddressSpaceBase, 1_GiB);
  ASSERT_OK(space.status());
  const uint32_t n = 100000;
  std::vector<float> ones(n, 1), twos(n, 2);
  DevicePtr a = *(*space)->allocate(Bytes(n * 4)), b = *(*space)->allocate(Bytes(n * 4)), sum = *(*space)->allocate(Bytes(n * 4));
  ASSERT_OK(stream_->copy_to_device(a, std::as_bytes(std::span(ones))));
  ASSERT_OK(stream_->copy_to_device(b, std::as_bytes(std::span(twos))));
  run("vector_add", {.grid = {(n + 255) / 256, 1, 1}, .block = {256, 1, 1}}, Arguments(a.address, b.address, sum.address, n));
  EXPECT_EQ(download<float>(sum, n), std::vector<float>(n, 3));
}

}  // namespace
}  // namespace mneme::conformance
