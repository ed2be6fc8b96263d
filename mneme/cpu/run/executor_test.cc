#include "mneme/cpu/run/executor.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "mneme/cpu/run/testing/no_quiet_end.h"
#include "mneme/cpu/run/testing/test_image.h"

namespace mneme::cpu {
namespace {

using Words = std::vector<uint32_t>;

TEST_F(ExecutorTest, LoopsRunEachBlockOnce) {
  for (Dim3 grid : {Dim3{1, 1, 1}, Dim3{1000, 1, 1}, Dim3{7, 5, 3}, Dim3{1, 300, 2}}) {
    const uint64_t blocks = grid.volume();
    Words out = output("loop_indices", {.grid = grid, .block = {8, 4, 2}}, blocks * 64);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 64 + i % 64 + 1) << i;
  }
}

TEST_F(ExecutorTest, FibersRunEachThreadOnce) {
  for (Dim3 block : {Dim3{1, 1, 1}, Dim3{33, 1, 1}, Dim3{8, 4, 2}, Dim3{1, 16, 64}, Dim3{1024, 1, 1}}) {
    const uint64_t threads = block.volume();
    Words out = output("fiber_indices", {.grid = {5, 3, 2}, .block = block}, 30 * threads);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % threads + 1 + i / threads) << i;
  }
}

TEST_F(ExecutorTest, SharedMemoryAndBarriers) {
  for (uint32_t threads : {1u, 31u, 64u, 100u, 1024u}) {
    LaunchShape shape{.grid = {17, 1, 1}, .block = {threads, 1, 1}, .dynamic_shared_memory = Bytes(threads * 4)};
    Words out = output("reverse", shape, 17 * threads);
    for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / threads * threads + threads - 1 - i % threads) << i;
  }
}

TEST_F(ExecutorTest, ArrivalsAtABarrierCountAfterTheExit) {
  EXPECT_EQ(output("produce_consume", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 32), Words(32, 7));
}

TEST_F(ExecutorTest, AnArrivalCountsForOneUseOfTheBarrierOnly) {
  EXPECT_EQ(output("arrive_and_exit_later", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 32), Words(32, 7));
}

// A block that comes later has the fibers of an earlier one, and its barriers count their uses anew.
TEST_F(ExecutorTest, AnArrivalIsOfItsBlockOnly) {
  const LaunchShape shape{.grid = {1, 1, 1}, .block = {96, 1, 1}};
  EXPECT_EQ(output("arrive_or_exit", shape, 32, {.a = 0}), Words(32, 0));
  EXPECT_EQ(output("arrive_or_exit", shape, 32, {.a = 1}), Words(32, 7));
}

// The last warp is not whole, for which each use makes up.
TEST_F(ExecutorTest, WhoArrivesAndExitsIsCountedOnce) {
  EXPECT_EQ(output("arrive_and_exit_first", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 32), Words(32, 7));
}

TEST_F(ExecutorTest, ABarrierOfSomeThreadsIsUsedAgain) {
  Words expected(80, 144);
  std::fill_n(expected.begin(), 32, 0);
  EXPECT_EQ(output("part_barrier_again", {.grid = {1, 1, 1}, .block = {80, 1, 1}}, 80, {.a = 3}), expected);
}

TEST_F(ExecutorTest, ABlockOfOneThreadWaitsForNobody) {
  const Words out = output("loop_alone", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 13);
  EXPECT_EQ(out, (Words{1, 0, 77, 78, 1, 0, 1, 0, 1, 1, 1, 1, 42}));
}

TEST_F(ExecutorTest, ABarrierOfAsManyThreadsAsThereAreIsThatOfTheBlock) {
  EXPECT_EQ(output("barrier_of_all", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 64), Words(64, 1));
}

TEST_F(ExecutorTest, NamedBarriersOfPartOfTheBlock) {
  // 64 of 160 threads; then a partial last warp, which a barrier counts as a whole one.
  Words out = output("part_barrier", {.grid = {1, 1, 1}, .block = {160, 1, 1}}, 160, {.a = 64, .b = 64});
  for (uint32_t i = 0; i < 160; ++i) EXPECT_EQ(out[i], i < 64 ? 64u : 0u);
  EXPECT_EQ(output("part_barrier", {.grid = {1, 1, 1}, .block = {48, 1, 1}}, 48, {.a = 48, .b = 64}), Words(48, 48));
}

// A warp counts as a whole at a barrier of some threads, whenever those of it exit that do not come.
TEST_F(ExecutorTest, ThreadsThatExitCountAtABarrierOfSome) {
  for (uint32_t after : {0u, 1u}) {
    Words out = output("part_barrier_after_exit", {.grid = {1, 1, 1}, .block = {96, 1, 1}}, 96, {.a = after});
    for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], i < 64 && i % 2 == 0 ? 32u : 0u) << i << (after ? ", exits later" : "");
  }
}

TEST_F(ExecutorTest, TheGlobalTimerCountsNanosecondsOfTheDay) {
  const auto now = [] {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  };
  uint64_t times[2] = {};
  const uint64_t before = now();
  output("times", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 0, {.pointer = times});
  EXPECT_GE(times[0], before);
  EXPECT_LE(times[0], now());
}

TEST_F(ExecutorTest, BarrierReductions) {
  Words out = output("barrier_reductions", {.grid = {1, 1, 1}, .block = {70, 1, 1}}, 280);
  for (uint32_t i = 0; i < 70; ++i) EXPECT_EQ(Words(out.begin() + i * 4, out.begin() + i * 4 + 4), (Words{35, 0, 1, 1})) << i;
}

TEST_F(ExecutorTest, AReductionAtABarrierIsOfItsOwnUse) {
  Words out = output("barrier_reductions_again", {.grid = {1, 1, 1}, .block = {40, 1, 1}}, 80);
  for (uint32_t i = 0; i < 80; ++i) EXPECT_EQ(out[i], i % 2 == 0 ? 40u : 0u) << i;
}

TEST_F(ExecutorTest, ExitedThreadsAreNotWaitedFor) {
  Words out = output("barrier_after_exit", {.grid = {1, 1, 1}, .block = {100, 1, 1}}, 100);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(out[i], i % 2 == 0 ? 0u : 50u) << i;
  out = output("collectives_after_exit", {.grid = {1, 1, 1}, .block = {48, 1, 1}}, 48);
  for (uint32_t i = 0; i < 48; ++i) EXPECT_EQ(out[i], i % 2 == 1 ? 0 : i < 32 ? 0x55555555u + 16 : 0x5555u + 8) << i;
}

TEST_F(ExecutorTest, AnExitEndsEveryMeetingThatWaitsForIt) {
  Words expected(31, 23);
  std::fill_n(expected.begin(), 8, 8);
  EXPECT_EQ(output("two_meetings_and_an_exit", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 31), expected);
}

TEST_F(ExecutorTest, ALaneThatItsOwnMaskLeavesOutIsAlone) {
  Words expected(32);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(output("left_out_of_the_own_mask", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 32), expected);
}

TEST_F(ExecutorTest, ExitsFromDeepFramesReuseTheirFibers) {
  EXPECT_EQ(output("deep_exit", {.grid = {50, 1, 1}, .block = {96, 1, 1}}, 50 * 96), Words(50 * 96, 2));
}

// What the CUDA guide says of __shfl_*_sync for each width, against the packed operands that clang makes of it.
TEST_F(ExecutorTest, Shuffles) {
  for (uint32_t mode : {MNEME_CPU_SHUFFLE_UP, MNEME_CPU_SHUFFLE_DOWN, MNEME_CPU_SHUFFLE_BFLY, MNEME_CPU_SHUFFLE_IDX}) {
    for (uint32_t width : {1u, 2u, 4u, 8u, 16u, 32u}) {
      for (uint32_t operand = 0; operand < 32; ++operand) {
        const uint32_t clamp = (32 - width) << 8 | (mode == MNEME_CPU_SHUFFLE_UP ? 0u : 31u);
        Words out =
            output("shuffles", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 128, {.a = mode, .b = operand, .c = clamp, .d = ~0u});
        for (uint32_t i = 0; i < 64; ++i) {
          const uint32_t lane = i % 32, segment = lane / width * width, within = lane % width;
          uint32_t source = lane;
          bool in_range = true;
          if (mode == MNEME_CPU_SHUFFLE_UP) in_range = within >= operand, source = lane - operand;
          if (mode == MNEME_CPU_SHUFFLE_DOWN) in_range = within + operand < width, source = lane + operand;
          if (mode == MNEME_CPU_SHUFFLE_BFLY) source = lane ^ operand, in_range = source < segment + width;
          if (mode == MNEME_CPU_SHUFFLE_IDX) source = segment + operand % width;
          if (!in_range) source = lane;
          ASSERT_EQ(out[2 * i], 100 + i / 32 * 32 + source)
              << "mode " << mode << " width " << width << " operand " << operand << " lane " << lane;
          ASSERT_EQ(out[2 * i + 1], in_range ? 1u : 0u)
              << "mode " << mode << " width " << width << " operand " << operand << " lane " << lane;
        }
      }
    }
  }
}

TEST_F(ExecutorTest, ShufflesOfSomeLanes) {
  // A source outside of the mask gives the lane's own value.
  Words out = output("shuffles", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 64,
                     {.a = MNEME_CPU_SHUFFLE_DOWN, .b = 2, .c = 31, .d = 0x0f0f});
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const bool in_mask = (0x0f0f >> lane & 1) != 0, source_too = (0x0f0f >> (lane + 2) & 1) != 0;
    EXPECT_EQ(out[2 * lane], !in_mask ? 0 : source_too ? 102 + lane : 100 + lane) << lane;
  }
}

TEST_F(ExecutorTest, EachLaneNamesItsSource) {
  Words out = output("rotate", {.grid = {1, 1, 1}, .block = {128, 1, 1}}, 128, {.a = 100});
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i / 32 * 32 + (i + 100) % 32);
}

TEST_F(ExecutorTest, VotesAndMatches) {
  Words out = output("votes", {.grid = {1, 1, 1}, .block = {48, 1, 1}}, 48 * 8);
  for (uint32_t i = 0; i < 48; ++i) {
    const uint32_t lanes = i < 32 ? ~0u : 0xffffu, lane = i % 32;
    EXPECT_EQ(Words(out.begin() + 8 * i, out.begin() + 8 * i + 8),
              (Words{0x49249249u & lanes, i < 32 ? 0u : 1u, 1, i < 32 ? 0u : 1u, (0x11111111u << lane % 4) & lanes, lanes,
                     i < 32 ? 0 : lanes, i < 32 ? 10u : 11u}))
        << i;
  }
}

TEST_F(ExecutorTest, AVoteIsOfOneMindWhereAllSayNoToo) {
  Words out = output("votes_of_one_mind", {.grid = {1, 1, 1}, .block = {48, 1, 1}}, 48 * 4);
  for (uint32_t i = 0; i < 48; ++i) EXPECT_EQ(Words(out.begin() + 4 * i, out.begin() + 4 * i + 4), (Words{1, 1, 0, 0})) << i;
}

TEST_F(ExecutorTest, Reductions) {
  auto reduced = [&](uint32_t operation) {
    Words out = output("reductions", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 32, {.a = operation});
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], out[i / 16 * 16]);
    return std::pair(static_cast<int32_t>(out[0]), static_cast<int32_t>(out[16]));
  };
  // The halves hold -24, -21 … 21 and 24, 27 … 69.
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_ADD), std::pair(-24, 744));
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_MIN), std::pair(-24, 24));
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_MAX), std::pair(21, 69));
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_UMIN), std::pair(0, 24));
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_UMAX), std::pair(-3, 69));
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_AND).first, 0);
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_OR).first, -1);
  int32_t odd = 0;
  for (int32_t v = 24; v <= 69; v += 3) odd ^= v;
  EXPECT_EQ(reduced(MNEME_CPU_REDUCE_XOR).second, odd);
}

TEST_F(ExecutorTest, ActiveMaskIsWhoComesToTheCall) {
  Words out = output("active_masks", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane == 3 ? 0 : lane < 8 ? 0xf7u : 0xffffff00u) << lane;
  EXPECT_EQ(output("active_mask_and_spin", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 1), Words{1});
}

// One worker holds all blocks of a cooperative launch whose order is given.
TEST_F(ExecutorTest, ActiveMasksAreOfOneWarpOfOneBlock) {
  device_.executor().order_blocks(1);
  const LaunchShape shape{.grid = {3, 1, 1}, .block = {64, 1, 1}, .cooperative = true};
  EXPECT_EQ(output("active_masks_of_warps", shape, 6), (Words{0x3, 0xc, 0x30, 0xc0, 0x300, 0xc00}));
}

TEST_F(ExecutorTest, LanesKeepStepInSharedMemory) {
  for (uint32_t first : {0u, 17u, 32u}) {
    Words out = output("steps", {.grid = {3, 1, 1}, .block = {64, 1, 1}}, 192, {.a = first});
    for (uint32_t i = 0; i < out.size(); ++i) {
      const uint32_t lane = (i + 1) % 32;
      ASSERT_EQ(out[i], lane * (lane + 1) / 2) << i << " " << first;
    }
  }
}

TEST_F(ExecutorTest, ALaneThatWaitsForAnotherInAStepGetsIt) {
  EXPECT_EQ(output("steps_of_who_waits", {.grid = {1, 1, 1}, .block = {2, 1, 1}}, 1), Words{7});
}

TEST_F(ExecutorTest, ASpinningThreadLetsOthersRun) {
  EXPECT_EQ(output("spin_for_the_last", {.grid = {4, 1, 1}, .block = {1024, 1, 1}}, 1), Words{5});
}

TEST_F(ExecutorTest, CooperativeBlocksWaitForOneAnother) {
  for (uint32_t blocks : {1u, 2u, 40u}) {
    LaunchShape shape{.grid = {blocks, 1, 1}, .block = {33, 1, 1}, .cooperative = true};
    Words out = output("grid_barrier", shape, 1 + blocks, {.a = 20});
    EXPECT_EQ(out[0], 40 * blocks);
  }
}

TEST_F(ExecutorTest, BlocksOfAnOrdinaryLaunchMayWaitForLaterOnes) {
  Words out = output("grid_barrier", {.grid = {12, 1, 1}, .block = {64, 1, 1}}, 13, {.a = 3});
  EXPECT_EQ(out[0], 6u * 12);
}

TEST_F(ExecutorTest, RefusesACooperativeLaunchThatCannotBeResident) {
  EXPECT_EQ(launch("grid_barrier", {.grid = {1000, 1, 1}, .block = {1024, 1, 1}, .cooperative = true}, {}).to_string(),
            "invalid_argument: launching 'grid_barrier' with grid 1000x1x1 and block 1024x1x1: a cooperative launch keeps all "
            "its threads resident, "
            "and the device holds at most 262144; use fewer blocks");
}

TEST_F(ExecutorTest, ACooperativeLaunchMayHaveAsManyThreadsAsTheDeviceHolds) {
  const LaunchShape most{.grid = {1024, 1, 1}, .block = {256, 1, 1}, .cooperative = true};
  Words out = output("loop_indices", most, 1024 * 256);
  EXPECT_EQ(std::count(out.begin(), out.end(), 0u), 0) << "each has run";
  const LaunchShape more{.grid = {1025, 1, 1}, .block = {256, 1, 1}, .cooperative = true};
  EXPECT_EQ(launch("loop_indices", more, {}).code(), Code::invalid_argument);
}

TEST_F(ExecutorTest, RefusesTooFewParametersAndBrokenBounds) {
  auto kernel = module_->kernel("loop_indices");
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(
      stream_->launch(**kernel, {}, {}).to_string(),
      "invalid_argument: launching 'loop_indices' with grid 1x1x1 and block 1x1x1: it takes 32 B of parameters, 0 B were given");
  EXPECT_EQ(launch("loop_indices", {.grid = {1, 1, 1}, .block = {257, 1, 1}}, {}).code(), Code::invalid_argument);
  EXPECT_EQ((*kernel)->resources().max_threads_per_block, 256u);
}

TEST_F(ExecutorTest, PrintsInOrderAndCountsArguments) {
  testing::internal::CaptureStdout();
  Words out = output("print", {.grid = {1, 1, 1}, .block = {3, 1, 1}}, 3);
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "0 word 1.50 -1234567890123 x%\n1 word 1.50 -1234567890123 x%\n2 word 1.50 -1234567890123 x%\n");
  EXPECT_EQ(out, Words(3, 5));
}

TEST_F(ExecutorTest, HeapAndClocks) {
  Words out = output("heap", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i);
  EXPECT_EQ(output("clocks", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, 1), Words{1});
}

TEST_F(ExecutorTest, BlocksRunInTheOrderOfASeed) {
  const auto places = [&](const char* kernel, std::optional<uint64_t> seed, Dim3 grid) {
    device_.executor().order_blocks(seed);
    uint32_t count = 0;
    return output(kernel, {.grid = grid, .block = {3, 1, 1}}, grid.volume(), {.pointer = &count});
  };
  for (const char* kernel : {"loop_places", "fiber_places"}) {
    for (const Dim3 grid : {Dim3{1, 1, 1}, Dim3{2, 1, 1}, Dim3{100, 1, 1}, Dim3{7, 5, 3}}) {
      const Words one = places(kernel, 1, grid);
      Words sorted = one, each(one.size());
      std::sort(sorted.begin(), sorted.end());
      std::iota(each.begin(), each.end(), 1);
      EXPECT_EQ(sorted, each) << "every block runs once";
      EXPECT_EQ(places(kernel, 1, grid), one) << "the same for the same seed";
      if (grid.volume() < 100) continue;
      EXPECT_NE(one, each);
      EXPECT_NE(places(kernel, 2, grid), one);
    }
  }
  // Blocks that wait for others still end, and afterwards all workers run again.
  device_.executor().order_blocks(5);
  EXPECT_EQ(output("grid_barrier", {.grid = {12, 1, 1}, .block = {64, 1, 1}}, 13, {.a = 3})[0], 6u * 12);
  EXPECT_EQ(output("grid_barrier", {.grid = {12, 1, 1}, .block = {64, 1, 1}, .cooperative = true}, 13, {.a = 3})[0], 6u * 12);
  device_.executor().order_blocks(std::nullopt);
  EXPECT_EQ(output("grid_barrier", {.grid = {12, 1, 1}, .block = {64, 1, 1}}, 13, {.a = 3})[0], 6u * 12);
}

TEST_F(ExecutorTest, RecursionOfUnknownDepthHasRoom) {
  Words out = output("unknown_stack", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, 65, {.a = 150});
  EXPECT_EQ(Words(out.begin(), out.begin() + 64), Words(64, 1));
}

TEST_F(ExecutorTest, TimedLaunchesTakeTime) {
  Words out(64);
  TestParameters parameters{.out = out.data(), .a = 10};
  ASSERT_TRUE(stream_
                  ->launch_timed(**module_->kernel("barriers"), {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                                 std::as_bytes(std::span(&parameters, 1)))
                  .ok());
  auto times = stream_->take_times();
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 1u);
  EXPECT_GT((*times)[0].count(), 0);
  EXPECT_TRUE(stream_->take_times()->empty()) << "they are taken once";
}

// The application's own way of computing is neither the kernel's nor lost.
TEST_F(ExecutorTest, KernelsRunInTheDefaultFloatingPointEnvironment) {
  constexpr unsigned kFlags = 0x3f, kFlushAndRoundDown = 0xbfc0;
  static unsigned inside;
  uint32_t out = 0;
  auto look = +[] { inside = _mm_getcsr(); };
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kFlushAndRoundDown);
  const Status status = launch("call_host", {}, {.out = &out, .pointer = reinterpret_cast<void*>(look)});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(inside & ~kFlags, 0x1f80u);
  EXPECT_EQ(after & ~kFlags, kFlushAndRoundDown & ~kFlags);
}

TEST_F(ExecutorTest, LaunchesFromSeveralThreadsTakeTurns) {
  Kernel* kernel = *module_->kernel("barriers");
  std::vector<std::thread> threads;
  std::vector<Words> outs(4, Words(20 * 64));
  for (Words& out : outs) {
    threads.emplace_back([&] {
      auto stream = std::move(device_.create_stream()).value();
      const TestParameters parameters{.out = out.data(), .a = 2};
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(
            stream->launch(*kernel, {.grid = {20, 1, 1}, .block = {64, 1, 1}}, std::as_bytes(std::span(&parameters, 1))).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const Words& out : outs) EXPECT_EQ(out, Words(20 * 64, 1));
}

}  // namespace
}  // namespace mneme::cpu
