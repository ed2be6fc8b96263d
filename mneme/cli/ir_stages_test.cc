#include "mneme/cli/ir_stages.h"

#include <gtest/gtest.h>

namespace mneme::cli {
namespace {

TEST(IrStages, AStageIsMeantByWhatOtherToolsCallIt) {
  for (const std::string& stage : ir_stages()) {
    EXPECT_EQ(check_stage(stage), "");
    EXPECT_EQ(stage_meant_by(stage), stage);
  }
  EXPECT_EQ(check_stage("ptx"), "there is no stage 'ptx'; 'asm' is that");
  EXPECT_EQ(check_stage("optimized"), "there is no stage 'optimized'; 'optimised' is that");
  EXPECT_EQ(stage_meant_by("cubin"), "sass");
  EXPECT_EQ(stage_meant_by("show"), "");
}

TEST(IrStages, WhatAnotherCommandDoesIsSaid) {
  EXPECT_EQ(check_stage("diff"), "there is no stage 'diff'; it is a command: mneme diff DB KERNEL");
  EXPECT_EQ(check_stage("bitcode"), "there is no stage 'bitcode'; --bitcode writes a stage's IR so");
  EXPECT_EQ(check_stage("optimisd"),
            "there is no stage 'optimisd'; did you mean 'optimised'?; there are: recorded, specialised, optimised, asm, sass");
  EXPECT_EQ(check_stage("x"), "there is no stage 'x'; there are: recorded, specialised, optimised, asm, sass");
}

}  // namespace
}  // namespace mneme::cli
