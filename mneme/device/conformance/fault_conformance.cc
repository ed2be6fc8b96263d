// Kernels that fault. Each runs in a process of its own, since a fault may poison what the process shares.
#include <cstdio>
#include <cstdlib>

#include "mneme/device/conformance/conformance.h"

namespace mneme::conformance {
namespace {

class Faults : public Conformance {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    Conformance::SetUp();
  }

  // Ends the process: 0 when the launch, and all work after it, fails with device_fault.
  [[noreturn]] void fault_and_exit(const std::string& kernel, const Arguments& arguments) {
    const Status launched = launch(kernel, {.grid = {2, 1, 1}, .block = {64, 1, 1}}, arguments);
    std::fprintf(stderr, "%s\n", launched.to_string().c_str());
    bool as_it_should = launched.code() == Code::device_fault;
    as_it_should &= stream_->synchronize().code() == Code::device_fault;
    as_it_should &= device_->allocate(Bytes(64)).status().code() == Code::device_fault;
    std::fflush(stderr);
    std::_Exit(as_it_should ? 0 : 1);
  }
};

TEST_F(Faults, WriteToAWildAddress) {
  EXPECT_EXIT(fault_and_exit("write_to", Arguments(target().wild_address)), testing::ExitedWithCode(0), "device_fault: ");
}

TEST_F(Faults, WriteToImportedMemory) {
  if (*target().no_write_protection) GTEST_SKIP() << target().no_write_protection;
  auto write_and_exit = [&] {
    auto shared = device_->allocate_shared(4_KiB);
    auto imported = device_->import_shared(*(*shared)->share(), 4_KiB);
    fault_and_exit("write_to", Arguments((*imported)->address().address));
  };
  EXPECT_EXIT(write_and_exit(), testing::ExitedWithCode(0), "device_fault: ");
}

TEST_F(Faults, Trap) {
  EXPECT_EXIT(fault_and_exit("trap_if", Arguments(int32_t{1})), testing::ExitedWithCode(0), "device_fault: ");
}

TEST_F(Faults, Assertion) {
  EXPECT_EXIT(fault_and_exit("assert_positive", Arguments(int32_t{-1})), testing::ExitedWithCode(0), "Assertion `n > 0` failed");
}

TEST_F(Faults, ConditionsThatHoldAreNoFaults) {
  run("trap_if", {}, Arguments(int32_t{0}));
  run("assert_positive", {}, Arguments(int32_t{1}));
}

}  // namespace
}  // namespace mneme::conformance
