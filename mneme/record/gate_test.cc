#include "mneme/record/gate.h"

#include <gtest/gtest.h>

#include <future>

namespace mneme {
namespace {

using namespace std::chrono_literals;

TEST(Gate, MemoryIsNotTakenAwayUnderAReading) {
  Gate gate(1ms);
  ASSERT_TRUE(gate.begin_capture());
  std::atomic<bool> gone = false;
  std::future<void> other;
  {
    const Gate::Reading reading(gate);
    ASSERT_TRUE(reading.ok());
    other = std::async(std::launch::async, [&] {
      const Gate::Use use(gate, Gate::Effect::removes_memory);
      gone = true;
    });
    while (!gate.disturbed()) std::this_thread::yield();  // its patience is at its end
    EXPECT_FALSE(gone);
  }
  other.wait();
  EXPECT_TRUE(gone);
  EXPECT_FALSE(Gate::Reading(gate).ok()) << "the memory may be gone";
  gate.end_capture();
  ASSERT_TRUE(gate.begin_capture());
  EXPECT_FALSE(gate.disturbed());
  EXPECT_TRUE(Gate::Reading(gate).ok());
  gate.end_capture();
}

TEST(Gate, ACallThatTakesNothingAwayWaitsForNoReading) {
  Gate gate(1ms);
  ASSERT_TRUE(gate.begin_capture());
  const Gate::Reading reading(gate);
  std::async(std::launch::async, [&] { const Gate::Use use(gate); }).wait();
  EXPECT_TRUE(gate.disturbed());
  gate.end_capture();
}

}  // namespace
}  // namespace mneme
