// Each kind of memory with each kind of launch: a program that was not built for recording launches one kernel in every way, at a
// driver that the tests bring along. Each launch is recorded as it was made, with the memory as it then was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "mneme/record/driver/testing/recorded_program.h"

namespace mneme::driver {
namespace {

struct Memory {
  const char* kind;
  Region::Kind region;
};

class CrossedTest : public RecordedAtTheDriver, public ::testing::WithParamInterface<Memory> {
 protected:
  // The word at the address that is the kernel's first argument, before its launch or after it; in a region of that kind.
  std::optional<uint32_t> first_word(const InstanceRecord& instance, bool after) {
    auto database = Database::open(database_);
    auto states = database->load_memory(instance);
    if (!states.ok()) return std::nullopt;
    DevicePtr address;
    std::memcpy(&address.address, instance.parameters.data(), sizeof address.address);
    for (const Region& region : (after ? states->epilogue : states->prologue).regions) {
      const uint64_t at = address.address - region.address.address;
      if (region.kind != GetParam().region || at >= region.size.count) continue;
      uint64_t page = 0;
      while (page_extent(region.range(), page + 1).address.address <= address.address && page + 1 < region.pages.size()) ++page;
      const MemoryRange extent = page_extent(region.range(), page);
      std::vector<std::byte> bytes(extent.size.count);
      const PageRequest request{region.pages.at(page), bytes};
      if (!database->read_pages({&request, 1}).ok()) return std::nullopt;
      uint32_t word = 0;
      std::memcpy(&word, bytes.data() + (address.address - extent.address.address), sizeof word);
      return word;
    }
    return std::nullopt;
  }
};

// What is recorded of a launch, by its number of blocks: a list of arguments or a buffer makes no difference.
struct Expected {
  uint32_t blocks;
  bool cooperative, has_clusters, is_of_graph;
};
constexpr Expected kLaunches[] = {
    {2, false, false, false},  // plain
    {4, false, false, false},  // with arguments that are packed
    {6, true, false, false},   // cooperative
    {8, false, true, false},   // in clusters
    {10, false, false, true},  // captured, packed
    {12, false, false, true},  // a node
    {14, false, false, true},  // a node with packed arguments
    {16, true, false, true},   // a cooperative node
    {18, false, true, true},   // a node with clusters
    {20, false, false, true},  // of a child graph
    {22, false, false, true},  // of an executable
    {24, false, false, true},  // which is changed then, to packed arguments
};

TEST_P(CrossedTest, EachKindOfLaunchIsRecordedWithTheMemory) {
  options_.max = 100;
  const std::string arguments = std::string(MNEME_TEST_CUBIN) + " " + GetParam().kind;
  const std::string printed = bare(arguments, MNEME_TEST_CROSSED);
  EXPECT_EQ(printed, std::string(GetParam().kind) + ": 12 to 1011\n");
  EXPECT_EQ(recorded(arguments, MNEME_TEST_CROSSED), printed);
  EXPECT_EQ(report().failure.get(), "");
  EXPECT_EQ(report().launches, std::size(kLaunches));
  ASSERT_EQ(report().instances, std::size(kLaunches));
  const auto instances = kernels().at(0).instances;
  for (size_t i = 0; i < std::size(kLaunches); ++i) {
    const Expected& expected = kLaunches[i];
    SCOPED_TRACE(expected.blocks);
    const auto found = std::ranges::find(instances, expected.blocks, [](const InstanceRecord& one) { return one.grid.x; });
    ASSERT_NE(found, instances.end());
    EXPECT_EQ(found->cooperative, expected.cooperative);
    EXPECT_EQ(found->cluster, expected.has_clusters ? (Dim3{2, 1, 1}) : kNoCluster);
    EXPECT_EQ(found->attributes.contains("graph"), expected.is_of_graph);
    EXPECT_EQ(first_word(*found, false), i);
    EXPECT_EQ(first_word(*found, true), i + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(OfMemory, CrossedTest,
                         ::testing::Values(Memory{"allocated", Region::Kind::allocation},
                                           Memory{"ordered", Region::Kind::allocation}, Memory{"pool", Region::Kind::allocation},
                                           Memory{"mapped", Region::Kind::mapped}, Memory{"managed", Region::Kind::managed},
                                           Memory{"pitched", Region::Kind::allocation}, Memory{"pinned", Region::Kind::host},
                                           Memory{"registered", Region::Kind::host}),
                         [](const auto& of) { return std::string(of.param.kind); });

}  // namespace
}  // namespace mneme::driver
