// Trimming a recording made by hand, on the CPU device: what is dropped, what is not, and when nothing is.
#include "mneme/replay/trim.h"

#include <gmock/gmock.h>

#include "mneme/cpu/run/cpu_device.h"
#include "mneme/replay/session.h"
#include "mneme/replay/testing/made_recording.h"
#include "mneme/store/trim.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing_replay::MadeDatabase;
using testing_replay::MadeRecording;

constexpr uint32_t kInts = 5 * kPageSize.count / sizeof(int);
constexpr DevicePtr kData = kDefaultAddressSpaceBase;

// Reads an element of the second page, through a pointer where `at` is not empty, and writes the fourth.
std::string copy_ir(const std::string& before = "") {
  return R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @copy(ptr %p) {
  %from = getelementptr i32, ptr %p, i64 20000
  %v = load i32, ptr %from
  %r = add i32 %v, 1
)" + before +
         R"(
  %to = getelementptr i32, ptr %p, i64 60000
  store i32 %r, ptr %to
  ret void
}
)";
}

MadeRecording made(const std::string& ir = copy_ir()) {
  MadeRecording recording;
  recording.kernel.name = recording.kernel.demangled = "copy";
  recording.ir = ir;
  recording.grid = recording.block = {1, 1, 1};
  recording.pointer("p", kData);
  std::vector<int> before(kInts);
  for (uint32_t i = 0; i < kInts; ++i) before[i] = static_cast<int>(i * 2654435761u);
  std::vector<int> after = before;
  after[60000] = before[20000] + 1;
  recording.regions = {{Region::Kind::allocation, kData, "", testing_replay::bytes_of(before), testing_replay::bytes_of(after)}};
  return recording;
}

class TrimLaunch : public testing::Test {
 protected:
  Result<Trimmed> trim_made(const MadeRecording& recording, Deed deed = Deed::remove) {
    MNEME_ASSIGN(instance_, made_.publish(recording));
    return trim(deed);
  }
  Result<Trimmed> trim(Deed deed) {
    MNEME_ASSIGN(Database database, Database::create(made_.directory()));
    return mneme::trim(database, instance_.static_hash, instance_.dynamic_hash, *device_, deed);
  }
  Database open() const { return std::move(*Database::open(made_.directory())); }

  MadeDatabase made_;
  std::unique_ptr<Device> device_ = *Device::open(DeviceKind::cpu);
  InstanceRecord instance_;
};

TEST_F(TrimLaunch, DropsWhatTheLaunchDoesNotTouch) {
  const auto trimmed = trim_made(made());
  ASSERT_TRUE(trimmed.ok()) << trimmed.status().to_string();
  EXPECT_EQ(trimmed->pages, 3u);
  EXPECT_EQ(trimmed->all_pages, 5u);
  EXPECT_EQ(trimmed->bytes, Bytes(3 * kPageSize.count));
  EXPECT_LT(trimmed->stored_now + Bytes(2 * kPageSize.count), trimmed->stored);
  const KernelDocument document = *open().load_document(instance_.static_hash);
  ASSERT_EQ(document.instances.size(), 1u);
  EXPECT_EQ(document.instances[0].dynamic_hash, trimmed->after);
  EXPECT_TRUE(open().check_all(Deed::tell)->sound());
  const auto again = trim(Deed::remove);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->pages, 0u);
  EXPECT_EQ(again->before, again->after);
}

TEST_F(TrimLaunch, TellingChangesNothing) {
  const auto trimmed = trim_made(made(), Deed::tell);
  ASSERT_TRUE(trimmed.ok()) << trimmed.status().to_string();
  EXPECT_EQ(trimmed->pages, 3u);
  EXPECT_LT(trimmed->stored_now, trimmed->stored);
  EXPECT_EQ(open().load_document(instance_.static_hash)->instances[0].dynamic_hash, instance_.dynamic_hash);
  EXPECT_TRUE(open().check_all(Deed::tell)->sound());
}

// Also one that clears it, or writes what stood there before it was dropped.
TEST_F(TrimLaunch, CodeThatWritesIntoADroppedPageIsWrong) {
  ASSERT_TRUE(trim_made(made()).ok());
  const Database database = open();
  const auto session = Session::prepare(database, instance_.static_hash, instance_.dynamic_hash, *device_);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE((*session)->replay({}).verified);
  const Path file = made_.directory() / "wrong.ll";
  std::ofstream(file) << copy_ir("  %wrong = getelementptr i32, ptr %p, i64 3\n  store i32 0, ptr %wrong\n");
  Configuration configuration;
  configuration.ir.path = file.string();
  const ReplayResult wrong = (*session)->replay(configuration);
  EXPECT_TRUE(wrong.failure.ok()) << wrong.failure.to_string();
  EXPECT_FALSE(wrong.verified);
}

TEST_F(TrimLaunch, WhatIsNotVerifiedIsLeft) {
  MadeRecording wrong = made();
  wrong.regions[0].after[4] ^= std::byte{1};
  const auto trimmed = trim_made(wrong);
  EXPECT_EQ(trimmed.status().code(), Code::unsupported);
  EXPECT_THAT(trimmed.status().message(), HasSubstr("the launch as it is is not verified: "));
  EXPECT_EQ(open().load_document(instance_.static_hash)->instances[0].dynamic_hash, instance_.dynamic_hash);
}

TEST_F(TrimLaunch, WhereAccessesCannotBeFollowedItIsLeft) {
  const auto trimmed = trim_made(made(copy_ir(R"(  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(ptr %p)
)")));
  EXPECT_FALSE(trimmed.ok());
  EXPECT_EQ(open().load_document(instance_.static_hash)->instances[0].dynamic_hash, instance_.dynamic_hash);
}

}  // namespace
}  // namespace mneme
