// Memory of a made recording on the fake device, whose memory is this process's: what a kernel would do to it, the test does.
#include "mneme/replay/prepared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/device/fake/fake_device.h"
#include "mneme/replay/testing/made_recording.h"

namespace mneme {
namespace {

using testing_replay::MadeDatabase;
using testing_replay::MadeRecording;
using testing_replay::MadeRegion;

constexpr DevicePtr kData = kDefaultAddressSpaceBase;
constexpr DevicePtr kOther = kData + Bytes(16 * kPageSize.count);
constexpr uint64_t kPages = 12;  // of data, every second of which the kernel changes

class PreparedMemoryTest : public testing::TestWithParam<Bytes> {
 protected:
  void SetUp() override {
    DeviceProperties properties = fake::FakeDevice::default_properties();
    properties.total_memory = GetParam();
    device_ = std::make_unique<fake::FakeDevice>(properties);
    stream_ = std::move(device_->create_stream()).value();
    before_.resize(kPages * kPageSize.count);
    for (size_t i = 0; i < before_.size(); ++i) before_[i] = std::byte(i * 7 + i / 1000);
    after_ = before_;
    for (uint64_t page = 1; page < kPages; page += 2) after_[page * kPageSize.count + 5] ^= std::byte{0xff};
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = "none";
    made.pointer("data", kData);
    const ByteVector other(300, std::byte{9});
    made.regions = {{Region::Kind::allocation, kData, "", before_, after_}, {Region::Kind::allocation, kOther, "", other, other}};
    publish(made);
  }

  // What prepare() prepares from now on.
  void publish(const MadeRecording& made) {
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
  static bool equal_now(PreparedMemory& memory) {
    EXPECT_TRUE(memory.check_later({}).ok());
    auto checks = memory.take_checks();
    EXPECT_TRUE(checks.ok()) << checks.status().to_string();
    return checks.ok() && checks->back().equal;
  }

  MadeDatabase recordings_;
  std::unique_ptr<fake::FakeDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Database> database_;
  KernelRecord kernel_;
  InstanceRecord instance_;
  MemoryPlan plan_;
  ByteVector before_, after_;
};

// Room for all of the memory before, and for what changes only.
INSTANTIATE_TEST_SUITE_P(Devices, PreparedMemoryTest, testing::Values(1_GiB, 4_MiB),
                         [](const auto& info) { return info.param == 4_MiB ? "Small" : "Large"; });

TEST_P(PreparedMemoryTest, RestoresAndChecksAsOftenAsWanted) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE((*memory)->restore({}).ok());
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
    EXPECT_FALSE(equal_now(**memory)) << "the kernel has not run";
    run_kernel();
    auto verification = (*memory)->verify({}, {});
    ASSERT_TRUE(verification.ok()) << verification.status().to_string();
    EXPECT_TRUE(verification->right());
  }
}

TEST_P(PreparedMemoryTest, ARightRunCostsOneCopyAndOneCheck) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  (*memory)->distrust();
  ASSERT_TRUE((*memory)->restore({}).ok());
  (*memory)->trust();
  const size_t before = device_->calls().size();
  ASSERT_TRUE((*memory)->restore({}).ok());
  run_kernel();
  ASSERT_TRUE((*memory)->check_later({}).ok());
  ASSERT_TRUE((*memory)->restore({}).ok());
  run_kernel();
  ASSERT_TRUE((*memory)->check_later({}).ok());
  auto checks = (*memory)->take_checks();
  ASSERT_TRUE(checks.ok()) << checks.status().to_string();
  ASSERT_EQ(checks->size(), 2u);
  EXPECT_TRUE(checks->front().equal && checks->back().equal);
  auto calls = device_->calls();
  calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(calls, testing::ElementsAre("copy_listed", "hash_pages_to", "compare_later", "copy_listed", "hash_pages_to",
                                          "compare_later", "take_comparisons"));
}

TEST_P(PreparedMemoryTest, WhatIsWrongIsDescribedAndUndone) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  ASSERT_TRUE((*memory)->restore({}).ok());
  run_kernel();
  *at(kData + Bytes(2 * kPageSize.count + 3)) ^= std::byte{1};  // in a page that the kernel leaves alone
  *at(kData + Bytes(3 * kPageSize.count + 8)) ^= std::byte{1};  // in one that it changes
  *at(kOther + Bytes(300)) = std::byte{0};                      // behind an allocation
  ASSERT_TRUE((*memory)->check_later({}).ok());
  auto checks = (*memory)->take_checks();
  ASSERT_TRUE(checks.ok());
  EXPECT_FALSE(checks->back().equal);
  EXPECT_EQ(checks->back().first, kData + Bytes(2 * kPageSize.count));
  auto verification = (*memory)->judge(checks->back(), {}, {});
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  ASSERT_EQ(verification->mismatches.size(), 2u);
  EXPECT_EQ(verification->mismatches[0].where, "allocation 0x7a0000000000");
  EXPECT_EQ(verification->mismatches[0].differing_bytes, 2u);
  EXPECT_EQ(verification->mismatches[0].first_offset, 2 * kPageSize.count + 3);
  EXPECT_TRUE(verification->mismatches[1].outside);
  EXPECT_EQ(verification->mismatches[1].where, "0 B behind the end of allocation 0x7a0000100000");

  ASSERT_TRUE((*memory)->restore({}).ok());
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  EXPECT_EQ(*at(kOther + Bytes(300)), kSlack);
  run_kernel();
  EXPECT_TRUE(equal_now(**memory));
}

TEST_P(PreparedMemoryTest, TolerancesSpanWhatChangesAndWhatDoesNot) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  ASSERT_TRUE((*memory)->restore({}).ok());
  run_kernel();
  std::vector<ToleratedRange> tolerated = {
      {"data", 0, 0, Bytes(before_.size()), {ElementType::u8, 1, ErrorKind::absolute, Norm::none, NanPolicy::recorded}}};
  for (uint64_t page : {2, 3}) {
    std::byte& one = *at(kData + Bytes(page * kPageSize.count + 100));
    one = std::byte(std::to_integer<int>(one) == 255 ? 254 : std::to_integer<int>(one) + 1);
  }
  auto verification = (*memory)->verify({}, tolerated);
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  EXPECT_TRUE(verification->right());
  EXPECT_FALSE(verification->exact);
  ASSERT_EQ(verification->tolerances.size(), 1u);
  EXPECT_EQ(verification->tolerances[0].differences.worst, 1);
  ASSERT_TRUE((*memory)->restore({}).ok());
  EXPECT_EQ(bytes_at(kData, before_.size()), before_) << "also where the kernel changes nothing";
}

// Of an allocation only a part of which is compared by its bytes the offset is from its begin.
TEST_P(PreparedMemoryTest, WhatDiffersBehindAToleratedPartIsTold) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  ASSERT_TRUE((*memory)->restore({}).ok());
  run_kernel();
  const uint64_t place = kPageSize.count + 70;
  *at(kData + Bytes(place)) ^= std::byte{1};
  const std::vector<ToleratedRange> tolerated = {
      {"data", 0, 0, kPageSize, {ElementType::u8, 1, ErrorKind::absolute, Norm::none, NanPolicy::recorded}}};
  auto verification = (*memory)->verify({}, tolerated);
  ASSERT_TRUE(verification.ok()) << verification.status().to_string();
  ASSERT_EQ(verification->mismatches.size(), 1u);
  EXPECT_EQ(verification->mismatches[0].address, kData);
  EXPECT_EQ(verification->mismatches[0].first_offset, place);
}

TEST_P(PreparedMemoryTest, PoisonedMemoryIsPutBackToo) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_FALSE((*memory)->has_poisoned());
  ASSERT_TRUE((*memory)->restore({}).ok());
  ByteVector poisoned = before_;
  for (uint64_t place : {uint64_t{77}, 4 * kPageSize.count + 9}) poisoned[place] ^= std::byte{0xff};
  std::copy(poisoned.begin(), poisoned.end(), at(kData));
  ASSERT_TRUE((*memory)->keep_poisoned({{kData, kPageSize}, {kData + Bytes(4 * kPageSize.count), kPageSize}}, Bytes(2)).ok());
  EXPECT_EQ((*memory)->poisoned_bytes(), Bytes(2));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE((*memory)->restore({}, PreparedMemory::From::poisoned).ok());
    EXPECT_EQ(bytes_at(kData, before_.size()), poisoned);
    run_kernel();
    EXPECT_TRUE((*memory)->verify({}, {})->right());
    ASSERT_TRUE((*memory)->restore({}).ok());
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  }
}

// A kernel that works in place gives something else where it starts from what it left.
TEST_P(PreparedMemoryTest, PoisonedMemoryIsWholeAgainAfterEachRun) {
  for (const std::vector<MappedRun>& blocks : std::vector<std::vector<MappedRun>>{
           {{kData, kPageSize}, {kData + Bytes(4 * kPageSize.count), kPageSize}},
           {{kData, Bytes(5 * kPageSize.count)}},                         // around blocks that the kernel changes
           {{kData, Bytes(5 * kPageSize.count)}, {kData, kPageSize}}}) {  // and with one of its own in it
    auto memory = prepare();
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    ASSERT_TRUE((*memory)->restore({}).ok());
    ByteVector poisoned = before_;
    for (uint64_t place : {uint64_t{77}, 4 * kPageSize.count + 9}) poisoned[place] ^= std::byte{0xff};
    std::copy(poisoned.begin(), poisoned.end(), at(kData));
    ASSERT_TRUE((*memory)->keep_poisoned(blocks, Bytes(2)).ok());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE((*memory)->restore({}, PreparedMemory::From::poisoned).ok());
      EXPECT_EQ(bytes_at(kData, before_.size()), poisoned) << "run " << i;
      run_kernel();
      EXPECT_TRUE((*memory)->verify({}, {})->right());
    }
    ASSERT_TRUE((*memory)->restore({}).ok());
    run_kernel();
    EXPECT_TRUE(equal_now(**memory));
  }
}

TEST_P(PreparedMemoryTest, AddressesThatWereGivenUpAreFilledAgain) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  (*memory)->trust();
  (*memory)->give_addresses_up();
  ASSERT_TRUE(device_->reserve(kData, 2_MiB).ok());
  ASSERT_TRUE((*memory)->take_addresses().ok());
  ASSERT_TRUE((*memory)->restore({}).ok());
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  run_kernel();
  EXPECT_TRUE(equal_now(**memory));
}

TEST_P(PreparedMemoryTest, AnotherTakesTheCopiesOver) {
  RecordedCopies wanted;
  wanted.shareable = true;
  auto memory = prepare(std::move(wanted));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  ASSERT_TRUE((*memory)->restore({}).ok());
  *at(kData + Bytes(5)) ^= std::byte{0xff};
  ASSERT_TRUE((*memory)->keep_poisoned({{kData, kPageSize}}, Bytes(1)).ok());
  auto shared = (*memory)->share_copies("");
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  EXPECT_EQ(shared->descriptors.size(), 4u);
  (*memory)->distrust();
  ASSERT_TRUE((*memory)->restore({}).ok()) << "it works on with what it shares";
  run_kernel();
  EXPECT_TRUE(equal_now(**memory));
  memory->reset();

  auto copies = import_copies(*shared, *device_);
  ASSERT_TRUE(copies.ok()) << copies.status().to_string();
  database_ = std::make_unique<Database>(std::move(Database::open(recordings_.directory())).value());
  if (GetParam() == 1_GiB)  // all of it is there
    for (const auto& page : std::filesystem::recursive_directory_iterator(recordings_.directory() / "pages"))
      if (page.is_regular_file()) std::filesystem::resize_file(page.path(), 0);
  auto other = prepare(std::move(*copies));
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  ASSERT_TRUE((*other)->restore({}).ok());
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  run_kernel();
  EXPECT_TRUE(equal_now(**other));
  EXPECT_EQ((*other)->poisoned_bytes(), Bytes(1));
  ASSERT_TRUE((*other)->restore({}, PreparedMemory::From::poisoned).ok());
  EXPECT_NE(*at(kData + Bytes(5)), before_[5]);
}

TEST_P(PreparedMemoryTest, CopiesOfItsOwnAreNotShared) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  const Status status = (*memory)->share_copies("").status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("it was not made to be shared"), std::string::npos) << status.message();
  ASSERT_TRUE((*memory)->restore({}).ok());
}

TEST_P(PreparedMemoryTest, ResultsThatNobodyTookAreNotTheNextOnes) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  ASSERT_TRUE((*memory)->restore({}).ok());
  ASSERT_TRUE((*memory)->check_later({}).ok());
  (*memory)->forget_checks();
  run_kernel();
  EXPECT_TRUE(equal_now(**memory));
}

// Globals that the compiled code has at places of its own: one that the kernel writes, and one that it reads.
class PreparedGlobals : public PreparedMemoryTest {
 protected:
  void SetUp() override {
    PreparedMemoryTest::SetUp();
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = "none, with globals";
    made.kernel.globals = {{"read", read_.size(), 4, false, false, false}, {"written", written_.size(), 4, false, false, false}};
    made.pointer("data", kData);
    made.regions = {{Region::Kind::allocation, kData, "", before_, after_},
                    {Region::Kind::global, DevicePtr(0x7fff00000000), "read", read_, read_},
                    {Region::Kind::global, DevicePtr(0x7fff00001000), "written", written_, written_after_}};
    publish(made);
  }
  // The places in code that has these globals.
  Result<SymbolPlaces> places(const PreparedMemory& memory, const std::map<std::string, Bytes>& globals) {
    for (const auto& [name, size] : globals) MNEME_TRY(device_->define_global(name, size).status());
    MNEME_ASSIGN(module_, device_->load({DeviceKind::fake, {}}));
    return memory.places_in(*module_);
  }

  const ByteVector read_ = ByteVector(40, std::byte{3}), written_ = ByteVector(64, std::byte{0}),
                   written_after_ = ByteVector(64, std::byte{1});
  std::unique_ptr<Module> module_;
};

INSTANTIATE_TEST_SUITE_P(Devices, PreparedGlobals, testing::Values(1_GiB), [](const auto&) { return "Large"; });

TEST_P(PreparedGlobals, CodeMayHaveLostOnlyWhatCannotHaveChanged) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  Status status = places(**memory, {{"read", Bytes(read_.size())}}).status();
  EXPECT_EQ(status.code(), Code::not_found) << status.to_string();
  EXPECT_THAT(status.message(), testing::HasSubstr("looking up the recorded global 'written' in the compiled code"));
}

TEST_P(PreparedGlobals, WhatWasPoisonedIsNeededToo) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto without = places(**memory, {{"written", Bytes(written_.size())}});
  ASSERT_TRUE(without.ok()) << without.status().to_string();
  EXPECT_EQ(without->size(), 1u) << "the other is not in the code";
  // As if a kernel had written all of it: then code without it has not done so.
  ASSERT_TRUE((*memory)->poison_symbols({"read"}).ok());
  ASSERT_TRUE(stream_->copy_to_device(without->at("written"), read_).ok());
  ASSERT_TRUE((*memory)->keep_poisoned_symbols({"read"}, {{"read", without->at("written")}}).ok());
  EXPECT_EQ((*memory)->poisoned_bytes(), Bytes(read_.size()));
  Status status = (*memory)->places_in(*module_).status();
  EXPECT_EQ(status.code(), Code::not_found) << status.to_string();
  EXPECT_THAT(status.message(), testing::HasSubstr("looking up the recorded global 'read' in the compiled code"));
}

TEST_P(PreparedGlobals, AnotherSizeIsAnotherGlobal) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  Status status = places(**memory, {{"read", Bytes(read_.size() + 1)}, {"written", Bytes(written_.size())}}).status();
  EXPECT_EQ(status.to_string(), "incompatible: the recorded global 'read' has 40 B, and 41 B in the compiled code");
}

TEST_P(PreparedGlobals, TheFirstThatDiffersIsNamed) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto symbols = places(**memory, {{"read", Bytes(read_.size())}, {"written", Bytes(written_.size())}});
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  auto first_wrong = [&](bool data, const ByteVector& read, const ByteVector& written) -> DevicePtr {
    EXPECT_TRUE((*memory)->restore(*symbols).ok());
    if (data) run_kernel();
    EXPECT_TRUE(stream_->copy_to_device(symbols->at("read"), read).ok());
    EXPECT_TRUE(stream_->copy_to_device(symbols->at("written"), written).ok());
    EXPECT_TRUE((*memory)->check_later(*symbols).ok());
    auto checks = (*memory)->take_checks();
    EXPECT_TRUE(checks.ok() && checks->size() == 1u);
    EXPECT_EQ(checks->back().equal, checks->back().first == DevicePtr());
    return checks->back().first;
  };
  const ByteVector wrong(read_.size(), std::byte{4});
  EXPECT_EQ(first_wrong(true, read_, written_after_), DevicePtr());
  EXPECT_EQ(first_wrong(true, read_, written_), symbols->at("written"));
  EXPECT_EQ(first_wrong(true, wrong, written_), symbols->at("read"));
  EXPECT_EQ(first_wrong(false, wrong, written_), kData + kPageSize) << "the first page that the kernel changes";
}

TEST(CopySizes, WhatDoesNotFitIsRefusedWithFigures) {
  MemoryPlan plan;
  PlannedRegion region;
  region.prologue = region.epilogue = {Region::Kind::allocation, kData, 2_MiB, "", {}};
  region.changed = {{0, 1_MiB}};
  plan.regions = {region};
  map_spans(plan, 2_MiB);
  DeviceProperties device;
  device.name = "a small one";
  device.total_memory = 3_MiB;
  EXPECT_EQ(
      plan_copies(plan, device).status().to_string(),
      "exhausted: a replay holds the recorded memory (2.00 MiB) and twice what the kernel changes of it (1.00 MiB), 4.00 MiB "
      "in all, and a small one has 3.00 MiB; record a smaller problem, or replay on a device with more memory");
  device.total_memory = 5_MiB;
  EXPECT_FALSE(plan_copies(plan, device)->all_before);
  device.total_memory = 7_MiB;
  EXPECT_TRUE(plan_copies(plan, device)->all_before);
}

}  // namespace
}  // namespace mneme
