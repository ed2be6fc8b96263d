#include "mneme/replay/fault_words.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

constexpr LaunchShape kShape{{16, 1, 1}, {256, 1, 1}, {}};

TEST(FaultWords, AFaultWithoutAKernelGetsItsName) {
  const Status fault = error(Code::device_fault, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access)");
  EXPECT_EQ(
      name_kernel(fault, "scale(float*, int)", kShape).to_string(),
      fmt::format("device_fault: kernel 'scale(float*, int)', grid {}, block {}: cuStreamSynchronize: "
                  "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access); --device cpu may tell the block, the thread and, of a "
                  "program compiled with -g, the line",
                  kShape.grid, kShape.block));
}

TEST(FaultWords, WhatNamesItAlreadyAndWhatIsNoFaultStaysAsItIs) {
  for (const Status& status : {error(Code::device_fault, "kernel 'scale(float*, int)', block [0,0,0], thread [1,0,0]: a trap"),
                               error(Code::exhausted, "no memory"), Status()})
    EXPECT_EQ(name_kernel(status, "scale(float*, int)", kShape).to_string(), status.to_string());
}

}  // namespace
}  // namespace mneme
