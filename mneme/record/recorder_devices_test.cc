// The recorder on several devices: which memory is whose, and what is waited for before it is used again.
#include <gtest/gtest.h>

#include <thread>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/device/fake/fake_device.h"
#include "mneme/record/recorder.h"

namespace mneme {
namespace {

class DevicesVendor final : public Vendor {
 public:
  DeviceKind device_kind() const override { return DeviceKind::fake; }
  Status prepare() override { return {}; }
  Result<int> current_device() override { return current; }
  Status synchronize(int ordinal) override { return waited.push_back(ordinal), Status(); }
  Result<void*> record_event(void*) override { return reinterpret_cast<void*>(++events); }
  bool has_happened(void*) override { return look(); }
  Result<MemoryRange> find_global(const RecordableKernel&, const std::string&) override { return nothing(); }
  Result<MemoryRange> find_variable(const RegisteredVariable&, uint32_t) override { return nothing(); }

  int current = 0;
  std::vector<int> waited;  // devices
  uintptr_t events = 0;
  std::function<bool()> look = [] { return false; };

 private:
  static Status nothing() { return error(Code::not_found, "there is none"); }
};

class RecorderOnDevices : public ::testing::Test {
 protected:
  RecorderOnDevices() : recorder_(options(), environment()) {}

  RecordingOptions options() const {
    RecordingOptions options;
    options.database = folder_.path() / "database";
    options.address_space = 64_MiB;
    return options;
  }
  Recorder::Environment environment() {
    Recorder::Environment environment;
    environment.open_device = [](DeviceKind, int ordinal) -> Result<std::unique_ptr<Device>> {
      auto properties = fake::FakeDevice::default_properties();
      properties.architecture = ordinal == 2 ? "fake_2" : "fake_1";
      return std::unique_ptr<Device>(new fake::FakeDevice(properties));
    };
    return environment;
  }
  std::optional<DevicePtr> allocate(Bytes size) {
    auto memory = recorder_.allocate(vendor_, size);
    return memory.ok() ? *memory : std::nullopt;
  }

  const TemporaryDirectory folder_;  // a test's own: tests run side by side
  DevicesVendor vendor_;
  Recorder recorder_;
};

TEST_F(RecorderOnDevices, EachHasARangeOfItsOwn) {
  EXPECT_EQ(allocate(1_MiB), address_space_base(0));
  vendor_.current = 1;
  EXPECT_EQ(allocate(1_MiB), address_space_base(1));
  EXPECT_EQ(recorder_.owner_of(address_space_base(0).address), 0);
  EXPECT_EQ(recorder_.owner_of(address_space_base(1).address + 5), 1);
  EXPECT_EQ(recorder_.owner_of(address_space_base(1).address + (64 << 20)), std::nullopt);
  EXPECT_EQ(recorder_.owner_of(address_space_base(2).address), std::nullopt);
  EXPECT_EQ(recorder_.owner_of(0), std::nullopt);
  EXPECT_EQ(recorder_.owner_of(~uint64_t{0}), std::nullopt);
}

TEST_F(RecorderOnDevices, OneThatRunsOtherCodeIsNotRecorded) {
  EXPECT_TRUE(allocate(1_MiB));
  vendor_.current = 2;
  EXPECT_FALSE(allocate(1_MiB));
  vendor_.current = 0;
  EXPECT_TRUE(allocate(1_MiB)) << "recording goes on with the first";
}

TEST_F(RecorderOnDevices, AFreeWaitsForTheDeviceThatTheMemoryIsOn) {
  auto memory = allocate(1_MiB);
  vendor_.current = 1;
  EXPECT_TRUE(allocate(1_MiB));
  ASSERT_TRUE(recorder_.free(vendor_, *memory).ok());
  EXPECT_EQ(vendor_.waited, std::vector<int>{0});
}

TEST_F(RecorderOnDevices, AnAllocationThatDoesNotFitTakesAllThatWasFreed) {
  auto in_stream = allocate(24_MiB), in_capture = allocate(24_MiB);
  ASSERT_TRUE(recorder_.free_in_stream(vendor_, *in_stream, nullptr).ok());
  recorder_.begin_stream_capture(nullptr);
  ASSERT_TRUE(recorder_.free(vendor_, *in_capture).ok());
  recorder_.end_stream_capture(nullptr);
  EXPECT_TRUE(allocate(1_MiB));
  EXPECT_TRUE(recorder_.find_allocation(*in_stream) && recorder_.find_allocation(*in_capture)) << "nothing waits without need";
  vendor_.look = [&] { return !vendor_.waited.empty(); };
  EXPECT_TRUE(allocate(40_MiB));
}

TEST_F(RecorderOnDevices, AResetWhileFreesAreLookedAtLeavesNoneBehind) {
  auto memory = allocate(1_MiB);
  ASSERT_TRUE(recorder_.free_in_stream(vendor_, *memory, nullptr).ok());
  bool reset = false;
  vendor_.look = [&] {
    if (!std::exchange(reset, true)) recorder_.reset(vendor_, 0);
    return false;
  };
  recorder_.finish_frees(vendor_);
  EXPECT_TRUE(reset);
  EXPECT_EQ(allocate(1_MiB), memory) << "on the device that was opened anew";
  vendor_.look = [] { return true; };
  recorder_.finish_frees(vendor_);
  EXPECT_TRUE(recorder_.find_allocation(*memory)) << "what was freed before was another allocation";
}

TEST_F(RecorderOnDevices, AResetIsOfOneDevice) {
  auto memory = allocate(1_MiB);
  vendor_.current = 1;
  auto other = allocate(1_MiB);
  recorder_.reset(vendor_, 0);
  EXPECT_FALSE(recorder_.find_allocation(*memory));
  EXPECT_TRUE(recorder_.find_allocation(*other));
  vendor_.current = 0;
  EXPECT_EQ(allocate(1_MiB), memory);
}

TEST_F(RecorderOnDevices, AResetTakesManagedMemoryOfItsDeviceAlone) {
  const MemoryRange one{DevicePtr(0x7f0000000000), Bytes(100)}, two{DevicePtr(0x7f0000001000), Bytes(100)};
  EXPECT_TRUE(allocate(1_MiB));
  vendor_.current = 1;
  EXPECT_TRUE(allocate(1_MiB));
  recorder_.outside_memory().add_managed(one, 0);
  recorder_.outside_memory().add_managed(two, 1);
  EXPECT_TRUE(recorder_.reset(vendor_, 1)) << "device 0 is open still";
  EXPECT_EQ(recorder_.outside_memory().managed(), std::vector{one});
}

TEST_F(RecorderOnDevices, AResetOfADeviceThatWasNeverOpenedLeavesWhatIsOfOthers) {
  const MemoryRange managed{DevicePtr(0x7f0000000000), Bytes(100)};
  recorder_.outside_memory().add_managed(managed, 0);
  EXPECT_FALSE(recorder_.reset(vendor_, 1)) << "none is open yet";
  EXPECT_EQ(recorder_.outside_memory().managed(), std::vector{managed});
  auto memory = allocate(1_MiB);
  EXPECT_TRUE(recorder_.reset(vendor_, 1));
  EXPECT_TRUE(recorder_.find_allocation(*memory));
  EXPECT_EQ(recorder_.outside_memory().managed(), std::vector{managed});
}

// A device whose space tells who may reach it, and calls a test back before somebody may.
struct Readers {
  std::set<int> all;
  std::function<void()> before_shared = [] {};
};
class SharedSpace final : public AddressSpace {
 public:
  SharedSpace(DevicePtr base, Bytes size, Readers& readers) : AddressSpace(base, size, 2_MiB), readers_(readers) {
    readers_.all.clear();
  }

 private:
  Status map_impl(DevicePtr, Bytes) override { return {}; }
  Status unmap_impl(DevicePtr, Bytes) override { return {}; }
  Status share_impl(int ordinal) override { return readers_.all.insert(ordinal), Status(); }
  Status keep_from_impl(int ordinal) override { return readers_.all.erase(ordinal), Status(); }
  Readers& readers_;
};
class SharedDevice final : public fake::FakeDevice {
 public:
  explicit SharedDevice(Readers& readers) : readers_(readers) {}
  Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) override {
    return std::unique_ptr<AddressSpace>(new SharedSpace(base, size, readers_));
  }
  Result<std::unique_ptr<Stream>> create_stream() override {
    readers_.before_shared();  // the space is there, and not open for others yet
    return FakeDevice::create_stream();
  }

 private:
  Readers& readers_;
};

class SharedMemoryOfDevices : public RecorderOnDevices {
 protected:
  SharedMemoryOfDevices() : sharing_(options(), sharing()) {}
  Recorder::Environment sharing() {
    Recorder::Environment environment;
    environment.open_device = [this](DeviceKind, int ordinal) -> Result<std::unique_ptr<Device>> {
      return std::unique_ptr<Device>(new SharedDevice(readers_[ordinal]));
    };
    return environment;
  }
  void open(int device) {
    vendor_.current = device;
    ASSERT_TRUE(sharing_.allocate(vendor_, 1_MiB).ok());
  }
  std::map<int, Readers> readers_;
  Recorder sharing_;
};

// While a device is opened, another thread allows and takes back: the last word counts.
TEST_F(SharedMemoryOfDevices, WhoMayReachADeviceIsWhatWasSaidLast) {
  std::thread other;
  readers_[0].before_shared = [&] {
    other = std::thread([&] {
      sharing_.share(0, 1);
      sharing_.share(0, 2);
      sharing_.keep_from(0, 2);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  open(0);
  other.join();
  EXPECT_EQ(readers_[0].all, std::set<int>{1});
}

TEST_F(SharedMemoryOfDevices, AResetTakesBackWhatItsDeviceHadToDoWith) {
  open(0);
  open(1);
  sharing_.share(0, 1);
  sharing_.share(0, 1);
  sharing_.share(0, 2);
  sharing_.share(1, 0);
  sharing_.keep_apart(1);
  EXPECT_EQ(readers_[0].all, std::set<int>{2});
  sharing_.reset(vendor_, 1);
  open(1);
  EXPECT_TRUE(readers_[1].all.empty()) << "of the device that was opened anew";
  sharing_.share(0, 1);
  sharing_.keep_from(0, 1);
  EXPECT_EQ(readers_[0].all, std::set<int>{2}) << "what was said before the reset does not count";
}

}  // namespace
}  // namespace mneme
