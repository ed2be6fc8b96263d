#include "mneme/cpu/run/fault.h"

#include <array>
#include <csignal>

#include "mneme/cpu/run/fault_handler.h"
#include "mneme/cpu/run/testing/test_image.h"

namespace mneme::cpu {
namespace {

class FaultTest : public ExecutorTest {
 protected:
  // Launches what faults; checks that the device is then of no further use, and sound for a second device.
  std::string fault(const std::string& name, const LaunchShape& shape, TestParameters parameters = {}) {
    std::vector<uint32_t> out(1 << 16);
    parameters.out = out.data();
    Status status = launch(name, shape, parameters);
    EXPECT_EQ(status.code(), Code::device_fault);
    EXPECT_EQ(stream_->synchronize().to_string(),
              "device_fault: the device faulted before and is of no further use: " + status.message());
    EXPECT_EQ(launch("loop_indices", {}, parameters).code(), Code::device_fault);
    EXPECT_EQ(device_.load(read_image(MNEME_TEST_KERNELS)).status().code(), Code::device_fault);
    EXPECT_EQ(stream_->fill(DevicePtr(reinterpret_cast<uint64_t>(out.data())), std::byte{}, Bytes(1)).code(), Code::device_fault);
    return status.message();
  }
  FaultKind kind() { return last_fault(device_)->kind; }
};

constexpr LaunchShape kTwoWarps{.grid = {4, 1, 1}, .block = {64, 1, 1}};

TEST_F(FaultTest, MemoryAccessOfAFiber) {
  EXPECT_FALSE(last_fault(device_).has_value());
  EXPECT_EQ(fault("bad_read", {.grid = {1, 1, 1}, .block = {8, 8, 1}}, {.a = 37, .pointer = reinterpret_cast<void*>(0x7000)}),
            "kernel 'bad_read', block [0,0,0], thread [5,4,0]: a read of address 0x7000, which is not accessible");
  EXPECT_EQ(kind(), FaultKind::memory_access);
  EXPECT_EQ(last_fault(device_)->address, 0x7000u);
}

TEST_F(FaultTest, NonCanonicalAddress) {
  EXPECT_EQ(fault("bad_read", {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                  {.a = 0, .pointer = reinterpret_cast<void*>(0xdead000000000000)}),
            "kernel 'bad_read', block [0,0,0], thread [0,0,0]: an access to an address beyond the 47 bits that addresses have");
}

TEST_F(FaultTest, MemoryAccessOfALoop) {
  EXPECT_EQ(fault("loop_null_write", {.grid = {1, 1, 1}, .block = {64, 1, 1}}),
            "kernel 'loop_null_write', block [0,0,0], thread [0,0,0]: a write to address 0x1230, which is not accessible");
}

TEST_F(FaultTest, TheThreadOfALoopIsFound) {
  EXPECT_EQ(fault("loop_bad_write", {.grid = {2, 1, 1}, .block = {8, 4, 2}}, {.a = 43}),
            "kernel 'loop_bad_write', block [0,0,0], thread [3,1,1]: a write to address 0x1000, which is not accessible");
  EXPECT_EQ(last_fault(device_)->address, 0x1000u);
}

TEST_F(FaultTest, AThreadThatDoesNotFaultAgainIsNotFound) {
  EXPECT_EQ(fault("loop_bad_once", {.grid = {1, 1, 1}, .block = {64, 1, 1}}),
            "kernel 'loop_bad_once', block [0,0,0], one of its threads: a write to address 0x1000, which is not accessible");
}

TEST_F(FaultTest, WhatIsPrintedBeforeAFaultIsPrintedOnce) {
  testing::internal::CaptureStdout();
  fault("loop_print_and_fault", {.grid = {1, 1, 1}, .block = {4, 1, 1}});
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "here\n");
}

// Alone, its threads wait for ever for what the block as a whole had not changed yet.
TEST_F(FaultTest, TheSearchForAThreadEnds) {
  EXPECT_EQ(
      fault("loop_bad_then_endless", {.grid = {1, 1, 1}, .block = {64, 1, 1}}),
      "kernel 'loop_bad_then_endless', block [0,0,0], one of its threads: a write to address 0x1000, which is not accessible");
}

TEST_F(FaultTest, NamesAreAsTheirAuthorWroteThem) {
  const std::string message = fault("_Z5crashPfi", {.grid = {1, 1, 1}, .block = {1, 1, 1}});
  EXPECT_EQ(message.find("kernel 'crash(float*, int)', block [0,0,0], thread [0,0,0]: "), 0u) << message;
}

TEST_F(FaultTest, AFaultOnAnyWorkerEndsALargeLaunch) {
  const std::string message = fault("loop_null_write", {.grid = {5000, 3, 1}, .block = {64, 1, 1}});
  EXPECT_NE(message.find("a write to address 0x"), std::string::npos) << message;
}

TEST_F(FaultTest, FreedDeviceMemoryIsNotAccessible) {
  auto space = device_.reserve(kDefaultAddressSpaceBase, 4_MiB);
  ASSERT_TRUE(space.ok()) << space.status().to_string();
  DevicePtr memory = *(*space)->allocate(Bytes(64));
  ASSERT_TRUE((*space)->free(memory).ok());
  EXPECT_EQ(
      fault("bad_read", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, {.a = 0, .pointer = reinterpret_cast<void*>(memory.address)}),
      "kernel 'bad_read', block [0,0,0], thread [0,0,0]: a read of address 0x7a0000000000, which is not accessible");
}

TEST_F(FaultTest, StackOverflow) {
  const std::string message = fault("overflow", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, {.a = 100000});
  EXPECT_EQ(message.find("kernel 'overflow', block [0,0,0], thread [0,0,0]: stack overflow at 0x"), 0u) << message;
  EXPECT_NE(message.find(": a thread's stack has 32 KiB"), std::string::npos) << message;
  EXPECT_EQ(kind(), FaultKind::stack_overflow);
}

// Stacks that a larger block needed later are guarded as the first ones are.
TEST_F(FaultTest, StackOverflowOfALargerBlock) {
  ASSERT_TRUE(launch("overflow", {.grid = {1, 1, 1}, .block = {32, 1, 1}}, {.out = std::array<uint32_t, 1>{}.data()}).ok());
  fault("overflow", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, {.a = 100000});
  EXPECT_EQ(kind(), FaultKind::stack_overflow);
}

TEST_F(FaultTest, IllegalInstruction) {
  EXPECT_EQ(fault("illegal", {.grid = {1, 1, 1}, .block = {1, 1, 1}}),
            "kernel 'illegal', block [0,0,0], thread [0,0,0]: an instruction that this processor does not have, or the end of "
            "code that cannot be reached");
  EXPECT_EQ(kind(), FaultKind::illegal_instruction);
}

TEST_F(FaultTest, SharedMemoryOverrun) {
  const std::string message = fault("shared_overrun", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, {.a = 256});
  EXPECT_NE(message.find("a write to address 0x"), std::string::npos) << message;
}

TEST_F(FaultTest, DynamicSharedMemoryEndsWhereAFaultIs) {
  // 64 B are static; 4 B of dynamic memory end at 68, and 16 B are the alignment.
  EXPECT_TRUE(
      launch("shared_overrun", {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_memory = Bytes(4)}, {.a = 67}).ok());
  const std::string message =
      fault("shared_overrun", {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_memory = Bytes(4)}, {.a = 80});
  EXPECT_NE(message.find("a write to address 0x"), std::string::npos) << message;
}

TEST_F(FaultTest, DivisionByZero) {
  EXPECT_EQ(fault("divide", kTwoWarps, {.a = 1, .b = 0}).substr(0, 15), "kernel 'divide'");
  EXPECT_EQ(last_fault(device_)->what, "an integer division by zero, or one whose result does not fit");
  EXPECT_EQ(kind(), FaultKind::arithmetic);
}

TEST_F(FaultTest, Trap) {
  EXPECT_EQ(fault("trap", {.grid = {4, 1, 1}, .block = {64, 1, 1}}, {.a = 130}),
            "kernel 'trap', block [2,0,0], thread [2,0,0]: the kernel executed a trap instruction");
  EXPECT_EQ(kind(), FaultKind::trap);
}

TEST_F(FaultTest, AssertionInCudasWords) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fault("assertion", {.grid = {4, 1, 1}, .block = {8, 8, 1}}, {.a = 64 + 9}),
            "kernel 'assertion', block [1,0,0], thread [1,1,0]: app.cu:12: void check(int): block: [1,0,0], thread: [1,1,0] "
            "Assertion `n > 0` failed.");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "app.cu:12: void check(int): block: [1,0,0], thread: [1,1,0] Assertion `n > 0` failed.\n");
  EXPECT_EQ(kind(), FaultKind::assertion);
}

TEST_F(FaultTest, AnAssertionThatFailsOnlyInTheSearchForAThreadIsNotTold) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fault("loop_fault_then_assert", {.grid = {1, 1, 1}, .block = {4, 1, 1}}),
            "kernel 'loop_fault_then_assert', block [0,0,0], one of its threads: a write to address 0x1000, which is not "
            "accessible");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(FaultTest, AnAssertionsWordsDoNothingToATerminal) {
  testing::internal::CaptureStderr();
  fault("assertion_with_controls", {.grid = {1, 1, 1}, .block = {1, 1, 1}});
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_NE(written.find("[2J"), std::string::npos) << "something is there in its place";
  EXPECT_EQ(written.find('\x1b'), std::string::npos);
}

TEST_F(FaultTest, DeadlockNamesWhoWaitsWhere) {
  EXPECT_EQ(
      fault("deadlock", {.grid = {1, 1, 1}, .block = {64, 1, 1}}),
      "kernel 'deadlock', block [0,0,0], thread [0,0,0]: deadlock: no thread of the block can go on: 62 threads wait at barrier "
      "0 ([0,0,0], "
      "[2,0,0], [4,0,0], [5,0,0] and 58 more); 1 thread waits in a warp collective with mask 0xffffffff in warp 0 ([1,0,0])");
  EXPECT_EQ(kind(), FaultKind::deadlock);
}

TEST_F(FaultTest, DeadlockOfAsManyAsAreNamed) {
  EXPECT_EQ(fault("deadlock", {.grid = {1, 1, 1}, .block = {6, 1, 1}}),
            "kernel 'deadlock', block [0,0,0], thread [0,0,0]: deadlock: no thread of the block can go on: 4 threads wait at "
            "barrier 0 ([0,0,0], [2,0,0], [4,0,0], [5,0,0]); 1 thread waits in a warp collective with mask 0xffffffff in warp 0 "
            "([1,0,0])");
}

// One worker holds both.
TEST_F(FaultTest, DeadlockOfSeveralBlocksIsToldOfOne) {
  device_.executor().order_blocks(1);
  const std::string message = fault("deadlock", {.grid = {2, 1, 1}, .block = {64, 1, 1}, .cooperative = true});
  EXPECT_NE(message.find(": 62 threads wait at barrier 0 ("), std::string::npos) << message;
}

TEST_F(FaultTest, CollectivesOfTwoKindsDoNotMeet) {
  const std::string message = fault("two_kinds_of_collectives", {.grid = {1, 1, 1}, .block = {32, 1, 1}});
  EXPECT_NE(message.find(": 32 threads wait in a warp collective with mask 0xffffffff in warp 0 ("), std::string::npos)
      << message;
}

TEST_F(FaultTest, BarrierMisuse) {
  EXPECT_EQ(fault("barrier_disagreement", {.grid = {1, 1, 1}, .block = {128, 1, 1}}),
            "kernel 'barrier_disagreement', block [0,0,0], thread [32,0,0]: barrier 1 is used for 64 threads and at the same "
            "time for 96");
}

TEST_F(FaultTest, UnknownBarrier) {
  EXPECT_EQ(fault("barrier_unknown", {.grid = {1, 1, 1}, .block = {1, 1, 1}}),
            "kernel 'barrier_unknown', block [0,0,0], thread [0,0,0]: barrier 16: a block has the barriers 0 to 15");
}

TEST_F(FaultTest, CollectiveInALoop) {
  EXPECT_EQ(fault("loop_barrier", {.grid = {1, 1, 1}, .block = {32, 1, 1}}),
            "kernel 'loop_barrier', block [0,0,0], thread [3,0,0]: a barrier in a kernel whose image runs its threads as a loop");
}

TEST_F(FaultTest, WrongFree) {
  const std::string message = fault("double_free", {.grid = {1, 1, 1}, .block = {1, 1, 1}});
  EXPECT_NE(message.find("which malloc in a kernel did not give or which was freed before"), std::string::npos) << message;
}

TEST_F(FaultTest, AFaultEndsSpinningBlocksToo) {
  EXPECT_EQ(fault("trap_or_spin", {.grid = {8, 1, 1}, .block = {32, 1, 1}, .cooperative = true}),
            "kernel 'trap_or_spin', block [7,0,0], thread [0,0,0]: the kernel executed a trap instruction");
}

int previous_handler_calls = 0;

TEST_F(FaultTest, OtherSignalsGoToThePreviousHandler) {
  struct sigaction mine{}, before{}, after{};
  mine.sa_handler = [](int) { ++previous_handler_calls; };
  ASSERT_EQ(sigaction(SIGSEGV, &mine, &before), 0);
  // A signal that was sent, and not raised by an instruction, is none of the kernel's.
  uint32_t out = 0;
  auto raise_it = +[] { raise(SIGSEGV); };
  EXPECT_TRUE(launch("call_host", {}, {.out = &out, .pointer = reinterpret_cast<void*>(raise_it)}).ok());
  EXPECT_EQ(previous_handler_calls, 1);
  sigaction(SIGSEGV, &before, &after);
  EXPECT_EQ(after.sa_handler, mine.sa_handler);
}

TEST_F(FaultTest, APreviousHandlerIsToldOfTheSignal) {
  static int told;
  struct sigaction mine{}, before{};
  mine.sa_flags = SA_SIGINFO;
  mine.sa_sigaction = [](int, siginfo_t* info, void* context) { told = context != nullptr ? info->si_signo : 0; };
  ASSERT_EQ(sigaction(SIGFPE, &mine, &before), 0);
  uint32_t out = 0;
  auto raise_it = +[] { raise(SIGFPE); };
  EXPECT_TRUE(launch("call_host", {}, {.out = &out, .pointer = reinterpret_cast<void*>(raise_it)}).ok());
  EXPECT_EQ(told, SIGFPE);
  sigaction(SIGFPE, &before, nullptr);
}

using FaultDeathTest = FaultTest;

TEST_F(FaultDeathTest, WithoutAHandlerASignalThatIsSentDoesWhatItDoes) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto raise_with = [&](void (*disposition)(int)) {
    ::signal(SIGSEGV, disposition);
    uint32_t out = 0;
    auto raise_it = +[] { raise(SIGSEGV); };
    const Status status = launch("call_host", {}, {.out = &out, .pointer = reinterpret_cast<void*>(raise_it)});
    std::_Exit(status.ok() && ::signal(SIGSEGV, SIG_DFL) == disposition ? 0 : 1);
  };
  EXPECT_EXIT(raise_with(SIG_DFL), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(raise_with(SIG_IGN), testing::ExitedWithCode(0), "");
}

TEST_F(FaultTest, TheHandlersStayUntilTheLastLaunchEnds) {
  struct sigaction before{}, left{}, after{};
  sigaction(SIGBUS, nullptr, &before);
  {
    SignalHandlers handlers;
    {
      SignalHandlers others;
    }
    sigaction(SIGBUS, nullptr, &left);
    EXPECT_NE(left.sa_sigaction, before.sa_sigaction);
  }
  sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
}

TEST_F(FaultTest, TheApplicationsSignalStackIsGivenBack) {
  static std::array<std::byte, 64 << 10> memory;
  stack_t mine{}, before{}, after{};
  mine.ss_sp = memory.data();
  mine.ss_size = memory.size();
  ASSERT_EQ(sigaltstack(&mine, &before), 0);
  std::vector<uint32_t> out(64);
  EXPECT_TRUE(launch("barriers", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, {.out = out.data(), .a = 1}).ok());
  sigaltstack(&before, &after);
  EXPECT_EQ(after.ss_sp, mine.ss_sp);
}

TEST_F(FaultTest, AHandlerThatTheApplicationSetsMeanwhileStays) {
  struct sigaction before{}, after{};
  sigaction(SIGSEGV, nullptr, &before);
  uint32_t out = 0;
  auto set_it = +[] { ::signal(SIGSEGV, SIG_IGN); };
  EXPECT_TRUE(launch("call_host", {}, {.out = &out, .pointer = reinterpret_cast<void*>(set_it)}).ok());
  sigaction(SIGSEGV, &before, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace mneme::cpu
