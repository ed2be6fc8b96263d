// Whose clock times the program's launches, over a device and a vendor made for tests.
#include "mneme/record/profile.h"

#include <gtest/gtest.h>

#include <set>

#include "mneme/base/symbol_name.h"
#include "mneme/device/fake/fake_device.h"

namespace mneme {
namespace {

// Events are numbers; the time between two is what the test says, once it says so.
class EventVendor final : public Vendor {
 public:
  DeviceKind device_kind() const override { return DeviceKind::cuda; }
  Status prepare() override { return {}; }
  Result<int> current_device() override { return 0; }
  Status synchronize(int) override { return {}; }
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

// Of `mneme profile`.
class ProfileOfAll : public ProfileTest {
 protected:
  ProfileOfAll() {
    profile_ = std::make_unique<Profile>(make_program_clock(*device_), Profile::Of::all_launches);
    for (auto [kernel, name] : {std::pair(&one_, "_Z3onev"), {&two_, "_Z3twov"}}) {
      kernel->record.name = name;
      kernel->record.demangled = demangle(name);
      kernel->record.static_hash = digest_of(std::as_bytes(std::span(kernel->record.name)));
    }
  }
  void launch(const RecordableKernel& kernel, uint32_t blocks, double time, bool launched = true) {
    vendor_.between = Nanoseconds(time);
    auto tag = profile_->begin({kernel.record.static_hash, {blocks, 1, 1}, {32, 1, 1}, {}, false, {}, &kernel}, vendor_, nullptr);
    ASSERT_TRUE(tag.has_value());
    profile_->end(*tag, launched);
    (void)profile_->time_of({});  // fetches
  }
  RecordableKernel one_, two_;
};

TEST_F(ProfileOfAll, CountsAndTimesEveryLaunchByKernelAndShape) {
  launch(one_, 8, 9000);  // the first, which may load code
  for (double time : {100, 200, 600}) launch(one_, 8, time);
  launch(one_, 4, 50);
  launch(two_, 8, 700);
  LaunchProfile profile;
  profile.add(profile_->all());
  EXPECT_EQ(profile.clock_source, "cuda_event");
  ASSERT_EQ(profile.kernels.size(), 2u);
  const KernelProfile& one = profile.kernels[0];
  EXPECT_EQ(one.demangled, "one()");
  EXPECT_EQ(one.name, "_Z3onev");
  EXPECT_EQ(one.static_hash, one_.record.static_hash);
  EXPECT_EQ(one.first, 9000.0);
  ASSERT_EQ(one.shapes.size(), 2u);
  EXPECT_EQ(one.shapes[0].shape, (ProgramShape{{8, 1, 1}, {32, 1, 1}, {}, false}));
  EXPECT_EQ(one.shapes[0].launches, (TimedLaunches{4, 3, 300, 100, 600}));
  EXPECT_EQ(one.shapes[1].launches, (TimedLaunches{1, 1, 50, 50, 50}));
  EXPECT_EQ(profile.kernels[1].name, "_Z3twov");
  EXPECT_EQ(profile.kernels[1].total(), 700.0) << "nothing but its first launch";
  EXPECT_TRUE(vendor_.events.empty());
}

TEST_F(ProfileOfAll, GoesOnWhenItWasTold) {
  for (int i = 0; i < 2; ++i) launch(one_, 8, 100);
  EXPECT_EQ(profile_->all().kernels.at(0).launches(), (TimedLaunches{2, 1, 100, 100, 100}));
  launch(one_, 8, 200);
  EXPECT_EQ(profile_->all().kernels.at(0).launches(), (TimedLaunches{3, 2, 150, 100, 200}));
}

TEST_F(ProfileOfAll, ALaunchWithoutATimeCountsAndOneThatFailedDoesNot) {
  for (int i = 0; i < 2; ++i) launch(one_, 8, 100);
  launch(one_, 8, 100, false);
  vendor_.between.reset();
  const Profile::Launched launched{one_.record.static_hash, {8, 1, 1}, {32, 1, 1}, {}, false, {}, &one_};
  profile_->end(*profile_->begin(launched, vendor_, nullptr), true);  // it has not ended
  profile_->count(launched);                                          // on another device, say
  EXPECT_EQ(profile_->all().kernels.at(0).launches(), (TimedLaunches{4, 1, 100, 100, 100}));
}

TEST_F(ProfileOfAll, ThousandsOfLaunchesAreAllTimed) {
  constexpr uint64_t kLaunches = 5000;
  for (uint64_t i = 0; i < kLaunches; ++i) launch(one_, 8, 100);
  const TimedLaunches launches = profile_->all().kernels.at(0).launches();
  EXPECT_EQ(launches.launches, kLaunches);
  EXPECT_EQ(launches.timed, kLaunches - 1);
}

TEST_F(ProfileOfAll, SamplesAreOfManyPlaces) {
  const Profile::Launched launched{one_.record.static_hash, {8, 1, 1}, {32, 1, 1}, {}, false, {}, &one_};
  std::vector<int> taken;
  int asked = 1;
  for (Profile::Sample sample; (sample = profile_->take_sample(launched)) != Profile::Sample::complete; ++asked)
    if (sample == Profile::Sample::taken) taken.push_back(asked);
  ASSERT_EQ(taken.size(), Profile::kMostSamples);
  EXPECT_EQ(std::vector<int>(taken.begin(), taken.begin() + 5), (std::vector<int>{1, 2, 4, 7, 11}));
  Profile::Launched other = launched;
  other.grid.x = 4;
  EXPECT_EQ(profile_->take_sample(other), Profile::Sample::taken) << "of each shape";
}

TEST_F(ProfileOfAll, KernelsThatWereMadeAtRunTimeAreOne) {
  vendor_.between = Nanoseconds(10);
  for (int i = 0; i < 3; ++i)
    profile_->end(*profile_->begin({{}, {1, 1, 1}, {1, 1, 1}, {}, false, {}, nullptr}, vendor_, nullptr), true);
  const LaunchProfile profile = profile_->all();
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].name, "");
  EXPECT_FALSE(profile.kernels[0].static_hash.has_value());
  EXPECT_EQ(profile.kernels[0].launches().launches, 3u);
}

TEST_F(ProfileTest, TheMeanIsOfTheOthersWhereThereAreSome) {
  EXPECT_FALSE(profile_->mean_of(instance_).has_value());
  vendor_.between = Nanoseconds(900);
  launch(instance_);
  launch(instance_);
  EXPECT_EQ(profile_->mean_of(instance_), 900.0);
  for (double time : {100, 200, 600}) {
    vendor_.between = Nanoseconds(time);
    launch();
    (void)profile_->time_of(instance_);
  }
  EXPECT_EQ(profile_->mean_of(instance_), 300.0);
}

}  // namespace
}  // namespace mneme
