#include "mneme/replay/memory_plan.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mneme {
namespace {

Digest digest(int n) { return digest_of(std::as_bytes(std::span(&n, 1))); }

Region allocation(uint64_t address, std::vector<Digest> pages) {
  return {Region::Kind::allocation, DevicePtr(address), Bytes(pages.size() * kPageSize.count), "", std::move(pages)};
}

Region global(uint64_t address, std::string name) {
  return {Region::Kind::global, DevicePtr(address), Bytes(64), std::move(name), {digest(0)}};
}

TEST(MemoryPlan, MergesNeighbouringChangedPages) {
  MemoryState before{{allocation(0x7a0000000000, {digest(1), digest(2), digest(3), digest(4), digest(5)})}};
  MemoryState after = before;
  after.regions[0].pages[1] = after.regions[0].pages[2] = after.regions[0].pages[4] = digest(9);
  auto plan = plan_memory({}, {}, before, after);
  ASSERT_TRUE(plan.ok());
  const auto& changed = plan->regions[0].changed;
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0].offset, kPageSize.count);
  EXPECT_EQ(changed[0].size.count, 2 * kPageSize.count);
  EXPECT_EQ(changed[1].offset, 4 * kPageSize.count);
}

TEST(MemoryPlan, HostMemoryKeepsItsAddress) {
  MemoryState state{{{Region::Kind::host, DevicePtr(0x7c0000000000), Bytes(100), "", {digest(1)}}}};
  auto plan = plan_memory({}, {}, state, state);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->regions[0].placement, Placement::recorded_address);
  EXPECT_EQ(plan->copy_size, Bytes(512));
}

TEST(MemoryPlan, PlacesGlobalsByWhereTheirAddressMayStand) {
  MemoryState state{{global(0x1000, "plain"), global(0x2000, "escaping"), global(0x3000, "pointed_at")}};
  KernelRecord kernel;
  kernel.globals = {
      {"plain", 64, 4, false, false, false}, {"escaping", 64, 4, false, false, true}, {"pointed_at", 64, 4, false, false, false}};
  kernel.parameters = {{Parameter::Kind::aggregate, "s", "struct.S", 0, 16, 8}};
  InstanceRecord instance;
  instance.parameters.resize(16);
  uint64_t pointer = 0x3008;
  std::memcpy(instance.parameters.data() + 8, &pointer, sizeof pointer);
  auto plan = plan_memory(kernel, instance, state, state);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->regions[0].placement, Placement::module_symbol);
  EXPECT_EQ(plan->regions[1].placement, Placement::recorded_address);
  EXPECT_EQ(plan->regions[2].placement, Placement::recorded_address);
  EXPECT_EQ(plan->copy_size, Bytes(1024));
}

TEST(MemoryPlan, RefusesStatesThatDoNotBelongTogether) {
  MemoryState before{{allocation(0x7a0000000000, {digest(1)})}}, after{{allocation(0x7a0000010000, {digest(1)})}};
  EXPECT_EQ(plan_memory({}, {}, before, {}).status().message(), "the prologue has 1 regions and the epilogue 0");
  EXPECT_EQ(plan_memory({}, {}, before, after).status().message(),
            "region 0 at 0x7a0000000000 is not the same in prologue and epilogue");
}

}  // namespace
}  // namespace mneme
