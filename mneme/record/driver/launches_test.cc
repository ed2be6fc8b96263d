// What becomes of a launch's attributes.
#include "mneme/record/driver/launches.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <type_traits>

namespace mneme::driver {
namespace {

// The program made the call, and knows no exception of the recorder's.
static_assert(noexcept(take_attribute(std::declval<const CUlaunchAttribute&>(), std::declval<Launch&>())));
static_assert(std::is_trivially_copyable_v<LaunchAttributes>, "it has no memory of its own");

class NobodyToAsk final : public Vendor {
 public:
  DeviceKind device_kind() const override { return DeviceKind::cuda; }
  Status prepare() override { return nothing(); }
  Result<int> current_device() override { return nothing(); }
  Status synchronize(int) override { return nothing(); }
  Result<MemoryRange> find_global(const RecordableKernel&, const std::string&) override { return nothing(); }
  Result<MemoryRange> find_variable(const RegisteredVariable&, uint32_t) override { return nothing(); }

 private:
  static Status nothing() { return error(Code::internal, "nobody is asked"); }
};

TEST(TakeAttribute, KeepsByTheirNamesThoseThatChangeNoResult) {
  NobodyToAsk vendor;
  Launch launch{.vendor = vendor, .grid = {}, .block = {}, .shared = {}};
  for (int id = 0; id <= CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT; ++id) {
    CUlaunchAttribute attribute{};
    attribute.id = static_cast<CUlaunchAttributeID>(id);
    take_attribute(attribute, launch);
  }
  CUlaunchAttribute priority{};
  priority.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  priority.value.priority = -5;
  take_attribute(priority, launch);
  std::map<std::string, int64_t> kept;
  for (const auto& [name, value] : launch.attributes) kept.emplace(name, value);
  EXPECT_EQ(kept, (std::map<std::string, int64_t>{{"access_policy_window", 0},
                                                  {"cluster_scheduling_policy_preference", 0},
                                                  {"launch_completion_event", 1},
                                                  {"mem_sync_domain", 0},
                                                  {"mem_sync_domain_map", 1},
                                                  {"preferred_shared_memory_carveout", 0},
                                                  {"priority", -5},
                                                  {"programmatic_event", 1},
                                                  {"programmatic_stream_serialization", 0},
                                                  {"synchronization_policy", 0}}));
}

TEST(LaunchAttributes, AreNoMoreThanThereIsRoomFor) {
  static constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyz";
  LaunchAttributes attributes;
  int64_t count = 0;
  for (size_t at = 0; attributes.set(kNames.substr(at, 1), count); ++at) ++count;
  EXPECT_EQ(attributes.end() - attributes.begin(), count);
  EXPECT_TRUE(attributes.set("c", 100)) << "it is there";
  EXPECT_EQ(attributes.begin()[2].value, 100);
  EXPECT_EQ(attributes.end() - attributes.begin(), count);
}

}  // namespace
}  // namespace mneme::driver
