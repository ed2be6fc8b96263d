#include "mneme/memory/output_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/memory/testing/on_fake_device.h"

namespace mneme {
namespace {

using testing_memory::kData;
using testing_memory::kOther;

class OutputMaskTest : public testing_memory::PreparedOnFakeDevice {
 protected:
  void SetUp() override {
    PreparedOnFakeDevice::SetUp();
    written_ = zeros();
    read_ = zeros();
  }
  void TearDown() override {
    PreparedOnFakeDevice::TearDown();
    for (DevicePtr notes : {written_, read_}) EXPECT_TRUE(device_->free(notes).ok());
  }
  DevicePtr zeros() {
    const DevicePtr memory = *device_->allocate(plan_.copy_size);
    EXPECT_TRUE(stream_->fill(memory, std::byte{0}, plan_.copy_size).ok());
    return memory;
  }
  // The note on a byte of recorded memory.
  std::byte& note(DevicePtr notes, DevicePtr byte) const {
    for (const MappedSpan& span : plan_.spans)
      if (span.address <= byte && byte < span.address + span.size) return *at(notes + Bytes(span.offset) + (byte - span.address));
    ADD_FAILURE() << "no memory at " << byte.address;
    return *at(notes);
  }
  std::unique_ptr<OutputMask> mask() {
    auto mask = OutputMask::create(*device_, *stream_, plan_, memory_->expected(), written_, read_);
    EXPECT_TRUE(mask.ok()) << mask.status().to_string();
    return std::move(mask).value();
  }

  DevicePtr written_, read_;
};

INSTANTIATE_TEST_SUITE_P(Devices, OutputMaskTest, testing::Values(1_GiB, 4_MiB),
                         [](const auto& info) { return info.param == 4_MiB ? "Small" : "Large"; });

TEST_P(OutputMaskTest, IsOfWhatWasWrittenAndNotRead) {
  const DevicePtr changed = kData + kPageSize + Bytes(5), unchanged = kOther + Bytes(7), also_read = kData + Bytes(8);
  for (DevicePtr byte : {changed, unchanged, also_read}) note(written_, byte) = std::byte{1};
  for (DevicePtr byte : {also_read, kData + Bytes(9)}) note(read_, byte) = std::byte{1};
  auto masked = mask();
  EXPECT_EQ(masked->size(), 2u);
  EXPECT_EQ(masked->blocks().size(), 2u);
  RestoredRun run = restored(*memory_);
  ASSERT_TRUE(masked->apply().ok());
  EXPECT_EQ(*at(changed), ~after_[kPageSize.count + 5]) << "the complement of what is expected, not of what was there";
  EXPECT_EQ(*at(unchanged), ~std::byte{9});
  EXPECT_EQ(*at(also_read), before_[8]);
  EXPECT_EQ(*at(kOther + Bytes(8)), std::byte{9});
  run_kernel();
  const CheckedRun check = checked(std::move(run));
  EXPECT_FALSE(check.equal) << "the kernel leaves one out";
  EXPECT_EQ(check.first, kOther);
}

TEST_P(OutputMaskTest, WhatTheRecordedKernelLeavesWrongIsTakenOut) {
  const DevicePtr right = kData + kPageSize + Bytes(5), wrong = kOther + Bytes(7);
  for (DevicePtr byte : {right, wrong}) note(written_, byte) = std::byte{1};
  auto masked = mask();
  {
    RestoredRun run = restored(*memory_);
    ASSERT_TRUE(masked->apply().ok());
    run_kernel();
    ASSERT_TRUE(masked->drop_wrong().ok());
  }
  EXPECT_EQ(masked->size(), 1u);
  ASSERT_EQ(masked->blocks().size(), 1u);
  EXPECT_EQ(masked->blocks().front().address, kData + kPageSize);
  RestoredRun run = restored(*memory_);
  ASSERT_TRUE(masked->apply().ok());
  run_kernel();
  EXPECT_TRUE(checked(std::move(run)).equal);
}

TEST_P(OutputMaskTest, IsEmptyWhereNothingIsOnlyWritten) {
  note(read_, kData) = std::byte{1};
  auto masked = mask();
  EXPECT_EQ(masked->size(), 0u);
  EXPECT_TRUE(masked->blocks().empty());
  RestoredRun run = restored(*memory_);
  ASSERT_TRUE(masked->apply().ok());
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
}

// Whole blocks and parts of some.
TEST_P(OutputMaskTest, IsTheSameWhenItIsDecoded) {
  for (uint64_t i = 0; i < 3 * kPageSize.count; ++i) note(written_, kData + Bytes(i)) = std::byte{1};
  for (DevicePtr byte : {kData + kPageSize + Bytes(17), kData + Bytes(5 * kPageSize.count)}) note(read_, byte) = std::byte{1};
  for (DevicePtr byte : {kData + Bytes(5 * kPageSize.count + 3), kOther + Bytes(7)}) note(written_, byte) = std::byte{1};
  const auto made = mask();
  const auto encoded = made->encode();
  ASSERT_TRUE(encoded.ok()) << encoded.status().to_string();
  EXPECT_LT(encoded->size(), 1000u);
  auto decoded = OutputMask::decode(*device_, *stream_, plan_, memory_->expected(), *encoded);
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  EXPECT_EQ((*decoded)->size(), made->size());
  EXPECT_EQ((*decoded)->size(), 3 * kPageSize.count + 1);
  EXPECT_EQ((*decoded)->blocks(), made->blocks());
  EXPECT_EQ(*(*decoded)->encode(), *encoded);
  restored(*memory_);
  ASSERT_TRUE(made->apply().ok());
  const ByteVector by_made = bytes_at(kData, before_.size());
  restored(*memory_);
  ASSERT_TRUE((*decoded)->apply().ok());
  EXPECT_EQ(bytes_at(kData, before_.size()), by_made);
}

TEST_P(OutputMaskTest, OfOtherMemoryIsNotDecoded) {
  note(written_, kOther + Bytes(7)) = std::byte{1};
  const ByteVector encoded = *mask()->encode();
  MemoryPlan other = plan_;
  for (MappedSpan& span : other.spans) span.address = span.address + 1_GiB;
  EXPECT_EQ(OutputMask::decode(*device_, *stream_, other, memory_->expected(), encoded).status().code(), Code::corrupt);
  for (size_t size = 0; size < encoded.size(); ++size) {
    const ByteSpan cut = ByteSpan(encoded).first(size);
    EXPECT_EQ(OutputMask::decode(*device_, *stream_, plan_, memory_->expected(), cut).status().code(), Code::corrupt) << size;
  }
}

// Two spans, of which the first is larger than a piece of the bits that are looked at together (8 MiB of memory).
class LargeOutputMask : public OutputMaskTest {
 protected:
  static constexpr Bytes kLarge = 20_MiB;
  static constexpr DevicePtr kFar = kData + 64_MiB;

  void SetUp() override {
    OnFakeDevice::SetUp();
    testing_store::MadeRecording made;
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = "none, with much memory";
    made.pointer("data", kData);
    const ByteVector large(kLarge.count, std::byte{7}), far(3 * kPageSize.count, std::byte{9});
    made.regions = {{Region::Kind::allocation, kData, "", large, large}, {Region::Kind::allocation, kFar, "", far, far}};
    publish(made);
    auto memory = prepare();
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    memory_ = std::move(*memory);
    written_ = zeros();
    read_ = zeros();
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, LargeOutputMask, testing::Values(1_GiB), [](const auto&) { return "Large"; });

TEST_P(LargeOutputMask, HasWhatLiesBehindTheFirstPieceAndTheFirstSpan) {
  const std::vector<DevicePtr> bytes = {kData + Bytes((8_MiB).count - 1), kData + 8_MiB, kData + 16_MiB + Bytes(5),
                                        kFar + kPageSize + Bytes(3)};
  for (DevicePtr byte : bytes) note(written_, byte) = std::byte{1};
  auto masked = mask();
  EXPECT_EQ(masked->size(), 4u);
  const DevicePtr last_of_piece = kData + Bytes((8_MiB).count - kBlock.count);
  const std::vector<MemoryRange> blocks = {
      {last_of_piece, kBlock + kBlock}, {kData + 16_MiB, kBlock}, {kFar + kPageSize, kBlock}};
  EXPECT_EQ(masked->blocks(), blocks);
  RestoredRun run = restored(*memory_);
  ASSERT_TRUE(masked->apply().ok());
  for (DevicePtr byte : bytes) EXPECT_EQ(*at(byte), byte < kFar ? ~std::byte{7} : ~std::byte{9}) << byte.address;
  EXPECT_EQ(*at(kFar + Bytes(3)), std::byte{9});
  EXPECT_EQ(checked(std::move(run)).first, last_of_piece);
}

}  // namespace
}  // namespace mneme
