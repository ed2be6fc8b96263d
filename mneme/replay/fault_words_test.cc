#include "mneme/replay/fault_words.h"

#include <gtest/gtest.h>

#include "mneme/snapshot/pageable_pointers.h"

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

TEST(FaultWords, AFaultOfALaunchWithReachableMemoryTellsHowAllIsRecorded) {
  const Status fault = error(Code::device_fault, "a read of address 0x10, which is not accessible");
  InstanceRecord instance;
  EXPECT_EQ(mention_lacking_memory(fault, instance).to_string(), fault.to_string());
  instance.memory_extent = MemoryExtent::reachable;
  EXPECT_EQ(
      mention_lacking_memory(fault, instance).to_string(),
      "device_fault: a read of address 0x10, which is not accessible; the launch was recorded with the memory that pointers "
      "lead to, and no other is there: if the program's own code faults, record it with --all-memory");
  EXPECT_TRUE(mention_lacking_memory(Status(), instance).ok());
}

TEST(FaultWords, ACallByARecordedPointerIsToldToBeOne) {
  const Status fault = error(Code::device_fault, "a call through the pointer 0x10, which points to no function of the kernel's");
  const InstanceRecord instance;
  EXPECT_EQ(
      mention_lacking_memory(fault, instance).to_string(),
      "device_fault: a call through the pointer 0x10, which points to no function of the kernel's; functions lie elsewhere "
      "in a replay: a launch that calls by a pointer from memory, from a variable that is not constant, or from an argument "
      "cannot be replayed");
  const Status null = error(Code::device_fault, "a call through the pointer 0x0, which points to no function of the kernel's");
  EXPECT_EQ(mention_lacking_memory(null, instance).to_string(), null.to_string());
}

TEST(FaultWords, AFaultOfALaunchThatHeldAddressesOfPageableMemoryTellsSo) {
  const Status fault = error(Code::device_fault, "a read of address 0x10, which is not accessible");
  InstanceRecord instance;
  put_pageable_pointers({.in_memory = true}, instance.attributes);
  EXPECT_EQ(mention_lacking_memory(fault, instance).to_string(),
            "device_fault: a read of address 0x10, which is not accessible; its memory holds addresses of host memory that was "
            "not recorded (of malloc, the stack or mmap): if the kernel uses one of them, this launch cannot be replayed "
            "(cudaMallocManaged or cudaHostAlloc gives the program memory that is recorded)");
}

}  // namespace
}  // namespace mneme
