// Launches that are run both ways before the deployed code has their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "mneme/substitute/testing/deployed.h"

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The kernel doubles each number of its first array. The second pointer is the array's end.
class Trials : public testing::Deployed {
 protected:
  explicit Trials(const testing::TestSegment& scale = {.name = "scale"}) : Deployed(scale) {
    code_.repeatable = Repeatable::yes;
    code_.aligned = {{0, 64}};
    loader_.memory.add({address_of(data_.data()), Bytes(sizeof data_)});
    a_ = address_of(data_.data()).address;
    b_ = a_ + sizeof data_;
  }

  static DevicePtr address_of(const void* pointer) { return DevicePtr(reinterpret_cast<uint64_t>(pointer)); }
  template <typename T>
  static T argument(void* const* arguments, int index) {
    return *static_cast<T*>(arguments[index]);
  }
  static void double_all(void* const* arguments) {
    auto* const first = argument<uint32_t*>(arguments, 0);
    std::for_each(first, first + 1024, [](uint32_t& number) { number *= 2; });
  }

  // A launch of the program, as a front makes it. `deployed` is what the deployed code does.
  template <typename Code>
  void make(DeployedCode& deployed, Code does, const ProgramShape& shape = kShape, void* stream = nullptr) {
    ProgramLaunch launch = launch_of(shape);
    launch.stream = stream;
    const auto original = [&] { return own_(launch.arguments), ++originals_, true; };
    const auto found = deployed.find(launch, registry_, loader_);
    if (!found) return void(original());
    if (found->on_trial) {
      const auto code = [&](void*, void* const* arguments) { return does(arguments), deployed_result_; };
      const auto again = [&](void* const* arguments) { return own_(arguments), ++repeated_, Status(); };
      return deployed.try_out(*found, {launch, original, again, code}, loader_);
    }
    does(launch.arguments);
    deployed.end(*found);
  }

  static constexpr ProgramShape kShape{{4, 1, 1}, {128, 1, 1}};
  alignas(64) std::array<uint32_t, 1024> data_ = [] {
    std::array<uint32_t, 1024> ones;
    ones.fill(1);
    return ones;
  }();
  std::function<void(void* const*)> own_ = double_all;  // what the program's own code does
  int originals_ = 0, repeated_ = 0;                    // launches of it, and those on copies
  Status deployed_result_;
};

TEST_F(Trials, TheFirstLaunchesOfEachShapeAreCompared) {
  auto deployed = deploy(16, {.verify = 2});
  const auto with_its_end = [](void* const* arguments) {
    EXPECT_EQ(argument<uint32_t*>(arguments, 1) - argument<uint32_t*>(arguments, 0), 1024);
    double_all(arguments);
  };
  for (int i = 0; i < 3; ++i) make(*deployed, with_its_end);
  EXPECT_EQ(data_.back(), 8u) << "each launch was made once";
  EXPECT_EQ(originals_, 2);
  make(*deployed, double_all, {{2, 1, 1}, {128, 1, 1}});
  EXPECT_EQ(originals_, 3) << "another shape";
  EXPECT_TRUE(loader_.blocks.empty()) << "the copies are gone";
  EXPECT_THAT(deployed->summary(),
              ElementsAre("tuned: scale(int*, int*, int): 1 of 4 launches ran the deployed code; the others: 3 run both ways"));
}

TEST_F(Trials, WrongCodeIsDroppedAndTheProgramsResultStands) {
  auto deployed = deploy(16, {.verify = 1});
  const auto wrong = [](void* const* arguments) {
    double_all(arguments);
    ++argument<uint32_t*>(arguments, 0)[7];
  };
  for (int i = 0; i < 3; ++i) make(*deployed, wrong);
  EXPECT_EQ(data_[7], 8u);
  EXPECT_EQ(originals_, 3);
  EXPECT_THAT(deployed->summary(),
              ElementsAre(fmt::format(
                  "tuned: scale(int*, int*, int): 0 of 3 launches ran the deployed code; the others: 1 run both ways, 2 after "
                  "a difference (1 bytes are not as the program's own code leaves them, the first at {})",
                  address_of(&data_[7]))));
}

TEST_F(Trials, AnAddressThatIsStoredIsThatOfTheCopy) {
  auto deployed = deploy(16, {.verify = 1});
  ProgramLaunch launch = launch_of(kShape);
  const auto keep_end = [](void* const* arguments) { std::memcpy(argument<uint32_t*>(arguments, 0) + 8, arguments[1], 8); };
  const auto found = deployed->find(launch, registry_, loader_);
  ASSERT_TRUE(found && found->on_trial);
  const auto code = [&](void*, void* const* arguments) { return keep_end(arguments), Status(); };
  deployed->try_out(*found, {launch, [&] { return keep_end(launch.arguments), true; }, {}, code}, loader_);
  EXPECT_TRUE(deployed->find(launch, registry_, loader_));
}

TEST_F(Trials, WhatIsWithinItsToleranceIsRight) {
  const auto off_by = [](float part) {
    return [part](void* const* arguments) {
      double_all(arguments);
      float value = 0;
      auto* const at = argument<uint32_t*>(arguments, 0) + 20;
      std::memcpy(&value, at, sizeof value);
      value *= 1 + part;
      std::memcpy(at, &value, sizeof value);
    };
  };
  data_.fill(0x1f800000);  // of which twice is 1 as a float
  code_.tolerances = {{{0, 0}, 64, 512, {ElementType::f32, 1e-3, ErrorKind::relative}, {}}};
  auto deployed = deploy(16, {.verify = 1});
  make(*deployed, off_by(1e-4f));
  EXPECT_EQ(data_[20], 0x3f000000u);
  data_.fill(0x1f800000);
  make(*deployed, double_all);
  EXPECT_THAT(deployed->summary().front(), HasSubstr("1 of 2 launches ran the deployed code"));

  auto beyond = deploy(16, {.verify = 1});
  data_.fill(0x1f800000);
  make(*beyond, off_by(1e-2f));
  EXPECT_THAT(beyond->summary().front(),
              HasSubstr(fmt::format("(1 elements from {} on are not within the tolerance 'f32, 0.001, relative' of what the "
                                    "program's own code leaves (worst error 0.0",
                                    address_of(&data_[16]))));
  code_.tolerances = {{{0, 0}, 128, 0, {ElementType::f32, 1e-3, ErrorKind::relative}, {}}};
  auto before = deploy(16, {.verify = 1});
  data_.fill(0x1f800000);
  make(*before, off_by(1e-4f));
  EXPECT_THAT(before->summary().front(), HasSubstr("bytes are not as the program's own code leaves them")) << "before its range";
}

TEST_F(Trials, ToleranceOfAVariableIsOfThatVariable) {
  static std::array<double, 2> sums;
  code_.variables = {"offsets"};
  loader_.variable = {address_of(sums.data()), Bytes(sizeof sums)};
  // The program's own code adds to its variable, and the deployed one to the copy, with another rounding.
  own_ = [](void* const*) { sums[1] += 1; };
  const auto off_by = [&](double part) {
    return [this, part](void* const*) { reinterpret_cast<double*>(loader_.written.at(0))[1] += 1 + part; };
  };
  code_.tolerances = {{{}, 8, 0, {ElementType::f64, 1e-9, ErrorKind::relative}, 0}};
  auto deployed = deploy(16, {.verify = 1});
  sums = {1, 1};
  make(*deployed, off_by(1e-12));
  EXPECT_TRUE(deployed->find(launch_of(kShape), registry_, loader_)) << "it may run";
  auto beyond = deploy(16, {.verify = 1});
  sums = {1, 1};
  make(*beyond, off_by(1e-6));
  EXPECT_THAT(
      beyond->summary().front(),
      HasSubstr(fmt::format("(1 elements from {} on are not within the tolerance 'f64, 1e-09, relative'", address_of(&sums[1]))));
  EXPECT_EQ(sums[1], 2);
  code_.tolerances = {{{}, 8, 0, {ElementType::f64, 1e-9, ErrorKind::relative}, 1}};
  auto other = deploy(16, {.verify = 1});
  sums = {1, 1};
  make(*other, off_by(1e-12));
  EXPECT_THAT(other->summary().front(), HasSubstr("bytes are not as the program's own code leaves them")) << "of no variable";
}

// What is not the same twice in the program's own code is not held against the deployed one, and does not speak for it either.
TEST_F(Trials, WhatTheProgramsOwnCodeDoesEachTimeAnewTellsNothing) {
  own_ = [this](void* const* arguments) {
    double_all(arguments);
    argument<uint32_t*>(arguments, 0)[3] = static_cast<uint32_t>(1000 + originals_ + repeated_);
  };
  auto deployed = deploy(16, {.verify = 2});
  for (int i = 0; i < 4; ++i) make(*deployed, double_all);
  EXPECT_EQ(originals_, 4);
  EXPECT_EQ(repeated_, 2) << "once for each launch that was compared";
  EXPECT_EQ(data_[7], 16u) << "the copies alone are run on again";
  EXPECT_EQ(data_[3], 1005u);
  EXPECT_TRUE(loader_.blocks.empty());
  EXPECT_THAT(
      deployed->summary().front(),
      HasSubstr("0 of 4 launches ran the deployed code; the others: 4 whose own code leaves memory otherwise each time (2 bytes "
                "are not as the program's own code leaves them, the first at "));
  EXPECT_THAT(deployed->summary().front(), HasSubstr(": where that is right, say by how much they may differ)"));
}

TEST_F(Trials, WhatTheProgramsOwnCodeDoesAlikeIsComparedBesideWhatItDoesNot) {
  alignas(64) static std::array<uint32_t, 16> other;
  other.fill(5);
  b_ = address_of(other.data()).address;
  loader_.memory.add({address_of(other.data()), Bytes(sizeof other)});
  own_ = [this](void* const* arguments) {
    argument<uint32_t*>(arguments, 0)[3] = static_cast<uint32_t>(1000 + originals_ + repeated_);
  };
  const auto wrong = [](void* const* arguments) { argument<uint32_t*>(arguments, 1)[2] = 6; };
  auto deployed = deploy(16, {.verify = 1});
  for (int i = 0; i < 2; ++i) make(*deployed, wrong);
  EXPECT_EQ(repeated_, static_cast<int>(kRunsAgain));
  EXPECT_THAT(deployed->summary().front(),
              HasSubstr(fmt::format("0 of 2 launches ran the deployed code; the others: 1 run both ways, 1 after a difference (1 "
                                    "bytes are not as the program's own code leaves them, the first at {})",
                                    address_of(&other[2]))));
}

TEST_F(Trials, WithVariablesTheDeployedCodeIsRunAgain) {
  static uint64_t sum = 5;
  code_.variables = {"offsets"};
  loader_.variable = {address_of(&sum), Bytes(sizeof sum)};
  uint64_t runs = 0;
  auto deployed = deploy(16, {.verify = 1});
  const auto each_time = [&](void* const* arguments) {
    double_all(arguments);
    EXPECT_EQ(*reinterpret_cast<uint64_t*>(loader_.written.at(0)), 5u) << "each run begins with what was there before";
    *reinterpret_cast<uint64_t*>(loader_.written.at(0)) += ++runs;
  };
  make(*deployed, each_time);
  EXPECT_EQ(sum, 5u);
  EXPECT_EQ(repeated_, 0) << "the program's own code reaches the program's variable";
  EXPECT_EQ(runs, 2u);
  EXPECT_THAT(deployed->summary().front(), HasSubstr("1 whose own code leaves memory otherwise each time"));

  auto always_wrong = deploy(16, {.verify = 1});
  make(*always_wrong, [&](void* const* arguments) {
    double_all(arguments);
    *reinterpret_cast<uint64_t*>(loader_.written.at(0)) += 2;
  });
  EXPECT_THAT(always_wrong->summary().front(),
              HasSubstr("1 run both ways (1 bytes are not as the program's own code leaves them"));
}

TEST_F(Trials, WithoutRoomADifferenceIsOne) {
  // Room for one copy: half of what is free is taken.
  loader_.free = Bytes(2 * (sizeof data_ + 2 * 4096) + 16);
  auto deployed = deploy(16, {.verify = 1});
  make(*deployed, [](void* const* arguments) { ++argument<uint32_t*>(arguments, 0)[7]; });
  EXPECT_EQ(repeated_, 0);
  EXPECT_THAT(deployed->summary().front(), HasSubstr("; there was no room to see whether the same code leaves the same twice)"));
}

TEST_F(Trials, TheSlowerCodeIsDroppedForItsShape) {
  auto deployed = deploy(16, {.race = true});
  // What is loaded for the first launch makes its times say nothing.
  loader_.times = {1, 9000};
  for (int i = 1; i < 5; ++i) loader_.times.insert(loader_.times.end(), {200, 100});
  for (int i = 0; i < 7; ++i) make(*deployed, double_all);
  EXPECT_EQ(originals_, 7);
  EXPECT_EQ(data_.front(), 128u);
  for (int i = 0; i < 5; ++i) loader_.times.insert(loader_.times.end(), {100, 200});
  for (int i = 0; i < 6; ++i) make(*deployed, double_all, {{2, 1, 1}, {128, 1, 1}});
  EXPECT_THAT(deployed->summary(),
              ElementsAre("tuned: scale(int*, int*, int): 1 of 13 launches ran the deployed code; the others: 10 run both "
                          "ways, 2 slower with the deployed code"));
}

TEST_F(Trials, MoreAreVerifiedThanRacedWhereMoreAreAskedFor) {
  auto deployed = deploy(16, {.verify = 6, .race = true});
  for (int i = 0; i < 6; ++i) loader_.times.insert(loader_.times.end(), {100, 100});
  for (int i = 0; i < 7; ++i) make(*deployed, double_all);
  EXPECT_THAT(deployed->summary().front(), HasSubstr("1 of 7 launches ran the deployed code; the others: 6 run both ways"));
}

// Nothing of it is run, and the program's launch is made as it is.
TEST_F(Trials, WhatCannotBeComparedRunsTheProgramsOwnCode) {
  const auto fails = [](void* const*) { ADD_FAILURE() << "the deployed code was run"; };
  const auto kept = [&](auto prepare, std::string_view reason) {
    const int before = originals_;
    auto deployed = deploy(16, {.verify = 1});
    data_.fill(1);
    prepare();
    make(*deployed, fails);
    EXPECT_EQ(originals_, before + 1);
    EXPECT_THAT(deployed->summary().front(),
                HasSubstr(fmt::format("0 of 1 launches ran the deployed code; the others: 1 {}", reason)));
    EXPECT_TRUE(loader_.blocks.empty());
  };
  kept([&] { loader_.free = Bytes(sizeof data_); }, "without room for copies of the memory");
  kept([&] { loader_.free = 1_GiB, loader_.largest_block = Bytes(64); }, "without room for copies of the memory");
  loader_.largest_block = 1_GiB;

  const std::string unknown = "with memory that is not known, so that it cannot be copied";
  alignas(8) std::array<uint64_t, 4> elsewhere{};
  loader_.unknown = {address_of(elsewhere.data()), Bytes(sizeof elsewhere)};
  const uint64_t end = b_;
  kept([&] { b_ = address_of(elsewhere.data()).address; }, unknown);
  b_ = end;
  kept([&] { std::memcpy(&data_[10], &loader_.unknown.address, 8); }, unknown);
  kept([&] { std::memcpy(&data_[10], &a_, 8); }, unknown);  // a pointer in memory is not made another one
  data_.fill(1);

  code_.repeatable = Repeatable::no;
  kept([] {}, "of a kernel that cannot be run twice");
  code_.repeatable = Repeatable::unknown;
  kept([] {}, "of a kernel that cannot be run twice");
}

TEST_F(Trials, ACapturedLaunchIsTheProgramsOwnUntilTheCodeWasCompared) {
  auto deployed = deploy(16, {.verify = 2});
  make(*deployed, double_all);
  make(*deployed, double_all, kShape, this);
  make(*deployed, double_all);
  make(*deployed, double_all, kShape, this);
  EXPECT_THAT(deployed->summary().front(),
              HasSubstr("1 of 4 launches ran the deployed code; the others: 2 run both ways, 1 captured before the "
                        "code was compared"));
}

TEST_F(Trials, OneIsRunAtATime) {
  auto deployed = deploy(16, {.verify = 1});
  make(*deployed, [&](void* const* arguments) {
    std::thread([&] { make(*deployed, [](void* const*) { FAIL(); }); }).join();
    double_all(arguments);
  });
  EXPECT_THAT(deployed->summary().front(), HasSubstr("1 while another launch was run both ways"));
}

TEST_F(Trials, CodeThatFailsIsDropped) {
  auto deployed = deploy(16, {.verify = 1});
  deployed_result_ = error(Code::device_fault, "launching the deployed code returned 701");
  for (int i = 0; i < 2; ++i) make(*deployed, double_all);
  EXPECT_EQ(originals_, 2);
  EXPECT_EQ(data_.front(), 4u);
  EXPECT_THAT(deployed->summary().front(), HasSubstr("0 of 2 launches ran the deployed code; the others: 2 after a failure"));
}

TEST_F(Trials, VariablesAreCopiesToo) {
  static uint64_t offset = 5;
  code_.variables = {"offsets"};
  loader_.variable = {address_of(&offset), Bytes(sizeof offset)};
  auto deployed = deploy(16, {.verify = 2});
  uint64_t trial = 0;
  make(*deployed, [&](void* const* arguments) {
    trial = loader_.written.at(0);
    EXPECT_NE(trial, address_of(&offset).address);
    EXPECT_EQ(*reinterpret_cast<uint64_t*>(trial), 5u);
    ++*reinterpret_cast<uint64_t*>(trial);
    double_all(arguments);
  });
  EXPECT_EQ(offset, 5u);
  EXPECT_EQ(loader_.loads, 2) << "the code with the program's variables is another";
  EXPECT_THAT(deployed->summary().front(),
              HasSubstr("1 run both ways (1 bytes are not as the program's own code leaves them, the first at "))
      << "the program's own code does not count";
}

// Managed variables are pointers in the code of AMD GPUs. Here one counts how often the kernel has run, in memory that is an
// allocation like others.
class ManagedTrials : public Trials {
 protected:
  ManagedTrials() : Trials({.name = "scale", .globals = {{"offsets", 8, MNEME_GLOBAL_MANAGED}}, .target = MNEME_TARGET_AMDGCN}) {
    code_.variables = {"offsets"};
    loader_.variable = {address_of(&pointer_), Bytes(sizeof pointer_)};
    own_ = [this](void* const* arguments) { double_all(arguments), ++*pointer_; };
  }

  // The deployed code, which adds so much to what its table leads to.
  auto adding(uint64_t count) {
    return [this, count](void* const* arguments) {
      double_all(arguments);
      reached_ = *reinterpret_cast<uint64_t**>(loader_.written.at(0));
      seen_.push_back(*reached_);
      *reached_ += count;
    };
  }

  alignas(64) std::array<uint64_t, 8> counted_ = {5};
  uint64_t *pointer_ = counted_.data(), *reached_ = nullptr;
  std::vector<uint64_t> seen_;
};

TEST_F(ManagedTrials, TheirMemoryIsCopiedAndTheCodeIsLedToTheCopy) {
  loader_.memory.add({address_of(counted_.data()), Bytes(sizeof counted_)});
  auto deployed = deploy(16, {.verify = 2});
  for (int i = 0; i < 2; ++i) {
    make(*deployed, adding(1));
    EXPECT_NE(reached_, counted_.data()) << "the program's memory is the program's";
  }
  EXPECT_THAT(seen_, ElementsAre(5u, 6u)) << "each copy is of what was there then";
  EXPECT_EQ(counted_[0], 7u);
  EXPECT_EQ(pointer_, counted_.data());
  EXPECT_TRUE(deployed->find(launch_of(kShape), registry_, loader_)) << "it may run";
  EXPECT_THAT(deployed->summary().front(), HasSubstr("2 run both ways"));
}

TEST_F(ManagedTrials, WhatIsLeftOtherwiseThereIsADifference) {
  loader_.memory.add({address_of(counted_.data()), Bytes(sizeof counted_)});
  auto deployed = deploy(16, {.verify = 1});
  make(*deployed, adding(2));
  EXPECT_THAT(seen_, ElementsAre(5u, 5u, 5u, 5u)) << "each run again begins with what was there before";
  EXPECT_THAT(deployed->summary().front(),
              HasSubstr(fmt::format("1 run both ways (1 bytes are not as the program's own code leaves them, the first at {})",
                                    address_of(counted_.data()))));
}

TEST_F(ManagedTrials, BothAreTimed) {
  loader_.memory.add({address_of(counted_.data()), Bytes(sizeof counted_)});
  loader_.times.assign(10, 100);
  auto deployed = deploy(16, {.race = true});
  for (int i = 0; i < 5; ++i) make(*deployed, adding(1));
  EXPECT_EQ(counted_[0], 10u);
  EXPECT_TRUE(deployed->find(launch_of(kShape), registry_, loader_)) << "it is as fast";
}

TEST_F(ManagedTrials, MemoryThatIsNotKnownIsNotCopied) {
  auto deployed = deploy(16, {.verify = 1});
  make(*deployed, adding(1));
  EXPECT_TRUE(seen_.empty());
  EXPECT_THAT(deployed->summary().front(), HasSubstr("1 with memory that is not known, so that it cannot be copied"));
}

// The code of a trial is loaded by itself where it has variables, and is to be allowed the same.
TEST_F(Trials, WhatALargeShapeNeedsIsAllowedToTheCodeOfATrialToo) {
  static uint64_t offset = 5;
  code_.variables = {"offsets"};
  loader_.variable = {address_of(&offset), Bytes(sizeof offset)};
  const ProgramShape large{{16, 1, 1}, {32, 1, 1}, 64_KiB, false, {16, 1, 1}};
  code_.rule = {LaunchRule::Covers::shape, large, large};
  auto deployed = deploy(16, {.verify = 1});
  make(*deployed, double_all, large);
  EXPECT_EQ(loader_.loads, 2);
  EXPECT_EQ(loader_.large_shared.size(), 2u);
  EXPECT_EQ(loader_.large.size(), 2u);
  make(*deployed, double_all, large);
  EXPECT_THAT(deployed->summary().front(), HasSubstr("1 of 2 launches ran the deployed code; the others: 1 run both ways"));
}

// As programs do that load their code for each step anew.
TEST_F(Trials, WhatWasFoundHoldsWhereTheProgramLoadsItsCodeAgain) {
  auto wrong = deploy(16, {.verify = 1});
  const auto leaves_one_more = [](void* const* arguments) { ++argument<uint32_t*>(arguments, 0)[7]; };
  for (int i = 0; i < 3; ++i) {
    make(*wrong, leaves_one_more);
    wrong->forget_kernels();
  }
  EXPECT_EQ(originals_, 3);
  EXPECT_THAT(wrong->summary().front(),
              HasSubstr("0 of 3 launches ran the deployed code; the others: 1 run both ways, 2 after a difference ("));
  auto right = deploy(16, {.verify = 2});
  for (int i = 0; i < 4; ++i) {
    make(*right, double_all);
    right->forget_kernels();
  }
  EXPECT_EQ(right->summary().front(),
            "tuned: scale(int*, int*, int): 2 of 4 launches ran the deployed code; the others: 2 run both ways");
}

}  // namespace
}  // namespace mneme
