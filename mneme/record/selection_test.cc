// Which launches the options let through, without a recorder.
#include "mneme/record/selection.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace mneme {
namespace {

KernelRecord kernel(const std::string& name, const std::string& demangled = "") {
  KernelRecord kernel;
  kernel.name = name;
  kernel.demangled = demangled.empty() ? name : demangled;
  return kernel;
}

Digest name_digest(const std::string& name) { return digest_of(std::as_bytes(std::span(name))); }

const ProgramShape kShape{{2, 1, 1}, {32, 1, 1}, Bytes(0), false};

// The numbers, from 1, of the launches of one kernel that pass of `launches` in a row.
std::vector<int> passing(const RecordingOptions& options, int launches) {
  Selection selection(options);
  EXPECT_TRUE(selection.status().ok()) << selection.status().message();
  KernelCounts counts;
  std::vector<int> passed;
  for (int i = 1; i <= launches; ++i)
    if (!selection.leaves_out(counts, selection.next_position()) && selection.begin_attempt(counts)) passed.push_back(i);
  return passed;
}

TEST(Selection, WithoutOptionsTheFirstFewLaunchesPass) {
  EXPECT_EQ(passing({}, 6), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_FALSE(Selection(RecordingOptions()).leaves_out(kernel("any")).has_value());
}

TEST(Selection, AKernelsNameMustBeFoundAndNotBeExcluded) {
  RecordingOptions options;
  options.kernels = "axpy";
  options.exclude = "^daxpy|_Z5naxpy";
  const Selection selection(options);
  EXPECT_FALSE(selection.leaves_out(kernel("saxpy")).has_value());
  EXPECT_EQ(selection.leaves_out(kernel("dot")), NotRecorded::other_kernel);
  EXPECT_EQ(selection.leaves_out(kernel("daxpy")), NotRecorded::excluded);
  EXPECT_EQ(selection.leaves_out(kernel("_Z5naxpyi", "naxpy(int)")), NotRecorded::excluded) << "by its mangled name";
  options.kernels.clear();
  EXPECT_EQ(Selection(options).leaves_out(kernel("daxpy(int)")), NotRecorded::excluded) << "without --kernels, too";
  EXPECT_FALSE(Selection(options).leaves_out(kernel("dot")).has_value());
}

TEST(Selection, OfTheSlowestOnlyThoseThatAreNamed) {
  RecordingOptions options;
  options.slowest = {name_digest("_Z1af"), name_digest("_Z1bf")};
  const Selection selection(options);
  EXPECT_FALSE(selection.leaves_out(kernel("_Z1af", "a(float)")).has_value());
  EXPECT_FALSE(selection.leaves_out(kernel("_Z1bf", "b(float)")).has_value());
  EXPECT_EQ(selection.leaves_out(kernel("_Z1cf", "c(float)")), NotRecorded::faster_kernel);
}

TEST(Selection, SkipEveryAndMaxCountWhatTheOneBeforeHasLeft) {
  RecordingOptions options;
  options.max = 3;
  options.every = 4;
  EXPECT_EQ(passing(options, 20), (std::vector<int>{1, 5, 9}));
  options.skip = 2;
  EXPECT_EQ(passing(options, 20), (std::vector<int>{3, 7, 11}));
  options.window = "5:9";
  EXPECT_EQ(passing(options, 20), std::vector<int>{7});
}

TEST(Selection, AnAttemptThatIsTakenBackLeavesRoomForAnother) {
  RecordingOptions options;
  options.max = 1;
  Selection selection(options);
  KernelCounts counts;
  EXPECT_TRUE(selection.begin_attempt(counts));
  EXPECT_FALSE(selection.begin_attempt(counts)) << "as of another thread";
  selection.take_back_attempt(counts);
  EXPECT_TRUE(selection.begin_attempt(counts));
}

TEST(Selection, SaysWhenWhatIsLeftOutMayBeDecidedOtherwise) {
  RecordingOptions options;
  options.max = 2;
  Selection selection(options);
  KernelCounts counts;
  EXPECT_TRUE(selection.begin_attempt(counts));
  EXPECT_EQ(selection.changes(), 0u) << "there is room for another";
  EXPECT_TRUE(selection.begin_attempt(counts));
  EXPECT_EQ(selection.changes(), 1u);
  EXPECT_FALSE(selection.begin_attempt(counts));
  EXPECT_EQ(selection.changes(), 1u);
  selection.take_back_attempt(counts);
  EXPECT_EQ(selection.changes(), 2u);
  selection.take_back_attempt(counts);
  EXPECT_EQ(selection.changes(), 2u);
}

TEST(Selection, SaysWhichReasonsLast) {
  RecordingOptions options;
  EXPECT_TRUE(Selection(options).lasts(NotRecorded::beyond_max, 0));
  EXPECT_TRUE(Selection(options).lasts(NotRecorded::graph_nodes, 0));
  EXPECT_FALSE(Selection(options).lasts(NotRecorded::skipped, 0));
  EXPECT_FALSE(Selection(options).lasts(NotRecorded::pool_memory, 0));
  options.every = 2;
  EXPECT_FALSE(Selection(options).lasts(NotRecorded::beyond_max, 0)) << "it is between two the next time";
  EXPECT_TRUE(Selection(options).lasts(NotRecorded::excluded, 0));
  options.every = 1;
  options.window = "5:9";
  for (uint64_t position : {4u, 7u}) EXPECT_FALSE(Selection(options).lasts(NotRecorded::graph_nodes, position));
  EXPECT_FALSE(Selection(options).lasts(NotRecorded::outside_window, 4));
  EXPECT_TRUE(Selection(options).lasts(NotRecorded::outside_window, 10));
  EXPECT_TRUE(Selection(options).lasts(NotRecorded::other_kernel, 4));
  options.window = "5:";
  EXPECT_TRUE(Selection(options).lasts(NotRecorded::beyond_max, 7));
}

TEST(Selection, SaysWhichReasonsLastForAKernel) {
  RecordingOptions options;
  EXPECT_TRUE(Selection(options).lasts_for_kernel(NotRecorded::beyond_max));
  EXPECT_TRUE(Selection(options).lasts_for_kernel(NotRecorded::other_kernel));
  EXPECT_FALSE(Selection(options).lasts_for_kernel(NotRecorded::launch_attribute)) << "the next launch has none, perhaps";
  EXPECT_FALSE(Selection(options).lasts_for_kernel(NotRecorded::skipped));
  options.every = 2;
  EXPECT_FALSE(Selection(options).lasts_for_kernel(NotRecorded::beyond_max)) << "it is between two the next time";
  options.every = 1;
  options.window = "5:";
  EXPECT_FALSE(Selection(options).lasts_for_kernel(NotRecorded::other_kernel)) << "its launches have positions";
}

TEST(Selection, LaunchesThatAreCountedTogetherHavePlacesForTheWindow) {
  RecordingOptions options;
  options.window = "5:9";
  Selection selection(options);
  EXPECT_EQ(selection.next_position(), 1u);
  selection.pass_positions(3);
  EXPECT_EQ(selection.next_position(), 5u);
}

TEST(Selection, SaysWhatLeavesALaunchOut) {
  RecordingOptions options;
  options.skip = options.max = 1;
  options.every = 2;
  options.window = "2:6";
  Selection selection(options);
  KernelCounts counts;
  std::vector<std::optional<NotRecorded>> reasons;
  for (int i = 0; i < 7; ++i) {
    reasons.push_back(selection.leaves_out(counts, selection.next_position()));
    if (!reasons.back()) EXPECT_TRUE(selection.begin_attempt(counts));
  }
  EXPECT_EQ(reasons, (std::vector<std::optional<NotRecorded>>{NotRecorded::outside_window, NotRecorded::skipped, std::nullopt,
                                                              NotRecorded::between, NotRecorded::beyond_max, NotRecorded::between,
                                                              NotRecorded::outside_window}));
}

// A launch is numbered whatever kernel it is of, and the counts are each kernel's own.
TEST(Selection, AWindowIsOfTheProcess) {
  RecordingOptions options;
  options.window = "3:4";
  Selection selection(options);
  KernelCounts one, other;
  EXPECT_EQ(selection.leaves_out(one, selection.next_position()), NotRecorded::outside_window);
  EXPECT_EQ(selection.leaves_out(other, selection.next_position()), NotRecorded::outside_window);
  EXPECT_FALSE(selection.leaves_out(one, selection.next_position()).has_value());
  EXPECT_FALSE(selection.leaves_out(other, selection.next_position()).has_value());
  EXPECT_EQ(selection.leaves_out(one, selection.next_position()), NotRecorded::outside_window);
}

TEST(Selection, SecondsCountFromTheFirstLaunch) {
  RecordingOptions options;
  options.window = "0s:0.02s";
  Selection selection(options);
  KernelCounts counts;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(selection.leaves_out(counts, selection.next_position()).has_value()) << "there was none before it";
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(selection.leaves_out(counts, selection.next_position()), NotRecorded::outside_window);
}

TEST(Selection, AWindowThatIsNoneIsAnError) {
  RecordingOptions options;
  options.window = "9:3";
  EXPECT_EQ(Selection(options).status().message(), "no launch is in the window '9:3': it ends before it begins");
}

TEST(Selection, MemoryMayBeAsLargeAsAllowed) {
  RecordingOptions options;
  EXPECT_FALSE(Selection(options).leaves_out(Bytes(~uint64_t{0})).has_value());
  options.max_launch_bytes = 1_MiB;
  EXPECT_FALSE(Selection(options).leaves_out(1_MiB).has_value());
  EXPECT_EQ(Selection(options).leaves_out(1_MiB + Bytes(1)), NotRecorded::large_launch);
}

class Distinctness : public ::testing::Test {
 protected:
  // Whether a launch is the first of its kind; a claim that it gets is kept.
  bool claims(Distinct distinct, const ProgramShape& shape, ByteVector parameters = {}) {
    options_.distinct = distinct;
    auto claim = selection_.claim_launch(counts_, shape, parameters);
    if (claim) claim->keep();
    return claim.has_value();
  }
  RecordingOptions options_;
  Selection selection_{options_};
  KernelCounts counts_;
};

TEST_F(Distinctness, ByShapeEachMemberOfItTells) {
  EXPECT_TRUE(claims(Distinct::shape, kShape));
  EXPECT_FALSE(claims(Distinct::shape, kShape, ByteVector(8)));
  EXPECT_EQ(selection_.same(), NotRecorded::same_shape);
  std::vector<ProgramShape> others(11, kShape);
  others[0].grid.x = others[1].grid.y = others[2].grid.z = 9;
  others[3].block.x = others[4].block.y = others[5].block.z = 9;
  others[6].shared = Bytes(9);
  others[7].cooperative = true;
  others[8].cluster.x = others[9].cluster.y = others[10].cluster.z = 2;
  for (const ProgramShape& other : others) {
    EXPECT_TRUE(claims(Distinct::shape, other));
    EXPECT_FALSE(claims(Distinct::shape, other));
  }
}

TEST_F(Distinctness, ByArgumentsTheShapeTellsToo) {
  const ByteVector one(8, std::byte{1}), two(8, std::byte{2});
  EXPECT_TRUE(claims(Distinct::arguments, kShape, one));
  EXPECT_FALSE(claims(Distinct::arguments, kShape, one));
  EXPECT_EQ(selection_.same(), NotRecorded::same_arguments);
  EXPECT_TRUE(claims(Distinct::arguments, kShape, two));
  EXPECT_TRUE(claims(Distinct::arguments, {{3, 1, 1}, {32, 1, 1}, {}, false}, one));
}

TEST_F(Distinctness, ByDataMaxCountsThoseThatDiffer) {
  options_.distinct = Distinct::data;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(selection_.claim_launch(counts_, kShape, {}).has_value()) << "not known yet";
  const auto claims_data = [&](const std::string& data) {
    Selection::Claim claim;
    EXPECT_TRUE(selection_.begin_attempt(counts_));
    const bool claimed = selection_.claim_data(counts_, name_digest(data), claim);
    claim.keep();
    return claimed;
  };
  EXPECT_TRUE(claims_data("one"));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(claims_data("one"));
  EXPECT_EQ(selection_.same(), NotRecorded::same_data);
  EXPECT_EQ(counts_.attempts, 1u);
  EXPECT_TRUE(claims_data("two"));
  EXPECT_EQ(counts_.attempts, 2u);
}

TEST_F(Distinctness, WithoutItNothingIsClaimed) {
  Selection::Claim claim;
  for (int i = 0; i < 2; ++i) {
    auto of_launch = selection_.claim_launch(counts_, kShape, {});
    ASSERT_TRUE(of_launch.has_value());
    of_launch->keep();
    EXPECT_TRUE(selection_.claim_data(counts_, name_digest("data"), claim));
  }
}

// Else a launch that could not be recorded would keep all later ones from it.
TEST_F(Distinctness, AClaimThatIsNotKeptIsFreeAgain) {
  options_.distinct = Distinct::shape;
  {
    auto claim = selection_.claim_launch(counts_, kShape, {});
    ASSERT_TRUE(claim.has_value());
    EXPECT_FALSE(selection_.claim_launch(counts_, kShape, {}).has_value()) << "while it is being recorded";
    const Selection::Claim moved = std::move(*claim);
    EXPECT_FALSE(selection_.claim_launch(counts_, kShape, {}).has_value()) << "moved, it is the same claim";
  }
  EXPECT_TRUE(claims(Distinct::shape, kShape));
}

TEST(ShapeCounts, CountEachShapeApart) {
  ShapeCounts counts;
  EXPECT_EQ(counts.launches(kShape), 0u);
  std::vector<ProgramShape> shapes(12, kShape);
  shapes[1].grid.x = shapes[2].grid.y = shapes[3].grid.z = 9;
  shapes[4].block.x = shapes[5].block.y = shapes[6].block.z = 9;
  shapes[7].shared = Bytes(9);
  shapes[8].cooperative = true;
  shapes[9].cluster.x = shapes[10].cluster.y = shapes[11].cluster.z = 2;
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t launch = 0; launch <= i; ++launch) counts.count(shapes[i]);
  for (size_t i = 0; i < shapes.size(); ++i) EXPECT_EQ(counts.launches(shapes[i]), i + 1) << i;
}

TEST(ShapeCounts, OfMoreShapesThanTheyHoldTheFirstAreCounted) {
  ShapeCounts counts;
  const auto shape = [](size_t i) { return ProgramShape{{static_cast<uint32_t>(i + 1), 1, 1}, {1, 1, 1}, {}, false}; };
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < ShapeCounts::kMostShapes + 10; ++i) counts.count(shape(i));
  EXPECT_EQ(counts.launches(shape(0)), 2u);
  EXPECT_EQ(counts.launches(shape(ShapeCounts::kMostShapes - 1)), 2u);
  EXPECT_EQ(counts.launches(shape(ShapeCounts::kMostShapes)), 0u);
}

// It is done in the program's own call, which throws nothing.
TEST(ShapeCounts, MemoryThatRunsOutIsNoException) {
  const auto run = [] {
    ShapeCounts counts;
    counts.count(kShape);
    const rlimit none{1, 1};
    ::setrlimit(RLIMIT_AS, &none);
    const auto take = [](size_t size) {
      void* volatile taken = std::malloc(size);  // as the compiler must not leave out
      return taken != nullptr;
    };
    for (size_t size = 1 << 20; size != 0; size /= 2)
      while (take(size)) {
      }
    counts.count({{7, 1, 1}, {1, 1, 1}, {}, false});
    counts.count(kShape);
    ::_exit(counts.launches({{7, 1, 1}, {1, 1, 1}, {}, false}) == 0 && counts.launches(kShape) == 2 ? 0 : 20);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST(ShapeCounts, ThreadsLoseNone) {
  ShapeCounts counts;
  constexpr uint32_t kShapes = 300, kRounds = 50;
  const auto count = [&] {
    for (uint32_t round = 0; round < kRounds; ++round)
      for (uint32_t i = 0; i < kShapes; ++i) counts.count({{i + 1, 1, 1}, {1, 1, 1}, {}, false});
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(count);
  for (std::thread& thread : threads) thread.join();
  for (uint32_t i = 0; i < kShapes; ++i) EXPECT_EQ(counts.launches({{i + 1, 1, 1}, {1, 1, 1}, {}, false}), 4 * kRounds);
}

}  // namespace
}  // namespace mneme
