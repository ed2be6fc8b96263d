#include "mneme/memory/memory_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "mneme/device/host_mapping.h"
#include "mneme/memory/mapped_copy.h"

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

TEST(MemoryPlan, MemoryOutsideOfTheRecordersRangeKeepsItsAddress) {
  MemoryState state{{{Region::Kind::mapped, DevicePtr(0x7b0000000000), Bytes(100), "", {digest(1)}},
                     {Region::Kind::managed, DevicePtr(0x7f1234000000), Bytes(100), "", {digest(1)}},
                     {Region::Kind::host, DevicePtr(0x7f1234200000), Bytes(100), "", {digest(1)}}}};
  auto plan = plan_memory({}, {}, state, state);
  ASSERT_TRUE(plan.ok());
  for (const PlannedRegion& region : plan->regions) EXPECT_EQ(region.placement, Placement::recorded_address);
  map_spans(*plan, 2_MiB);
  ASSERT_EQ(plan->spans.size(), 3u) << "memory of the host is no device's, where they are neighbours too";
  EXPECT_EQ(plan->spans[0].range(), (MemoryRange{DevicePtr(0x7b0000000000), 2_MiB}));
  EXPECT_EQ(plan->spans[1].range(), (MemoryRange{DevicePtr(0x7f1234000000), 2_MiB}));
  EXPECT_EQ(plan->spans[2].range(), (MemoryRange{DevicePtr(0x7f1234200000), kHostPage}));
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

  // Machine code has its variables where the loader puts them, whatever may point there.
  for (CodeLevel level : {CodeLevel::ptx, CodeLevel::cubin}) {
    kernel.level = level;
    plan = plan_memory(kernel, instance, state, state);
    ASSERT_TRUE(plan.ok());
    for (const PlannedRegion& region : plan->regions) EXPECT_EQ(region.placement, Placement::module_symbol);
  }
}

TEST(MemoryPlan, AGlobalIsTheModulesOnlyWhereNothingElseCanReachIt) {
  KernelRecord kernel;
  kernel.globals = {{"g", 64, 4, false, false, false}};
  kernel.parameters = {{Parameter::Kind::pointer, "p", "ptr", 0, 8, 8}};
  InstanceRecord instance;
  instance.parameters.resize(8);
  const auto placement = [&](const std::string& name, uint64_t pointer) {
    std::memcpy(instance.parameters.data(), &pointer, sizeof pointer);
    const MemoryState state{{global(0x1000, name)}};
    auto plan = plan_memory(kernel, instance, state, state);
    EXPECT_TRUE(plan.ok()) << plan.status().to_string();
    return plan->regions.at(0).placement;
  };
  const uint64_t size = global(0x1000, "g").size.count;
  EXPECT_EQ(placement("g", 0), Placement::module_symbol);
  EXPECT_EQ(placement("g", 0xfff), Placement::module_symbol);
  EXPECT_EQ(placement("g", 0x1000), Placement::recorded_address);
  EXPECT_EQ(placement("g", 0x1000 + size - 1), Placement::recorded_address);
  EXPECT_EQ(placement("g", 0x1000 + size), Placement::module_symbol);
  EXPECT_EQ(placement("of_another_kernel", 0), Placement::recorded_address);
  kernel.globals[0].managed = true;
  EXPECT_EQ(placement("g", 0), Placement::recorded_address);
  kernel.globals[0].managed = false;
  kernel.globals[0].escapes = true;
  EXPECT_EQ(placement("g", 0), Placement::recorded_address);
}

TEST(MemoryPlan, EveryParameterIsLookedThroughForPointers) {
  KernelRecord kernel;
  kernel.globals = {{"g", 64, 4, false, false, false}};
  kernel.parameters = {{Parameter::Kind::pointer, "p", "ptr", 0, 8, 8},
                       {Parameter::Kind::integer, "n", "i32", 8, 4, 4},
                       {Parameter::Kind::pointer, "q", "ptr", 16, 8, 8},
                       {Parameter::Kind::aggregate, "s", "struct.S", 24, 16, 8}};
  const MemoryState state{{global(0x1000, "g")}};
  for (const auto& [at, placement] : {std::pair(0, Placement::recorded_address),
                                      {8, Placement::module_symbol},
                                      {16, Placement::recorded_address},
                                      {24, Placement::recorded_address},
                                      {32, Placement::recorded_address}}) {
    InstanceRecord instance;
    instance.parameters.resize(40);
    const uint64_t pointer = 0x1010;
    std::memcpy(instance.parameters.data() + at, &pointer, sizeof pointer);
    auto plan = plan_memory(kernel, instance, state, state);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    EXPECT_EQ(plan->regions.at(0).placement, placement) << at;
  }
}

// Its pages are smaller than a device's granules, which the host's other memory lies in.
TEST(MemoryPlan, HostMemoryIsMappedByItsOwnPages) {
  MemoryState state{{{Region::Kind::allocation, DevicePtr(0x7a0000000000), Bytes(100), "", {digest(1)}},
                     {Region::Kind::host, DevicePtr(0x7c0000001000), Bytes(100), "", {digest(1)}}}};
  auto plan = plan_memory({}, {}, state, state);
  ASSERT_TRUE(plan.ok());
  map_spans(*plan, 2_MiB);
  ASSERT_EQ(plan->spans.size(), 2u);
  EXPECT_EQ(plan->spans[0].size, 2_MiB);
  EXPECT_EQ(plan->spans[1].address, DevicePtr(0x7c0000001000));
  EXPECT_EQ(plan->spans[1].size, kHostPage);
}

// It begins within one and ends within the next.
TEST(MemoryPlan, ASpanHasEveryGranuleThatItsMemoryTouches) {
  const DevicePtr begin = DevicePtr(0x7a0000000000) + 1_MiB + 512_KiB;
  for (const auto& [size, granules] : {std::pair(512_KiB, 1), {512_KiB + Bytes(1), 2}, {1_MiB, 2}, {3_MiB, 3}}) {
    Region region{Region::Kind::allocation, begin, size, "", {}};
    region.pages.resize(page_count(region.range()), digest(1));
    const MemoryState state{{region}};
    auto plan = plan_memory({}, {}, state, state);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    map_spans(*plan, 2_MiB);
    ASSERT_EQ(plan->spans.size(), 1u);
    EXPECT_EQ(plan->spans[0].address, DevicePtr(0x7a0000000000));
    EXPECT_EQ(plan->spans[0].size.count, granules * (2_MiB).count) << size.count;
    EXPECT_EQ(plan->regions[0].offset, (begin - plan->spans[0].address).count);
  }
}

TEST(MemoryPlan, RefusesStatesThatDoNotBelongTogether) {
  MemoryState before{{allocation(0x7a0000000000, {digest(1)})}}, after{{allocation(0x7a0000010000, {digest(1)})}};
  EXPECT_EQ(plan_memory({}, {}, before, {}).status().message(), "the prologue has 1 regions and the epilogue 0");
  EXPECT_EQ(plan_memory({}, {}, before, after).status().message(),
            "region 0 at 0x7a0000000000 is not the same in prologue and epilogue");
  for (const auto& change : std::vector<std::function<void(Region&)>>{
           [](Region& region) { region.kind = Region::Kind::host; }, [](Region& region) { region.size = Bytes(1); },
           [](Region& region) { region.name = "another"; }, [](Region& region) { region.pages.push_back(digest(1)); }}) {
    after = before;
    change(after.regions[0]);
    EXPECT_EQ(plan_memory({}, {}, before, after).status().code(), Code::corrupt);
    EXPECT_EQ(plan_memory({}, {}, after, before).status().code(), Code::corrupt);
  }
}

TEST(WholeBlocks, AreThoseThatAPieceTouchesOnceAndByAddress) {
  const uint64_t block = kBlock.count;
  const DevicePtr base(uint64_t{1} << 40), other = base + Bytes(100 * block);
  MemoryPlan plan;
  plan.spans = {{other, Bytes(block + 100), 0, {}}, {base, Bytes(10 * block), 0, {}}};
  using Runs = std::vector<MemoryRange>;
  const auto of = [&](const Runs& pieces) { return whole_blocks(plan, pieces); };
  EXPECT_EQ(of({}), Runs());
  EXPECT_EQ(of({{base + Bytes(block - 1), Bytes(1)}}), (Runs{{base, kBlock}}));
  EXPECT_EQ(of({{base + Bytes(block - 1), Bytes(2)}}), (Runs{{base, Bytes(2 * block)}}));
  EXPECT_EQ(of({{base + Bytes(block), Bytes(block)}}), (Runs{{base + kBlock, kBlock}}));
  EXPECT_EQ(of({{base + Bytes(block), Bytes(1)}, {base, Bytes(1)}}), (Runs{{base, Bytes(2 * block)}})) << "neighbours";
  EXPECT_EQ(of({{base + Bytes(2 * block), Bytes(1)}, {base, Bytes(1)}}),
            (Runs{{base, kBlock}, {base + Bytes(2 * block), kBlock}}));
  EXPECT_EQ(of({{base, Bytes(5 * block)}, {base + Bytes(block), Bytes(1)}, {base + Bytes(3 * block), Bytes(7)}}),
            (Runs{{base, Bytes(5 * block)}}))
      << "one within another";
  EXPECT_EQ(of({{base, Bytes(2 * block)}, {base + Bytes(block), Bytes(2 * block)}}), (Runs{{base, Bytes(3 * block)}}));
  EXPECT_EQ(of({{other + Bytes(block + 99), Bytes(1)}, {base + Bytes(9 * block), Bytes(1)}}),
            (Runs{{base + Bytes(9 * block), kBlock}, {other + kBlock, Bytes(100)}}))
      << "the last of a span may be short";
  plan.spans = {{base, Bytes(block + 100), 0, {}}, {base + Bytes(block + 100), Bytes(block), 0, {}}};
  EXPECT_EQ(of({{base + Bytes(block), Bytes(1)}, {base + Bytes(block + 101), Bytes(1)}}),
            (Runs{{base + kBlock, Bytes(100)}, {base + Bytes(block + 100), kBlock}}))
      << "a run is of one span";
}

TEST(MemoryPlan, SpansAreLaidOutAnewForAnotherDevice) {
  MemoryState state{{allocation(0x7a0000000000, {digest(1)}), allocation(0x7a0000200000, {digest(1)})}};
  auto plan = plan_memory({}, {}, state, state);
  ASSERT_TRUE(plan.ok());
  for (Bytes granularity : {2_MiB, 64_KiB, 2_MiB}) {
    map_spans(*plan, granularity);
    const bool apart = granularity == 64_KiB;  // no unmapped granule lies between large ones
    EXPECT_EQ(plan->spans.size(), apart ? 2u : 1u);
    EXPECT_EQ(plan->copy_size, apart ? 128_KiB : 4_MiB);
    EXPECT_EQ(plan->regions[1].offset, apart ? kPageSize.count : (2_MiB).count);
  }
}

}  // namespace
}  // namespace mneme
