// Programs that were not built for recording run deployed code at a driver that the tests bring along, and print what they print.
#include "mneme/substitute/driver/driver_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/substitute/driver/testing/at_the_driver.h"

namespace mneme::substitute {
namespace {

using ::testing::HasSubstr;

const std::string kSum = "sum 500500\n";  // of 0 to 999, and one for each

TEST_F(AtTheDriver, CodeTakesThePlaceOfLaunchesHoweverTheDriverIsFound) {
  for (const std::string way : {"dlsym ", "proc "}) {
    const std::string line = "mneme: tuned: add_one: 1 of 1 launches ran the deployed code\n";
    EXPECT_EQ(run(way + kCubin + " launch"), line + kSum);
    EXPECT_EQ(run(way + kCubin + " library launch"), line + kSum);
  }
}

TEST_F(AtTheDriver, ConditionsAreLookedAt) {
  code_.arguments = {{1, {std::byte{0xe8}, std::byte{3}, std::byte{}, std::byte{}}}};
  EXPECT_THAT(run("dlsym " + kCubin + " launch"), HasSubstr("1 of 1 launches ran the deployed code"));
  code_.arguments[0].bytes[0] = std::byte{};
  EXPECT_THAT(run("dlsym " + kCubin + " launch"),
              HasSubstr("mneme: tuned: add_one: 0 of 1 launches ran the deployed code; the others: 1 other arguments\n" + kSum));
  code_.arguments = {{2, ByteVector(4)}};
  EXPECT_THAT(run("dlsym " + kCubin + " launch"),
              HasSubstr("its conditions are about parameters that the program's kernel does not have"));
  code_.arguments = {};
  code_.architecture = "sm_80";
  EXPECT_THAT(run("dlsym " + kCubin + " launch"), HasSubstr("the others: 1 no code for the device"));
}

TEST_F(AtTheDriver, CodeIsComparedBeforeItIsRun) {
  code_.repeatable = Repeatable::yes;
  const std::string twice = "sum 501500\n", launches = "dlsym " + kCubin + " launch launch";
  EXPECT_EQ(run(launches, "MNEME_TUNED_VERIFY=1"),
            "mneme: tuned: add_one: 1 of 2 launches ran the deployed code; the others: 1 run both ways\n" + twice);
  const std::string raced = run("dlsym " + kCubin + " launch launch launch launch launch launch", "MNEME_TUNED_RACE=1");
  EXPECT_THAT(raced, HasSubstr("1 of 6 launches ran the deployed code; the others: 5 run both ways\nsum 505500\n"));
  EXPECT_THAT(run(launches, "MNEME_FAKE_FREE_MEMORY=1000 MNEME_TUNED_VERIFY=1"),
              HasSubstr("0 of 2 launches ran the deployed code; the others: 2 without room for copies of the memory\n" + twice));
  code_.name = "add";  // which does nothing
  const std::string wrong = run(launches, "MNEME_TUNED_VERIFY=1");
  EXPECT_THAT(
      wrong, HasSubstr("0 of 2 launches ran the deployed code; the others: 1 run both ways, 1 after a difference (1003 bytes are "
                       "not as the program's own code leaves them"));
  EXPECT_THAT(wrong, HasSubstr(twice));
}

// A function of one context is none in another, nor in the same one when that was reset.
TEST_F(AtTheDriver, EachContextHasTheCodeOfItsOwn) {
  const std::string program = "dlsym " + kCubin, line = "mneme: tuned: add_one: {} of {} launches ran the deployed code\n";
  EXPECT_EQ(run(program + " launch launch context launch launch back launch"),
            fmt::format(fmt::runtime(line), 5, 5) + "sum 502500\n");
  const std::string two = "MNEME_FAKE_DEVICES=2";
  EXPECT_EQ(run(program + " launch launch device launch launch back launch", two),
            fmt::format(fmt::runtime(line), 5, 5) + "sum 502500\n");
  EXPECT_EQ(run(program + " launch launch device launch reset_second back launch", two),
            fmt::format(fmt::runtime(line), 4, 4) + "sum 502500\n");
}

// One file for GPUs of two types, which one process has. The code for the second one does nothing.
TEST_F(AtTheDriver, EachDeviceHasTheCodeForItsArchitecture) {
  TunedKernel second = code_;
  second.name = "add";
  second.architecture = "sm_100";
  others_.add(second, cubin_);
  const std::string two = "MNEME_FAKE_DEVICES=2 MNEME_FAKE_OTHER_MAJOR=10 ",
                    steps = " launch launch device launch launch back launch";
  EXPECT_EQ(run("dlsym " + kCubin + steps, two), "mneme: tuned: add_one: 5 of 5 launches ran the deployed code\nsum 502500\n");
  EXPECT_EQ(run("dlsym " + kCubin + " device launch launch", two),
            "mneme: tuned: add_one: 2 of 2 launches ran the deployed code\nsum 499500\n");
  others_ = {};
  EXPECT_EQ(run("dlsym " + kCubin + steps, two),
            "mneme: tuned: add_one: 3 of 5 launches ran the deployed code; the others: 2 no code for the device (the file's code "
            "is for "
            "sm_90, and the device is sm_100)\nsum 502500\n");
}

TEST_F(AtTheDriver, WhatWasLoadedIntoAContextThatEndedIsNotLaunched) {
  for (const std::string devices : {"", "MNEME_FAKE_DEVICES=2"}) {
    const std::string out = run("dlsym " + kCubin + " launch launch release launch", devices);
    EXPECT_THAT(out, HasSubstr("mneme: tuned: add_one: 4 of 4 launches ran the deployed code\n"));
    EXPECT_THAT(out, HasSubstr("sum 501500\n"));
  }
}

TEST_F(AtTheDriver, WhatIsNoNumberIsToldAndNothingIsDeployed) {
  EXPECT_THAT(run("dlsym " + kCubin + " launch", "MNEME_TUNED_VERIFY=-1"),
              HasSubstr("tuned: the program runs as it is: MNEME_TUNED_VERIFY is '-1', and is to be a number of launches\n"));
  EXPECT_THAT(run("dlsym " + kCubin + " launch", "MNEME_TUNED_RACE=yes"),
              HasSubstr("tuned: the program runs as it is: MNEME_TUNED_RACE is 'yes', and is to be 0 or 1\n"));
}

TEST_F(AtTheDriver, PackedArgumentsAreTheProgramsOwnLaunch) {
  const std::string out = run("dlsym " + kCubin + " packed");
  EXPECT_THAT(out, HasSubstr(kSum));
  EXPECT_THAT(out, HasSubstr("0 of 1 launches ran the deployed code; the others: 1 launch attributes"));
}

// A condition is about one launch, and a failure about the kernel.
TEST_F(AtTheDriver, AConditionThatDoesNotHoldKeepsOneLaunchAndAFailureAllThatFollow) {
  const std::string twice = "sum 501500\n", thrice = "sum 502500\n";
  EXPECT_EQ(run("dlsym " + kCubin + " launch packed launch"),
            "mneme: tuned: add_one: 2 of 3 launches ran the deployed code; the others: 1 launch attributes\n" + thrice);
  // The second launch of the code fails, behind which the program's own is made.
  EXPECT_EQ(run("dlsym " + kCubin + " launch launch launch", "MNEME_FAKE_FAIL=cuLaunchKernel:1:701"),
            "mneme: warning: tuned: add_one: the program's own code runs from now on: launching the deployed code returned 701\n"
            "mneme: tuned: add_one: 1 of 3 launches ran the deployed code; the others: 2 after a failure\n" +
                thrice);
  EXPECT_EQ(run("dlsym " + kCubin + " launch launch", "MNEME_FAKE_FAIL=cuLibraryLoadData:0:209"),
            "mneme: warning: tuned: add_one: the program's own code runs from now on: cuLibraryLoadData returned 209\n"
            "mneme: tuned: add_one: 0 of 2 launches ran the deployed code; the others: 2 after a failure\n" +
                twice);
}

// What was recorded in clusters covers launches in the same ones.
TEST_F(AtTheDriver, ClustersAreThoseOfTheRecordedLaunch) {
  const ProgramShape pairs{{4, 1, 1}, {256, 1, 1}, Bytes(), false, {2, 1, 1}};
  for (const auto covers : {LaunchRule::Covers::any, LaunchRule::Covers::shape}) {
    code_.rule = {covers, pairs, pairs};
    EXPECT_EQ(run("dlsym " + kCubin + " pairs launch fours pairs"),
              "mneme: tuned: add_one: 2 of 4 launches ran the deployed code; the others: 2 another launch shape\nsum 503500\n");
  }
}

TEST_F(AtTheDriver, ManagedMemoryIsMemoryAsAnyOther) {
  code_.alone = {{0, {}}};
  code_.aligned = {{0, 4}};
  EXPECT_EQ(run("dlsym " + kCubin + " managed launch"),
            "mneme: tuned: add_one: 2 of 2 launches ran the deployed code\nmanaged 500500\n" + kSum);
  code_.repeatable = Repeatable::yes;
  EXPECT_EQ(run("dlsym " + kCubin + " managed managed", "MNEME_TUNED_VERIFY=1"),
            "mneme: tuned: add_one: 1 of 2 launches ran the deployed code; the others: 1 run both ways\n"
            "managed 500500\nmanaged 500500\nsum 499500\n");
}

// Of code that no IR is known of: by their names in the image, of a module and of a library, and of managed memory too. The
// program's hold 0, which the deployed code adds.
TEST_F(AtTheDriver, VariablesOfMachineCodeAreTheProgramsOwn) {
  const std::string environment = "MNEME_FAKE_VARIABLE_TABLE=1 MNEME_FAKE_MANAGED_VARIABLE=4",
                    line = "mneme: tuned: add_one: 1 of 1 launches ran the deployed code\n", none = "sum 499500\n";
  code_.variables = {"table"};
  EXPECT_EQ(run("dlsym " + kCubin + " launch", environment), line + none);
  EXPECT_EQ(run("dlsym " + kCubin + " library launch", environment), line + none);
  code_.variables = {"increment"};
  EXPECT_EQ(run("dlsym " + kCubin + " launch", environment), line + none);
  EXPECT_EQ(run("dlsym " + kCubin + " library launch", environment), line + none);
  code_.variables = {"nowhere"};
  for (const char* way : {" launch", " library launch"})
    EXPECT_EQ(run("dlsym " + kCubin + way, environment),
              "mneme: warning: tuned: add_one: the program's own code runs from now on: looking up a variable returned 500\n"
              "mneme: tuned: add_one: 0 of 1 launches ran the deployed code; the others: 1 after a failure\n" +
                  kSum);
}

TEST_F(AtTheDriver, AnotherBuildRunsAsItIs) {
  code_.static_hash = digest_of(cubin_);
  const std::string out = run("dlsym " + kCubin + " launch");
  EXPECT_THAT(out, HasSubstr(kSum));
  EXPECT_THAT(out, HasSubstr("was it made for another build of the program, or another device?"));
}

}  // namespace
}  // namespace mneme::substitute
