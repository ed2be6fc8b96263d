#include "mneme/substitute/deployed_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/substitute/testing/deployed.h"

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Deployed = testing::Deployed;

TEST_F(Deployed, CodeTakesThePlaceOfALaunchThatItsRuleCovers) {
  auto deployed = deploy();
  const auto found = launch(*deployed);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shape, (ProgramShape{{8, 1, 1}, {64, 1, 1}}));
  EXPECT_TRUE(launch(*deployed, {{2, 1, 1}, {128, 1, 1}}));
  EXPECT_FALSE(launch(*deployed, {{2, 1, 1}, {256, 1, 1}}));
  EXPECT_EQ(loader_.loads, 1);
  const void* none[] = {nullptr};
  EXPECT_FALSE(deployed->find({&other_, {}, const_cast<void* const*>(none)}, registry_, loader_));
  EXPECT_FALSE(deployed->find({&count_, {}, const_cast<void* const*>(none)}, registry_, loader_));
  EXPECT_THAT(
      deployed->summary(),
      ElementsAre("tuned: scale(int*, int*, int): 2 of 3 launches ran the deployed code; the others: 1 another launch shape"));
}

TEST_F(Deployed, EachConditionIsLookedAt) {
  code_.arguments = {{2, {std::byte{5}, std::byte{}, std::byte{}, std::byte{}}}};
  code_.aligned = {{0, 0x1000}};
  code_.alone = {{0, {{1, 0}}}};
  auto deployed = deploy();
  EXPECT_TRUE(deployed->looks_at_memory());
  EXPECT_FALSE(launch(*deployed)) << "nothing is known of the memory";
  loader_.memory.add({DevicePtr(0x6000), Bytes(0x2000)});
  EXPECT_TRUE(launch(*deployed));
  b_ = 0x6010;
  EXPECT_FALSE(launch(*deployed)) << "the other pointer leads to the same memory";
  b_ = 0x8000;
  EXPECT_FALSE(launch(*deployed)) << "just behind it";
  loader_.memory.add({DevicePtr(0x8000), Bytes(16)});
  EXPECT_TRUE(launch(*deployed)) << "which begins another allocation";
  a_ = 0x7010;
  EXPECT_FALSE(launch(*deployed));
  count_ = 6;
  EXPECT_FALSE(launch(*deployed));
  loader_.memory.remove(DevicePtr(0x6000));
  a_ = 0x7000;
  count_ = 5;
  EXPECT_FALSE(launch(*deployed)) << "the memory is free";
  EXPECT_THAT(
      deployed->summary().front(),
      HasSubstr("2 of 8 launches ran the deployed code; the others: 1 other arguments, 1 pointers that are aligned less, 4 "
                "memory that may be reached in two ways"));
}

TEST_F(Deployed, ArgumentsThatAreNotThereAreNotLookedAt) {
  code_.aligned = {{0, 8}};
  ProgramLaunch without = launch_of({{4, 1, 1}, {128, 1, 1}});
  without.arguments = nullptr;
  EXPECT_FALSE(launch(*deploy(), without));
}

TEST_F(Deployed, WhatIsForOneShapeComesFirst) {
  TunedFile file;
  code_.rule = {LaunchRule::Covers::any};
  file.add(code_, ByteVector(8));
  code_.rule = {LaunchRule::Covers::shape, {{4, 1, 1}, {128, 1, 1}}, {{2, 1, 1}, {256, 1, 1}}};
  file.add(code_, ByteVector(16));
  DeployedCode deployed(file, "app.tuned");
  EXPECT_EQ(launch(deployed)->shape.block.x, 256u);
  EXPECT_EQ(launch(deployed, {{5, 1, 1}, {128, 1, 1}})->shape.block.x, 128u);
}

TEST_F(Deployed, VariablesAreTheProgramsOnEachDevice) {
  code_.variables = {"offsets"};
  auto deployed = deploy();
  EXPECT_TRUE(launch(*deployed));
  EXPECT_THAT(loader_.written, ElementsAre(0x1000));
  loader_.written.clear();
  EXPECT_TRUE(launch(*deployed));
  EXPECT_TRUE(loader_.written.empty());
  loader_.ordinal = 1;
  EXPECT_TRUE(launch(*deployed));
  EXPECT_THAT(loader_.written, ElementsAre(0x1000));
  loader_.written.clear();
  deployed->forget_devices(std::array{0});
  EXPECT_TRUE(launch(*deployed));
  EXPECT_TRUE(loader_.written.empty()) << "after a reset of the other one";
  deployed->forget_devices(std::array{1});
  EXPECT_TRUE(launch(*deployed));
  EXPECT_THAT(loader_.written, ElementsAre(0x1000)) << "after a reset";
  EXPECT_EQ(loader_.loads, 1);
}

TEST_F(Deployed, WhatIsOddIsTheProgramsOwnLaunch) {
  auto deployed = deploy();
  ProgramLaunch captured = launch_of({{4, 1, 1}, {128, 1, 1}}), odd = captured;
  captured.stream = this;
  odd.odd = true;
  EXPECT_FALSE(launch(*deployed, captured)) << "nothing can be loaded now";
  EXPECT_FALSE(launch(*deployed, odd));
  EXPECT_TRUE(launch(*deployed));
  EXPECT_TRUE(launch(*deployed, captured));
  loader_.ordinal = 3;
  EXPECT_FALSE(launch(*deployed)) << "another architecture";
  EXPECT_THAT(deployed->summary().front(),
              HasSubstr("2 of 5 launches ran the deployed code; the others: 1 no code for the device, 1 launch "
                        "attributes, 1 captured before the code was loaded (the file's code is for sm_90, and the device is "
                        "sm_80)"));
}

TEST_F(Deployed, AFailureIsTheProgramsOwnCodeForGood) {
  auto unloadable = deploy(3);
  EXPECT_FALSE(launch(*unloadable));
  EXPECT_FALSE(launch(*unloadable));
  EXPECT_EQ(loader_.loads, 1);
  EXPECT_THAT(unloadable->summary().front(), HasSubstr("0 of 2 launches ran the deployed code; the others: 2 after a failure"));

  auto refused = deploy();
  const auto found = refused->find(launch_of({{4, 1, 1}, {128, 1, 1}}), registry_, loader_);
  ASSERT_TRUE(found);
  refused->end(*found, error(Code::device_fault, "launching the deployed code returned 701"));
  EXPECT_FALSE(launch(*refused));

  code_.variables = {"none"};
  EXPECT_FALSE(launch(*deploy()));
  code_.variables = {};
  code_.arguments = {{2, ByteVector(8)}};
  EXPECT_FALSE(launch(*deploy())) << "more bytes than the argument has";
  code_.arguments = {};
  code_.alone = {{0, {{3, 0}}}};
  EXPECT_FALSE(launch(*deploy())) << "a parameter that is not there";
}

TEST_F(Deployed, AFailureIsForGoodWhereTheProgramLoadsItsCodeAgain) {
  auto deployed = deploy(3);
  EXPECT_FALSE(launch(*deployed));
  for (int i = 0; i < 2; ++i) {
    deployed->forget_kernels();
    EXPECT_FALSE(launch(*deployed));
  }
  EXPECT_EQ(loader_.loads, 1);
  EXPECT_THAT(deployed->summary().front(), HasSubstr("0 of 3 launches ran the deployed code; the others: 3 after a failure"));
}

// One file for the GPUs of two types, and a process that has both.
TEST_F(Deployed, EachDeviceHasTheCodeForItsArchitecture) {
  TunedFile file, other;
  file.add(code_, ByteVector(16));
  code_.architecture = "sm_80";
  code_.rule.tuned = {{16, 1, 1}, {32, 1, 1}};
  other.add(code_, ByteVector(8));
  file.add(other);
  DeployedCode deployed(file, "app.tuned");
  for (int round = 0; round < 2; ++round) {
    loader_.ordinal = 0;
    EXPECT_EQ(launch(deployed)->shape.block.x, 64u);
    loader_.ordinal = 3;
    EXPECT_EQ(launch(deployed)->shape.block.x, 32u);
  }
  EXPECT_EQ(loader_.loads, 2);
  EXPECT_THAT(deployed.summary(), ElementsAre("tuned: scale(int*, int*, int): 4 of 4 launches ran the deployed code"));
}

// A fat binary whose code for each has another IR, as sources that look at the architecture have.
TEST_F(Deployed, EachDeviceHasTheCodeOfTheKernelThatItWouldRun) {
  testing::TestSegment newer{.name = "step", .hash = 7}, older{.name = "step", .hash = 9};
  const ByteVector fat_binary = testing::make_fat_binary(
      {{2, 90, testing::make_device_elf({newer.build()})}, {2, 80, testing::make_device_elf({older.build()})}});
  testing::TestWrapper wrapper;
  wrapper.fat_binary = fat_binary.data();
  const char step = 0;
  const auto add_to = [&](Registry& registry) {
    void** const handle = reinterpret_cast<void**>(&wrapper);
    registry.add_image(handle, 0, &wrapper);
    registry.add_function(handle, &step, "step");
  };
  const auto hash_on = [&](const char* architecture) {
    Registry registry;
    registry.set_architecture(architecture);
    add_to(registry);
    return (*registry.find_kernel(&step)->segment())->static_hash;
  };
  ASSERT_NE(hash_on("sm_90"), hash_on("sm_80"));
  code_.name = code_.demangled = "step";
  code_.rule = {LaunchRule::Covers::any};
  for (const bool swapped : {false, true}) {
    TunedFile file;
    for (const char* architecture : {"sm_90", "sm_80"}) {
      code_.architecture = architecture;
      code_.static_hash = hash_on(swapped != (code_.architecture == "sm_80") ? "sm_80" : "sm_90");
      file.add(code_, ByteVector(16));
    }
    DeployedCode deployed(file, "app.tuned");
    Registry registry;
    add_to(registry);
    ProgramLaunch made = launch_of({{4, 1, 1}, {128, 1, 1}});
    made.function = &step;
    for (const int ordinal : {0, 3}) {
      loader_.ordinal = ordinal;
      EXPECT_EQ(deployed.find(made, registry, loader_) != nullptr, !swapped) << "device " << ordinal;
    }
  }
}

TEST_F(Deployed, LargeSharedMemoryIsAskedFor) {
  code_.rule = {LaunchRule::Covers::any};
  auto deployed = deploy();
  EXPECT_TRUE(launch(*deployed, {{1, 1, 1}, {32, 1, 1}, 48_KiB}));
  EXPECT_EQ(loader_.allowed, Bytes());
  EXPECT_TRUE(launch(*deployed, {{1, 1, 1}, {32, 1, 1}, 64_KiB}));
  EXPECT_EQ(loader_.allowed, 64_KiB);
}

TEST_F(Deployed, LargeClustersAreAskedFor) {
  ProgramShape eight{{16, 1, 1}, {32, 1, 1}, Bytes(), false, {8, 1, 1}}, sixteen = eight;
  sixteen.cluster.x = 16;
  code_.rule = {LaunchRule::Covers::any, eight, eight};
  auto usual = deploy();
  EXPECT_TRUE(launch(*usual, eight));
  EXPECT_FALSE(launch(*usual, sixteen));
  EXPECT_EQ(loader_.large_clusters, 0);
  code_.rule = {LaunchRule::Covers::any, sixteen, sixteen};
  auto large = deploy();
  EXPECT_EQ(launch(*large, sixteen)->shape.cluster.x, 16u);
  EXPECT_EQ(loader_.large_clusters, 1);
}

TEST_F(Deployed, NodesOfGraphsAreToldOfByTheirHandles) {
  auto deployed = deploy();
  const auto found = launch(*deployed);
  const auto replaced = deployed->replaced_by(found->handle, found->shape);
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->function, &scale_);
  EXPECT_EQ(replaced->shape, (ProgramShape{{4, 1, 1}, {128, 1, 1}}));
  EXPECT_FALSE(deployed->replaced_by(&scale_, found->shape));
  loader_.ordinal = 1;
  EXPECT_TRUE(launch(*deployed));
  deployed->forget_devices(std::array{0, 2});
  EXPECT_TRUE(deployed->replaced_by(found->handle, found->shape)) << "it is ready on the other device yet";
  deployed->forget_devices(std::array{1});
  EXPECT_FALSE(deployed->replaced_by(found->handle, found->shape)) << "the handle may be another function's now";
  EXPECT_TRUE(launch(*deployed));
  EXPECT_TRUE(deployed->replaced_by(found->handle, found->shape));
}

TEST_F(Deployed, AFileOfAnotherBuildIsToldOf) {
  code_.static_hash = digest_of(ByteVector(1));
  auto deployed = deploy();
  EXPECT_FALSE(launch(*deployed));
  EXPECT_THAT(deployed->summary(),
              ElementsAre("tuned: 1 of 1 kernels of app.tuned were not launched here: was it made for another build of "
                          "the program, or another device?"));
}

TEST_F(Deployed, AKernelOfAnotherNameIsNoneOfTheFile) {
  code_.name = "scales";
  EXPECT_FALSE(launch(*deploy()));
  code_.name = "sca";  // in an image a name may have a suffix
  EXPECT_TRUE(launch(*deploy()));
}

TEST_F(Deployed, KernelsThatAreUnloadedAreForgottenAndCounted) {
  auto deployed = deploy();
  EXPECT_TRUE(launch(*deployed));
  deployed->forget_kernels();
  EXPECT_TRUE(launch(*deployed));
  EXPECT_THAT(deployed->summary(), ElementsAre(HasSubstr("2 of 2 launches ran the deployed code")));
}

}  // namespace
}  // namespace mneme
