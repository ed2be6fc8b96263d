// Whose clock times the program's launches, over a device and a vendor made for tests.
#include "mneme/record/profile.h"

#include <gtest/gtest.h>

#include <set>

#include "mneme/device/fake/fake_device.h"

namespace mneme {
namespace {

// Events are numbers; the time between two is what the test says, once it says so.
class EventVendor final : public Vendor {
 public:
  DeviceKind device_kind() const override { return DeviceKind::cuda; }
  Status prepare() override { return {}; }
  Result<int> current_device() override { return 0; }
  Status synchronize() override { return {}; }
  Result<MemoryRange> find_global(const RecordableKernel&, const std::string&) override { return Status(Code::not_found, ""); }
  Result<MemoryRange> find_variable(const RegisteredVariable&, uint32_t) override { return Status(Code::not_found, ""); }
  Result<void*> record_event(void* stream) override {
    if (fails) return Status(Code::device_fault, "");
    streams.push_back(stream);
    events.insert(++last_);
    return reinterpret_cast<void*>(last_);
  }
  std::optional<Nanoseconds> elapsed(void* start, void* end) override {
    EXPECT_TRUE(events.contains(reinterpret_cast<uintptr_t>(start)) && events.contains(reinterpret_cast<uintptr_t>(end)));
    return between;
  }
  void destroy_event(void* event) override { events.erase(reinterpret_cast<uintptr_t>(event)); }

  bool fails = false;
  std::optional<Nanoseconds> between;
  std::set<uintptr_t> events;
  std::vector<void*> streams;

 private:
  uintptr_t last_ = 0;
};

class ProfileTest : public testing::Test {
 protected:
  ProfileTest() {
    DeviceProperties properties = fake::FakeDevice::default_properties();
    properties.kind = DeviceKind::cuda;
    device_ = std::make_unique<fake::FakeDevice>(properties);
    profile_ = std::make_unique<Profile>(make_program_clock(*device_));
  }
  void launch(std::optional<Profile::Instance> instance = {}, bool launched = true) {
    if (auto tag = profile_->begin({{}, {1, 1, 1}, {32, 1, 1}, {}, false, instance}, vendor_, &vendor_))
      profile_->end(*tag, launched);
  }

  std::unique_ptr<fake::FakeDevice> device_;
  std::unique_ptr<Profile> profile_;
  EventVendor vendor_;
  const Profile::Instance instance_{{}, *Digest::from_hex("00000000000000000000000000000001")};
};

TEST_F(ProfileTest, WithoutAnObserverTheVendorsEventsTime) {
  launch(instance_);  // the first, which may load code
  launch(instance_);
  launch();
  EXPECT_FALSE(profile_->time_of(instance_).has_value());  // nothing has happened yet
  vendor_.between = Nanoseconds(500);
  EXPECT_EQ(profile_->time_of(instance_), (RecordedTime{"cuda_event", 500.0, 1, 500, 500}));
  EXPECT_TRUE(vendor_.events.empty());
  EXPECT_EQ(vendor_.streams, std::vector<void*>(4, &vendor_));
}

TEST_F(ProfileTest, TheMedianIsOfTheOthersWithItsShape) {
  launch(instance_);
  for (double time : {900, 100, 300, 200}) {
    vendor_.between = Nanoseconds(time);
    launch();
    (void)profile_->time_of(instance_);
  }
  EXPECT_EQ(profile_->time_of(instance_), (RecordedTime{"cuda_event", std::nullopt, 4, 100, 250}));
}

TEST_F(ProfileTest, AnotherShapeInAnyMemberIsNoOther) {
  const Profile::Launched recorded{{}, {1, 2, 3}, {4, 5, 6}, Bytes(7), false, instance_};
  vendor_.between = Nanoseconds(100);
  const auto launch = [&](Profile::Launched launched) {
    if (auto tag = profile_->begin(launched, vendor_, nullptr)) profile_->end(*tag, true);
  };
  launch(recorded);
  std::vector<Profile::Launched> others(9, recorded);
  others[0].static_hash = *Digest::from_hex("00000000000000000000000000000002");
  others[1].grid.x = others[2].grid.y = others[3].grid.z = 9;
  others[4].block.x = others[5].block.y = others[6].block.z = 9;
  others[7].shared = Bytes(9);
  others[8].cooperative = true;
  for (Profile::Launched& other : others) {
    other.instance.reset();
    launch(other);  // the first of a kernel may load code
    launch(other);
  }
  EXPECT_FALSE(profile_->time_of(instance_).has_value());
  Profile::Launched same = recorded;
  same.instance.reset();
  for (double time : {300, 100, 200}) {
    vendor_.between = Nanoseconds(time);
    launch(same);
    (void)profile_->time_of(instance_);
  }
  EXPECT_EQ(profile_->time_of(instance_), (RecordedTime{"cuda_event", std::nullopt, 3, 100, 200}));
}

TEST_F(ProfileTest, TheFirstLaunchOfEachKernelIsNotTimed) {
  for (const char* hash : {"00000000000000000000000000000002", "00000000000000000000000000000003"}) {
    const Profile::Launched launched{*Digest::from_hex(hash), {1, 1, 1}, {32, 1, 1}, {}, false, {}};
    EXPECT_FALSE(profile_->begin(launched, vendor_, nullptr).has_value()) << hash;
    EXPECT_TRUE(profile_->begin(launched, vendor_, nullptr).has_value()) << hash;
  }
}

// As of kernels on a GPU whose activities are traced.
TEST(ProfileOfAnObserver, TakesEveryTimeThatTheDeviceKnows) {
  class Observer final : public LaunchObserver {
   public:
    LaunchTag begin() override { return ++last_; }
    void end(LaunchTag tag, bool launched) override {
      if (launched) done_.insert(tag);
    }
    Status flush() override { return fetched_.merge(done_), Status(); }
    std::optional<Nanoseconds> take(LaunchTag tag) override {
      return fetched_.erase(tag) != 0 ? std::optional(Nanoseconds(100.0 * static_cast<double>(tag))) : std::nullopt;
    }

   private:
    LaunchTag last_ = 0;
    std::set<LaunchTag> done_, fetched_;
  };
  class ObservedDevice final : public Device {
   public:
    Result<std::unique_ptr<Module>> load(const CodeImage&) override { return kNone; }
    Result<std::unique_ptr<Stream>> create_stream() override { return kNone; }
    Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr, Bytes) override { return kNone; }
    Result<std::unique_ptr<HostMapping>> map_host(DevicePtr, Bytes) override { return kNone; }
    Result<DevicePtr> allocate(Bytes) override { return kNone; }
    Status free(DevicePtr) override { return kNone; }
    Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes) override { return kNone; }
    Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor&, Bytes) override { return kNone; }
    Result<DeviceClock> clock() override { return kNone; }
    LaunchObserver* launch_observer() override { return &observer_; }

   private:
    const Status kNone{Code::unsupported, "this device only observes"};
    Observer observer_;
  };
  ObservedDevice device;
  EventVendor vendor;
  Profile profile(make_program_clock(device));
  const Profile::Instance instance{{}, *Digest::from_hex("00000000000000000000000000000001")};
  for (const auto& which : {std::optional(instance), {}, {}}) {
    auto tag = profile.begin({{}, {1, 1, 1}, {32, 1, 1}, {}, false, which}, vendor, nullptr);
    ASSERT_TRUE(tag.has_value()) << "the first, too: its time is that of the kernel alone";
    profile.end(*tag, true);
  }
  EXPECT_EQ(profile.time_of(instance), (RecordedTime{"", 100.0, 2, 200, 250}));
  EXPECT_TRUE(vendor.streams.empty());
}

// Else a program of many launches would keep events for each of them.
TEST_F(ProfileTest, TimesAreFetchedMeanwhile) {
  vendor_.between = Nanoseconds(1);
  for (size_t i = 0; i < 100; ++i) {
    launch();
    EXPECT_LE(vendor_.events.size(), 2 * 64u);
  }
}

TEST_F(ProfileTest, WhatCannotBeTimedLeavesNothingBehind) {
  launch();
  vendor_.fails = true;
  launch();
  vendor_.fails = false;
  launch({}, false);
  if (auto tag = profile_->begin({{}, {1, 1, 1}, {32, 1, 1}, {}, false, {}}, vendor_, &vendor_)) {
    vendor_.fails = true;  // the second event only
    profile_->end(*tag, true);
    vendor_.fails = false;
  }
  vendor_.between = Nanoseconds(1);
  launch(instance_, false);
  EXPECT_FALSE(profile_->time_of(instance_).has_value());
  EXPECT_TRUE(vendor_.events.empty());
}

TEST_F(ProfileTest, OneShapeIsTimedNoOftenerThanNeeded) {
  vendor_.between = Nanoseconds(1);
  launch(instance_);
  for (size_t i = 0; i < 2 * Profile::kMostOthers; ++i) launch();
  EXPECT_EQ(profile_->time_of(instance_)->others, Profile::kMostOthers);
  EXPECT_EQ(vendor_.streams.size(), 2 * Profile::kMostOthers);
}

}  // namespace
}  // namespace mneme
