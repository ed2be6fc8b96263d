// Memory of a made recording on the fake device, whose memory is this process's: what a kernel would do to it, the test does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "mneme/device/fake/fake_device.h"
#include "mneme/memory/prepared_memory.h"
#include "mneme/store/testing/made_recording.h"

namespace mneme::testing_memory {

inline constexpr DevicePtr kData = testing_store::kMadeSpaceBase;
inline constexpr DevicePtr kOther = kData + Bytes(16 * kPageSize.count);
inline constexpr uint64_t kPages = 12;  // of data, every second of which the kernel changes

// Prepares memory that has room for all of it before the launch, or, on a small device, for what changes only.
class OnFakeDevice : public testing::TestWithParam<Bytes> {
 protected:
  void SetUp() override {
    DeviceProperties properties = fake::FakeDevice::default_properties();
    properties.total_memory = GetParam();
    properties.l2_cache = 1_MiB;
    device_ = std::make_unique<fake::FakeDevice>(properties);
    stream_ = std::move(device_->create_stream()).value();
    before_.resize(kPages * kPageSize.count);
    for (size_t i = 0; i < before_.size(); ++i) before_[i] = std::byte(i * 7 + i / 1000);
    after_ = before_;
    for (uint64_t page = 1; page < kPages; page += 2) after_[page * kPageSize.count + 5] ^= std::byte{0xff};
    testing_store::MadeRecording made;
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = "none";
    made.pointer("data", kData);
    const ByteVector other(300, std::byte{9});
    made.regions = {{Region::Kind::allocation, kData, "", before_, after_}, {Region::Kind::allocation, kOther, "", other, other}};
    publish(made);
  }

  // What prepare() prepares from now on.
  void publish(const testing_store::MadeRecording& made) {
    auto published = recordings_.publish(made);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    instance_ = *published;
    database_ = std::make_unique<Database>(std::move(Database::open(recordings_.directory())).value());
    kernel_ = *database_->load_kernel(instance_.static_hash);
    auto recorded = database_->load_instance(instance_.static_hash, instance_.dynamic_hash);
    ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
    plan_ = *plan_memory(kernel_, instance_, recorded->prologue, recorded->epilogue);
    map_spans(plan_, device_->properties().allocation_granularity);
  }

  Result<std::unique_ptr<PreparedMemory>> prepare(RecordedCopies copies = {}) {
    return PreparedMemory::create(*database_, instance_, plan_, *device_, *stream_, {}, std::move(copies));
  }
  static std::byte* at(DevicePtr address) { return reinterpret_cast<std::byte*>(address.address); }
  static ByteVector bytes_at(DevicePtr address, size_t size) { return {at(address), at(address) + size}; }
  void run_kernel() { std::copy(after_.begin(), after_.end(), at(kData)); }
  size_t count(const char* call) {
    const auto calls = device_->calls();
    return static_cast<size_t>(std::count(calls.begin(), calls.end(), call));
  }
  static RestoredRun restored(PreparedMemory& memory, StartState start = StartState::recorded, const SymbolPlaces& symbols = {}) {
    auto run = memory.restore(symbols, start);
    EXPECT_TRUE(run.ok()) << run.status().to_string();
    return std::move(run).value();
  }
  static CheckedRun checked(RestoredRun&& run) {
    auto checked = std::move(run).check();
    EXPECT_TRUE(checked.ok()) << checked.status().to_string();
    return checked.ok() ? *checked : CheckedRun();
  }

  testing_store::MadeDatabase recordings_;
  std::unique_ptr<fake::FakeDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Database> database_;
  KernelRecord kernel_;
  InstanceRecord instance_;
  MemoryPlan plan_;
  ByteVector before_, after_;
};

// The same with the memory prepared.
class PreparedOnFakeDevice : public OnFakeDevice {
 protected:
  void SetUp() override {
    OnFakeDevice::SetUp();
    auto memory = prepare();
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    memory_ = std::move(*memory);
  }
  void TearDown() override { memory_.reset(); }

  std::unique_ptr<PreparedMemory> memory_;
};

}  // namespace mneme::testing_memory
