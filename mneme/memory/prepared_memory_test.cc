#include "mneme/memory/prepared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "mneme/base/activity.h"
#include "mneme/device/host_mapping.h"
#include "mneme/memory/testing/on_fake_device.h"

namespace mneme {
namespace {

using testing_memory::kData;
using testing_memory::kOther;
using testing_memory::kPages;
using testing_store::MadeRecording;

class PreparedMemoryTest : public testing_memory::OnFakeDevice {};

// Room for all of the memory before, and for what changes only.
INSTANTIATE_TEST_SUITE_P(Devices, PreparedMemoryTest, testing::Values(1_GiB, 4_MiB),
                         [](const auto& info) { return info.param == 4_MiB ? "Small" : "Large"; });

TEST_P(PreparedMemoryTest, RestoresAndChecksAsOftenAsWanted) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  for (int i = 0; i < 3; ++i) {
    RestoredRun nothing = restored(**memory);
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
    EXPECT_FALSE(checked(std::move(nothing)).equal) << "the kernel has not run";
    RestoredRun run = restored(**memory);
    run_kernel();
    EXPECT_TRUE(checked(std::move(run)).equal);
  }
}

TEST_P(PreparedMemoryTest, WhatWasTakenOfTheDeviceIsGivenBack) {
  {
    auto memory = prepare();
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  }
  EXPECT_GT(count("allocate"), 0u);
  EXPECT_EQ(count("free"), count("allocate"));
}

TEST_P(PreparedMemoryTest, ARightRunCostsOneCopyAndOneCheck) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun begin = restored(**memory);
  run_kernel();
  ASSERT_TRUE(checked(std::move(begin)).equal);
  const size_t before = device_->calls().size();
  for (int i = 0; i < 2; ++i) {
    RestoredRun run = restored(**memory);
    run_kernel();
    ASSERT_TRUE(std::move(run).check_later().ok());
  }
  auto checks = (*memory)->take_checks();
  ASSERT_TRUE(checks.ok()) << checks.status().to_string();
  ASSERT_EQ(checks->size(), 2u);
  EXPECT_TRUE(checks->front().equal && checks->back().equal);
  auto calls = device_->calls();
  calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(calls, testing::ElementsAre("copy_listed", "hash_pages_to", "compare_later", "copy_listed", "hash_pages_to",
                                          "compare_later", "take_comparisons"));
}

TEST_P(PreparedMemoryTest, WhatIsRestoredAheadIsNotRestoredAgain) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  const size_t prepared = device_->calls().size();
  ASSERT_TRUE((*memory)->restore_ahead(StartState::recorded).ok());
  EXPECT_EQ(device_->calls().size(), prepared) << "memory is untrusted as yet";
  for (int i = 0; i < 3; ++i) {
    RestoredRun run = restored(**memory);
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
    run_kernel();
    ASSERT_TRUE(std::move(run).check_later().ok());
    ASSERT_TRUE((*memory)->restore_ahead(StartState::recorded).ok());
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
    auto checks = (*memory)->take_checks();
    ASSERT_TRUE(checks.ok() && checks->size() == 1);
    EXPECT_TRUE(checks->front().equal) << "the check was before";
    const size_t calls = device_->calls().size();
    RestoredRun next = restored(**memory);
    EXPECT_EQ(device_->calls().size(), calls);
    // Only once: a run that is made now is put back.
    run_kernel();
    EXPECT_TRUE(next.restore_again().ok());
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
    run_kernel();
    EXPECT_TRUE(checked(std::move(next)).equal);
  }
}

TEST_P(PreparedMemoryTest, WhatIsRestoredAheadBehindAWrongRunIsNotTrusted) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  for (int i = 0; i < 2; ++i) {
    RestoredRun run = restored(**memory);
    run_kernel();
    EXPECT_EQ(*at(kOther), std::byte{9});
    *at(kOther) = std::byte{8};
    ASSERT_TRUE(std::move(run).check_later().ok());
    ASSERT_TRUE((*memory)->restore_ahead(StartState::recorded).ok());
    auto checks = (*memory)->take_checks();
    ASSERT_TRUE(checks.ok() && checks->size() == 1);
    EXPECT_FALSE(checks->front().equal);
    EXPECT_FALSE((*memory)->trusted());
    RestoredRun next = restored(**memory);
    EXPECT_EQ(*at(kOther), std::byte{9});
    run_kernel();
    EXPECT_TRUE(checked(std::move(next)).equal);
  }
  // Nor is what could not be restored.
  device_->set_failures([](std::string_view call) { return call == "copy_listed" ? error(Code::io, "scripted") : Status(); });
  EXPECT_EQ((*memory)->restore_ahead(StartState::recorded).to_string(), "io: scripted");
  device_->set_failures({});
  EXPECT_FALSE((*memory)->trusted());
  RestoredRun run = restored(**memory);
  run_kernel();
  EXPECT_TRUE(checked(std::move(run)).equal);
}

TEST_P(PreparedMemoryTest, WhatIsRestoredAheadForAnotherStartIsPutBack) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  restored(**memory);
  ByteVector masked = before_;
  masked[4 * kPageSize.count + 9] ^= std::byte{0xff};  // where the kernel changes nothing
  std::copy(masked.begin(), masked.end(), at(kData));
  ASSERT_TRUE((*memory)->keep_masked({{kData + Bytes(4 * kPageSize.count), kPageSize}}, Bytes(1)).ok());
  const std::pair<StartState, ByteVector> starts[] = {{StartState::recorded, before_}, {StartState::masked, masked}};
  for (const auto& [ahead, of_ahead] : starts) {
    for (const auto& [start, of_start] : starts) {
      RestoredRun run = restored(**memory);
      run_kernel();
      EXPECT_TRUE(checked(std::move(run)).equal);
      ASSERT_TRUE((*memory)->restore_ahead(ahead).ok());
      EXPECT_EQ(bytes_at(kData, before_.size()), of_ahead);
      RestoredRun next = restored(**memory, start);
      EXPECT_EQ(bytes_at(kData, before_.size()), of_start);
      run_kernel();
      EXPECT_TRUE(checked(std::move(next)).equal);
    }
  }
}

TEST_P(PreparedMemoryTest, MaskedMemoryIsPutBackToo) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_FALSE((*memory)->has_masked());
  restored(**memory);
  ByteVector masked = before_;
  for (uint64_t place : {uint64_t{77}, 4 * kPageSize.count + 9}) masked[place] ^= std::byte{0xff};
  std::copy(masked.begin(), masked.end(), at(kData));
  ASSERT_TRUE((*memory)->keep_masked({{kData, kPageSize}, {kData + Bytes(4 * kPageSize.count), kPageSize}}, Bytes(2)).ok());
  EXPECT_EQ((*memory)->masked_bytes(), Bytes(2));
  ASSERT_TRUE((*memory)->keep_masked({{kData, kPageSize}, {kData + Bytes(4 * kPageSize.count), kPageSize}}, Bytes(2)).ok());
  EXPECT_EQ((*memory)->masked_bytes(), Bytes(2)) << "in place of what was kept before";
  for (int i = 0; i < 2; ++i) {
    RestoredRun run = restored(**memory, StartState::masked);
    EXPECT_EQ(bytes_at(kData, before_.size()), masked);
    run_kernel();
    EXPECT_TRUE(checked(std::move(run)).equal);
    restored(**memory);
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  }
  // It can be read page by page; a failure of whoever gets the pages ends that.
  std::set<size_t> pages;
  const auto see = [&](size_t region, size_t page, ByteSpan content) {
    EXPECT_EQ(region, 0u);
    EXPECT_TRUE(std::ranges::equal(content, ByteSpan(masked).subspan(page * kPageSize.count, kPageSize.count))) << page;
    pages.insert(page);
    return Status();
  };
  ASSERT_TRUE((*memory)->read_masked(see).ok());
  EXPECT_TRUE(pages.contains(0) && pages.contains(4));
  EXPECT_FALSE((*memory)->trusted());
  const auto refuse = [](size_t, size_t, ByteSpan) { return error(Code::exhausted, "full"); };
  EXPECT_EQ((*memory)->read_masked(refuse).code(), Code::exhausted);
}

// A kernel that works in place gives something else where it starts from what it left.
TEST_P(PreparedMemoryTest, MaskedMemoryIsWholeAgainAfterEachRun) {
  for (const std::vector<MemoryRange>& blocks : std::vector<std::vector<MemoryRange>>{
           {{kData, kPageSize}, {kData + Bytes(4 * kPageSize.count), kPageSize}},
           {{kData, Bytes(5 * kPageSize.count)}},                         // around blocks that the kernel changes
           {{kData, Bytes(5 * kPageSize.count)}, {kData, kPageSize}}}) {  // and with one of its own in it
    auto memory = prepare();
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    restored(**memory);
    ByteVector masked = before_;
    for (uint64_t place : {uint64_t{77}, 4 * kPageSize.count + 9}) masked[place] ^= std::byte{0xff};
    std::copy(masked.begin(), masked.end(), at(kData));
    ASSERT_TRUE((*memory)->keep_masked(blocks, Bytes(2)).ok());
    for (int i = 0; i < 3; ++i) {
      RestoredRun run = restored(**memory, StartState::masked);
      EXPECT_EQ(bytes_at(kData, before_.size()), masked) << "run " << i;
      run_kernel();
      EXPECT_TRUE(checked(std::move(run)).equal);
    }
    RestoredRun run = restored(**memory);
    run_kernel();
    EXPECT_TRUE(checked(std::move(run)).equal);
  }
}

TEST_P(PreparedMemoryTest, AddressesThatWereGivenUpAreFilledAgain) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun before = restored(**memory);
  run_kernel();
  ASSERT_TRUE(checked(std::move(before)).equal);
  EXPECT_TRUE((*memory)->trusted());
  (*memory)->give_addresses_up();
  ASSERT_TRUE(device_->reserve(kData, 2_MiB).ok());
  ASSERT_TRUE((*memory)->take_addresses().ok());
  EXPECT_FALSE((*memory)->trusted());
  RestoredRun run = restored(**memory);
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  run_kernel();
  EXPECT_TRUE(checked(std::move(run)).equal);
}

TEST_P(PreparedMemoryTest, AnotherTakesTheCopiesOver) {
  RecordedCopies wanted;
  wanted.shareable = true;
  auto memory = prepare(std::move(wanted));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  restored(**memory);
  *at(kData + Bytes(5)) ^= std::byte{0xff};
  ASSERT_TRUE((*memory)->keep_masked({{kData, kPageSize}}, Bytes(1)).ok());
  auto shared = (*memory)->share_copies("");
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  EXPECT_EQ(shared->descriptors.size(), 4u);
  {
    RestoredRun run = restored(**memory);  // it works on with what it shares
    run_kernel();
    EXPECT_TRUE(checked(std::move(run)).equal);
  }
  memory->reset();

  auto copies = import_copies(*shared, *device_);
  ASSERT_TRUE(copies.ok()) << copies.status().to_string();
  database_ = std::make_unique<Database>(std::move(Database::open(recordings_.directory())).value());
  if (GetParam() == 1_GiB)  // all of it is there
    for (const auto& page : std::filesystem::recursive_directory_iterator(recordings_.directory() / "pages"))
      if (page.is_regular_file()) std::filesystem::resize_file(page.path(), 0);
  auto other = prepare(std::move(*copies));
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  RestoredRun run = restored(**other);
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  run_kernel();
  EXPECT_TRUE(checked(std::move(run)).equal);
  EXPECT_EQ((*other)->masked_bytes(), Bytes(1));
  restored(**other, StartState::masked);
  EXPECT_NE(*at(kData + Bytes(5)), before_[5]);
}

// Who takes them over reads them at once.
TEST_P(PreparedMemoryTest, CopiesAreWholeBeforeTheyAreShared) {
  RecordedCopies wanted;
  wanted.shareable = true;
  auto memory = prepare(std::move(wanted));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  restored(**memory);
  *at(kData + Bytes(5)) ^= std::byte{0xff};
  ASSERT_TRUE((*memory)->keep_masked({{kData, kPageSize}}, Bytes(1)).ok());
  const size_t before = device_->calls().size();
  ASSERT_TRUE((*memory)->share_copies("").ok());
  const auto calls = device_->calls();
  ASSERT_GT(calls.size(), before);
  EXPECT_EQ(calls[before], "synchronize");
}

TEST_P(PreparedMemoryTest, CopiesOfItsOwnAreNotShared) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  const Status status = (*memory)->share_copies("").status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("it was not made to be shared"), std::string::npos) << status.message();
  restored(**memory);
}

TEST_P(PreparedMemoryTest, ResultsThatNobodyTookAreNotTheNextOnes) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  RestoredRun forgotten = restored(**memory);
  ASSERT_TRUE(std::move(forgotten).check_later().ok());
  (*memory)->forget_checks();
  RestoredRun run = restored(**memory);
  run_kernel();
  EXPECT_TRUE(checked(std::move(run)).equal);
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

TEST_P(PreparedGlobals, OneThatTheCodeHasNoMoreDiffersNowhere) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto symbols = places(**memory, {{"written", Bytes(written_.size())}});
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  restored(**memory, StartState::recorded, *symbols);
  auto seen = (*memory)->observe(*symbols);
  ASSERT_TRUE(seen.ok()) << seen.status().to_string();
  for (size_t region : {0, 2}) EXPECT_TRUE(seen->has(region)) << region;
  EXPECT_EQ(seen->address(0), kData);
  EXPECT_EQ(seen->address(2), symbols->at("written")) << "not where it was recorded";
  EXPECT_EQ(seen->compare_bytes(2, 0, Bytes(8))->differing_bytes, 8u);
  EXPECT_FALSE(seen->has(1));
  EXPECT_EQ(seen->compare_bytes(1, 0, Bytes(8))->differing_bytes, 0u);
  EXPECT_EQ(seen->compare_elements(1, 0, Bytes(8), {.type = ElementType::u8})->failing, 0u);
  EXPECT_EQ(*seen->digest(1, 0, Bytes(8)), Digest());
  EXPECT_TRUE(seen->read(1, 0, Bytes(8), [](const MemoryPiece&) { return error(Code::internal, "there is nothing"); }).ok());
}

TEST_P(PreparedGlobals, WhatWasMaskedIsNeededToo) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto without = places(**memory, {{"written", Bytes(written_.size())}});
  ASSERT_TRUE(without.ok()) << without.status().to_string();
  EXPECT_EQ(without->size(), 1u) << "the other is not in the code";
  // As if a kernel had written all of it: then code without it has not done so.
  ASSERT_TRUE((*memory)->mask_symbols({"read"}).ok());
  ASSERT_TRUE(stream_->copy_to_device(without->at("written"), read_).ok());
  ASSERT_TRUE((*memory)->keep_masked_symbols({"read"}, {{"read", without->at("written")}}).ok());
  EXPECT_EQ((*memory)->masked_bytes(), Bytes(read_.size()));
  Status status = (*memory)->places_in(*module_).status();
  EXPECT_EQ(status.code(), Code::not_found) << status.to_string();
  EXPECT_THAT(status.message(), testing::HasSubstr("looking up the recorded global 'read' in the compiled code"));
}

TEST_P(PreparedGlobals, WhatWasMaskedIsNeededByWhoTakesTheCopiesOverToo) {
  RecordedCopies wanted;
  wanted.shareable = true;
  auto memory = prepare(std::move(wanted));
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto without = places(**memory, {{"written", Bytes(written_.size())}});
  ASSERT_TRUE(without.ok()) << without.status().to_string();
  ASSERT_TRUE((*memory)->mask_symbols({"read"}).ok());
  ASSERT_TRUE(stream_->copy_to_device(without->at("written"), read_).ok());
  ASSERT_TRUE((*memory)->keep_masked_symbols({"read"}, {{"read", without->at("written")}}).ok());
  auto shared = (*memory)->share_copies("");
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  memory->reset();
  auto copies = import_copies(*shared, *device_);
  ASSERT_TRUE(copies.ok()) << copies.status().to_string();
  auto other = prepare(std::move(*copies));
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  EXPECT_EQ((*other)->masked_bytes(), Bytes(read_.size()));
  EXPECT_EQ((*other)->places_in(*module_).status().code(), Code::not_found);
  ASSERT_TRUE(device_->define_global("read", Bytes(read_.size())).ok());
  module_ = std::move(device_->load({DeviceKind::fake, {}})).value();
  auto symbols = (*other)->places_in(*module_);
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  restored(**other, StartState::masked, *symbols);
  EXPECT_EQ(bytes_at(symbols->at("read"), read_.size()), ByteVector(read_.size(), ~read_[0]));
  EXPECT_EQ(bytes_at(symbols->at("written"), written_.size()), written_);
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
    RestoredRun run = restored(**memory, StartState::recorded, *symbols);
    if (data) run_kernel();
    EXPECT_TRUE(stream_->copy_to_device(symbols->at("read"), read).ok());
    EXPECT_TRUE(stream_->copy_to_device(symbols->at("written"), written).ok());
    const CheckedRun check = checked(std::move(run));
    EXPECT_EQ(check.equal, check.first == DevicePtr());
    return check.first;
  };
  const ByteVector wrong(read_.size(), std::byte{4});
  EXPECT_EQ(first_wrong(true, read_, written_after_), DevicePtr());
  EXPECT_EQ(first_wrong(true, read_, written_), symbols->at("written"));
  EXPECT_EQ(first_wrong(true, wrong, written_), symbols->at("read"));
  EXPECT_EQ(first_wrong(false, wrong, written_), kData + kPageSize) << "the first page that the kernel changes";
}

TEST_P(PreparedGlobals, EachHasItsOwnPlaceInWhatIsMasked) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto symbols = places(**memory, {{"read", Bytes(read_.size())}, {"written", Bytes(written_.size())}});
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  ASSERT_TRUE((*memory)->mask_symbols({"written"}).ok());
  const auto start = [&](StartState state) {
    restored(**memory, state, *symbols);
    return std::pair(bytes_at(symbols->at("read"), read_.size()), bytes_at(symbols->at("written"), written_.size()));
  };
  EXPECT_EQ(start(StartState::masked), std::pair(read_, ByteVector(written_.size(), ~std::byte{1})));
  EXPECT_EQ(start(StartState::recorded), std::pair(read_, written_));
  for (const StartState state : {StartState::recorded, StartState::masked}) {
    auto seen = (*memory)->observe(*symbols, state);
    ASSERT_TRUE(seen.ok()) << seen.status().to_string();
    const auto see = [&](const MemoryPiece& piece) {
      EXPECT_EQ(piece.started.empty(), state == StartState::recorded);
      return Status();
    };
    EXPECT_TRUE(seen->read(2, 0, Bytes(written_.size()), see).ok());
  }
}

TEST_P(PreparedGlobals, BeginAsRecordedWhereOnlyOtherMemoryIsMasked) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto symbols = places(**memory, {{"read", Bytes(read_.size())}, {"written", Bytes(written_.size())}});
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  restored(**memory, StartState::recorded, *symbols);
  *at(kData + Bytes(77)) ^= std::byte{0xff};
  ASSERT_TRUE((*memory)->keep_masked({{kData, kPageSize}}, Bytes(1)).ok());
  ASSERT_TRUE(stream_->fill(symbols->at("written"), std::byte{7}, Bytes(written_.size())).ok());
  restored(**memory, StartState::masked, *symbols);
  EXPECT_NE(*at(kData + Bytes(77)), before_[77]);
  EXPECT_EQ(bytes_at(symbols->at("read"), read_.size()), read_);
  EXPECT_EQ(bytes_at(symbols->at("written"), written_.size()), written_);
  auto seen = (*memory)->observe(*symbols, StartState::masked);
  ASSERT_TRUE(seen.ok()) << seen.status().to_string();
  const auto see = [](const MemoryPiece& piece) {
    EXPECT_TRUE(piece.started.empty());
    return Status();
  };
  EXPECT_TRUE(seen->read(2, 0, Bytes(written_.size()), see).ok());
}

TEST_P(PreparedGlobals, OnlyWhatWasMaskedIsNotAsBeforeTheLaunch) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto symbols = places(**memory, {{"read", Bytes(read_.size())}, {"written", Bytes(written_.size())}});
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  const auto start = [&] {
    restored(**memory, StartState::masked, *symbols);
    return std::pair(bytes_at(symbols->at("read"), read_.size()), bytes_at(symbols->at("written"), written_.size()));
  };
  ASSERT_TRUE((*memory)->mask_symbols({"read"}).ok());
  EXPECT_EQ(start(), std::pair(ByteVector(read_.size(), ~read_[0]), written_));
  (*memory)->forget_masked_symbols();

  ASSERT_TRUE((*memory)->mask_symbols({"written"}).ok());
  ByteVector left = written_after_, masked(written_.size(), ~written_after_[0]);
  std::fill_n(left.begin(), 32, std::byte{7});  // the kernel has not written these
  std::fill_n(masked.begin(), 32, written_[0]);
  ASSERT_TRUE(stream_->copy_to_device(symbols->at("written"), left).ok());
  ASSERT_TRUE((*memory)->keep_masked_symbols({"written"}, *symbols).ok());
  EXPECT_EQ((*memory)->masked_bytes(), Bytes(32));
  EXPECT_EQ(start(), std::pair(read_, masked));
  int pages = 0;
  const auto see_page = [&](size_t region, size_t page, ByteSpan content) {
    EXPECT_EQ(std::pair(region, page), std::pair(size_t{2}, size_t{0}));
    EXPECT_TRUE(std::ranges::equal(content, masked));
    ++pages;
    return Status();
  };
  ASSERT_TRUE((*memory)->read_masked(see_page).ok());
  EXPECT_EQ(pages, 1);

  // A part of one is compared and read alone.
  ASSERT_TRUE(stream_->copy_to_device(symbols->at("written"), left).ok());
  auto seen = (*memory)->observe(*symbols, StartState::masked);
  ASSERT_TRUE(seen.ok()) << seen.status().to_string();
  const ElementComparison bytes{.type = ElementType::u8};
  EXPECT_EQ(seen->compare_bytes(2, 24, Bytes(16))->differing_bytes, 8u);
  EXPECT_EQ(seen->compare_elements(2, 24, Bytes(16), bytes)->failing, 8u);
  EXPECT_EQ(seen->compare_elements(2, 32, Bytes(32), bytes)->failing, 0u);
  EXPECT_EQ(*seen->digest(2, 32, Bytes(16)), *seen->digest(2, 48, Bytes(16)));
  EXPECT_NE(*seen->digest(2, 16, Bytes(16)), *seen->digest(2, 32, Bytes(16)));
  const auto see = [&](const MemoryPiece& piece) {
    EXPECT_EQ(piece.offset, 24u);
    EXPECT_TRUE(std::equal(piece.actual.begin(), piece.actual.end(), left.begin() + 24, left.begin() + 40));
    EXPECT_TRUE(std::equal(piece.recorded.begin(), piece.recorded.end(), written_after_.begin(), written_after_.begin() + 16));
    EXPECT_TRUE(std::equal(piece.started.begin(), piece.started.end(), masked.begin() + 24, masked.begin() + 40));
    return Status();
  };
  EXPECT_TRUE(seen->read(2, 24, Bytes(16), see).ok());

  // Where the kernel has written none of it nothing is masked.
  (*memory)->forget_masked_symbols();
  ASSERT_TRUE((*memory)->mask_symbols({"written"}).ok());
  ASSERT_TRUE(stream_->fill(symbols->at("written"), std::byte{7}, Bytes(written_.size())).ok());
  ASSERT_TRUE((*memory)->keep_masked_symbols({"written"}, *symbols).ok());
  EXPECT_FALSE((*memory)->has_masked());
  EXPECT_EQ((*memory)->masked_bytes(), Bytes());
}

TEST_P(PreparedGlobals, WhatIsMaskedNoMoreIsNeededNoMore) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto without = places(**memory, {{"written", Bytes(written_.size())}});
  ASSERT_TRUE(without.ok()) << without.status().to_string();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE((*memory)->mask_symbols({"read"}).ok());
    ASSERT_TRUE(stream_->copy_to_device(without->at("written"), read_).ok());
    ASSERT_TRUE((*memory)->keep_masked_symbols({"read"}, {{"read", without->at("written")}}).ok());
    EXPECT_EQ((*memory)->masked_bytes(), Bytes(read_.size()));
    EXPECT_FALSE((*memory)->places_in(*module_).ok());
    (*memory)->forget_masked_symbols();
    EXPECT_EQ((*memory)->masked_bytes(), Bytes());
    EXPECT_TRUE((*memory)->places_in(*module_).ok());
  }
}

TEST_P(PreparedGlobals, AreReadThroughTheCacheToo) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto symbols = places(**memory, {{"read", Bytes(read_.size())}, {"written", Bytes(written_.size())}});
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  const Status read = (*memory)->read_through(*symbols);
  ASSERT_TRUE(read.ok()) << read.to_string();
  EXPECT_EQ(count("read_through"), 3u) << "the allocation and the two";
}

// Each code has its own.
TEST_P(PreparedGlobals, AreRestoredAlsoWhereMemoryIsAhead) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  auto symbols = places(**memory, {{"read", Bytes(read_.size())}, {"written", Bytes(written_.size())}});
  ASSERT_TRUE(symbols.ok()) << symbols.status().to_string();
  RestoredRun run = restored(**memory, StartState::recorded, *symbols);
  const ByteVector begin = bytes_at(symbols->at("written"), written_.size());
  run_kernel();
  ASSERT_TRUE(stream_->copy_to_device(symbols->at("written"), written_after_).ok());
  ASSERT_TRUE(std::move(run).check_later().ok());
  ASSERT_TRUE((*memory)->restore_ahead(StartState::recorded).ok());
  EXPECT_EQ(bytes_at(symbols->at("written"), written_.size()), written_after_);
  auto checks = (*memory)->take_checks();
  ASSERT_TRUE(checks.ok() && checks->front().equal);
  restored(**memory, StartState::recorded, *symbols);
  EXPECT_EQ(bytes_at(symbols->at("written"), written_.size()), begin);
}

// Other processes may have their part of the device.
TEST_P(PreparedMemoryTest, WhereThereIsNoRoomForAllOfItWhatChangesIsKept) {
  size_t prepared = 0;
  for (int failing = 1; failing <= 8; ++failing) {
    int allocations = 0;
    device_->set_failures([&](std::string_view call) {
      return call == "allocate" && ++allocations == failing ? error(Code::exhausted, "scripted") : Status();
    });
    auto memory = prepare();
    device_->set_failures({});
    if (!memory.ok()) {
      EXPECT_EQ(memory.status().code(), Code::exhausted);
      continue;
    }
    prepared += allocations >= failing;
    for (int i = 0; i < 2; ++i) {
      RestoredRun run = restored(**memory);
      EXPECT_EQ(bytes_at(kData, before_.size()), before_);
      run_kernel();
      EXPECT_TRUE(checked(std::move(run)).equal);
    }
  }
  EXPECT_EQ(prepared, GetParam() == 1_GiB ? 1u : 0u);
}

TEST_P(PreparedMemoryTest, OnlyForWantOfRoomLessIsKept) {
  for (int failing = 1; failing <= 4; ++failing) {
    int allocations = 0;
    device_->set_failures([&](std::string_view call) {
      return call == "allocate" && ++allocations == failing ? error(Code::device_fault, "scripted") : Status();
    });
    const Status status = prepare().status();
    EXPECT_EQ(status.code(), Code::device_fault) << failing;
    EXPECT_THAT(status.message(), testing::HasSubstr(": scripted"));
    EXPECT_EQ(allocations, failing) << "nothing is tried again";
  }
}

TEST_P(PreparedMemoryTest, WhatIsKeptWhereThereIsLittleRoomIsSharedToo) {
  int allocations = 0;
  device_->set_failures([&](std::string_view call) {
    return call == "allocate_shared" && ++allocations == 3 ? error(Code::exhausted, "scripted") : Status();
  });
  RecordedCopies wanted;
  wanted.shareable = true;
  auto memory = prepare(std::move(wanted));
  device_->set_failures({});
  ASSERT_EQ(memory.ok(), GetParam() == 1_GiB) << memory.status().to_string();
  if (!memory.ok()) return;
  auto shared = (*memory)->share_copies("nothing is written");
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  auto copies = import_copies(*shared, *device_);
  ASSERT_TRUE(copies.ok()) << copies.status().to_string();
  EXPECT_EQ(copies->no_mask, "nothing is written");
  EXPECT_FALSE(copies->all_before);
  shared->descriptors.pop_back();
  EXPECT_EQ(import_copies(*shared, *device_).status().to_string(),
            "invalid_argument: taking over copies of a recording: 3 buffers and 2 descriptors");
}

TEST_P(PreparedMemoryTest, WhatFailsHalfwayLeavesMemoryUntrusted) {
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  const auto fail = [&](std::string_view failing) {
    device_->set_failures([=](std::string_view call) { return call == failing ? error(Code::io, "scripted") : Status(); });
  };
  const auto run_rightly = [&] {
    device_->set_failures({});
    RestoredRun run = restored(**memory);
    EXPECT_EQ(bytes_at(kData, before_.size()), before_);
    run_kernel();
    EXPECT_TRUE(checked(std::move(run)).equal);
    EXPECT_TRUE((*memory)->trusted());
  };
  run_rightly();
  fail("copy_listed");
  EXPECT_EQ((*memory)->restore({}).status().to_string(), "io: scripted");
  EXPECT_FALSE((*memory)->trusted());
  for (const char* failing : {"hash_pages_to", "compare_later"}) {
    run_rightly();
    RestoredRun run = restored(**memory);
    fail(failing);
    EXPECT_EQ(std::move(run).check_later().to_string(), "io: scripted") << failing;
    EXPECT_FALSE((*memory)->trusted()) << failing;
  }
  run_rightly();
}

TEST_P(PreparedMemoryTest, WhatCannotBeCopiedToTheDeviceIsNotPrepared) {
  int copies = 0, failing = 0;
  device_->set_failures([&](std::string_view call) {
    return call == "copy_to_device" && ++copies == failing ? error(Code::io, "scripted") : Status();
  });
  ASSERT_TRUE(prepare().ok());
  const int all = std::exchange(copies, 0);
  ASSERT_GT(all, 2);
  for (failing = 1; failing <= all; ++failing) {
    copies = 0;
    EXPECT_EQ(prepare().status().to_string(), "io: scripted") << "copy " << failing << " of " << all;
  }
}

// Whoever watches limits each step on the device, and not the reading of the disk.
TEST_P(PreparedMemoryTest, StepsOnTheDeviceAreLoading) {
  auto board = ActivityBoard::create();
  ASSERT_TRUE(board.ok());
  board->show_this_process();
  std::set<std::string> loading;
  device_->set_failures([&](std::string_view call) {
    if (board->read().activity == Activity::loading) loading.insert(std::string(call));
    return Status();
  });
  std::vector<double> done;
  std::set<std::string> steps;
  const auto progress = [&](std::string_view what, double part) {
    EXPECT_EQ(board->read().activity, Activity::working);
    steps.insert(std::string(what));
    done.push_back(part);
  };
  auto memory = PreparedMemory::create(*database_, instance_, plan_, *device_, *stream_, progress);
  device_->set_failures({});
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_THAT(loading, testing::IsSupersetOf({"reserve", "allocate", "copy_to_device"}));
  EXPECT_THAT(steps, testing::ElementsAre("reading the memory after the launch", "reading the memory before the launch"));
  EXPECT_THAT(done, testing::Each(1.0)) << "each is of one batch";
}

// The system places a program's libraries elsewhere each time, where the program may have had memory.
TEST_P(PreparedMemoryTest, HostMemoryThatIsTakenIsToldWithWhatHelps) {
  device_->set_failures(
      [](std::string_view call) { return call == "map_host" ? error(Code::unavailable, "scripted") : Status(); });
  for (DevicePtr address : {DevicePtr(0x6f0000000000), kHostMemoryBase}) {
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = fmt::format("none, with memory of the host at {}", address);
    const ByteVector host(100, std::byte{1});
    made.regions = {{Region::Kind::host, address, "", host, host}};
    publish(made);
    EXPECT_EQ(prepare().status().to_string(),
              std::string("unavailable: mapping the recorded host memory: scripted") +
                  (address < kHostMemoryBase
                       ? "; the program had registered memory of its own there (cudaHostRegister): try again, since the system "
                         "places libraries elsewhere each time"
                       : ""));
  }
}

// What the kernel changes to what other memory holds before the launch need not be read for it.
TEST_P(PreparedMemoryTest, AContentOfBothStatesIsReadOnce) {
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "none";
  made.ir = "none, which copies a page";
  ByteVector after = before_;
  std::copy_n(before_.begin(), kPageSize.count, after.begin() + static_cast<ptrdiff_t>(3 * kPageSize.count));
  made.regions = {{Region::Kind::allocation, kData, "", before_, after}};
  publish(made);
  after_ = after;
  const size_t copies = count("copy_to_device");
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  // The pages before, and the list of the one that the device copies.
  EXPECT_EQ(count("copy_to_device") - copies, 2u);
  RestoredRun run = restored(**memory);
  EXPECT_EQ(bytes_at(kData, before_.size()), before_);
  run_kernel();
  EXPECT_TRUE(checked(std::move(run)).equal);
}

// A copy has no more than it was made of.
TEST_P(PreparedMemoryTest, APartOfACopyLiesWithinOneOfItsRuns) {
  const auto place = DeviceBuffer::allocate(*device_, Bytes(4 * kPageSize.count));
  ASSERT_TRUE(place.ok());
  const MemoryRange run{kData + kPageSize, Bytes(2 * kPageSize.count)};
  auto copy = MappedCopy::create(*device_, *stream_, {run}, place->address());
  ASSERT_TRUE(copy.ok());
  auto second = copy->part(*device_, *stream_, {{kData + Bytes(2 * kPageSize.count), kPageSize}});
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_EQ(second->pieces().front().copy, place->address() + kPageSize);
  for (const MemoryRange& wrong :
       {MemoryRange{kData, kPageSize}, MemoryRange{run.address, run.size + Bytes(1)}, MemoryRange{run.end(), kPageSize}})
    EXPECT_EQ(copy->part(*device_, *stream_, {wrong}).status().code(), Code::internal);
}

// Host memory is mapped in pages that are smaller than blocks.
TEST_P(PreparedMemoryTest, SpansThatAreShorterThanABlockAreWholeAgainToo) {
  constexpr DevicePtr kHost = kHostMemoryBase + Bytes(1 << 30);
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "none";
  made.ir = "none, with memory of the host";
  made.pointer("data", kData);
  const ByteVector host(100, std::byte{1}), host_after(100, std::byte{2}), other(100, std::byte{3});
  const DevicePtr far = kHost + Bytes(16 * kHostPage.count);
  made.regions = {{Region::Kind::allocation, kData, "", before_, after_},
                  {Region::Kind::host, kHost, "", host, host_after},
                  {Region::Kind::host, far, "", other, other}};
  publish(made);
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  for (int i = 0; i < 3; ++i) {
    RestoredRun run = restored(**memory);
    EXPECT_EQ(bytes_at(kHost, host.size()), host);
    EXPECT_EQ(bytes_at(far, other.size()), other);
    run_kernel();
    std::copy(host_after.begin(), host_after.end(), at(kHost));
    if (i == 1) *at(far) = std::byte{4};
    const CheckedRun check = checked(std::move(run));
    EXPECT_EQ(check.first, i == 1 ? far : DevicePtr());
  }
}

TEST_P(PreparedMemoryTest, GlobalsOfOneReservationKeepTheirAddresses) {
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "none";
  made.ir = "none, with globals at recorded addresses";
  constexpr DevicePtr kFirst{0x7b0000000000}, kSecond = kFirst + Bytes(0x1000), kThird = kFirst + Bytes(8 << 20);
  const ByteVector one(64, std::byte{1}), two(64, std::byte{2}), three(64, std::byte{3});
  made.regions = {{Region::Kind::global, kFirst, "one", one, one},
                  {Region::Kind::global, kSecond, "two", two, two},
                  {Region::Kind::global, kThird, "three", three, three}};
  publish(made);
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  restored(**memory);
  EXPECT_EQ(bytes_at(kFirst, 64), one);
  EXPECT_EQ(bytes_at(kSecond, 64), two);
  EXPECT_EQ(bytes_at(kThird, 64), three);
}

// A recording of memory outside of the recorder's range: two blocks that are neighbours, one that is not.
struct MadeOutside {
  static constexpr DevicePtr kFirst{0x7b0000000000}, kSecond = kFirst + Bytes(kHostGranularity.count + 0x3000),
                                                     kThird = kFirst + 64_MiB;
  MadeRecording made;
  ByteVector one = ByteVector(1000, std::byte{1}), two = ByteVector(3 * kPageSize.count, std::byte{2}),
             three = ByteVector(64, std::byte{3}), changed = two;

  MadeOutside() {
    made.kernel.name = made.kernel.demangled = "none";
    made.ir = "none, with memory outside of the recorder's range";
    for (std::byte& byte : std::span(changed).subspan(70000, 5)) byte = std::byte{9};
    made.regions = {{Region::Kind::mapped, kFirst, "", one, one},
                    {Region::Kind::mapped, kSecond, "", two, changed},
                    {Region::Kind::managed, kThird, "", three, three}};
  }
};

class PreparedOutside : public testing_memory::OnFakeDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, PreparedOutside, testing::Values(1_GiB, 8_MiB),
                         [](const auto& info) { return info.param == 1_GiB ? "Large" : "Small"; });

TEST_P(PreparedOutside, MemoryOutsideOfTheRecordersRangeIsRestoredAndChecked) {
  const MadeOutside outside;
  publish(outside.made);
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  EXPECT_EQ(count("reserve"), 2u) << "neighbouring blocks are one reservation, and there is none of the recorder's range";
  for (int i = 0; i < 2; ++i) {
    RestoredRun run = restored(**memory);
    EXPECT_EQ(bytes_at(MadeOutside::kFirst, outside.one.size()), outside.one);
    EXPECT_EQ(bytes_at(MadeOutside::kSecond, outside.two.size()), outside.two);
    EXPECT_EQ(bytes_at(MadeOutside::kThird, outside.three.size()), outside.three);
    std::copy(outside.changed.begin(), outside.changed.end(), at(MadeOutside::kSecond));
    if (i == 1) *at(MadeOutside::kThird) = std::byte{7};
    const CheckedRun check = checked(std::move(run));
    EXPECT_EQ(check.first, i == 1 ? MadeOutside::kThird : DevicePtr());
  }
}

TEST_P(PreparedOutside, AnAddressThatIsTakenIsToldWithItsKindAndWhatHelps) {
  publish(MadeOutside().made);
  int reservations = 0;
  device_->set_failures([&](std::string_view call) {
    return call == "reserve" && ++reservations == 2 ? error(Code::unavailable, "scripted") : Status();
  });
  EXPECT_EQ(prepare().status().to_string(),
            "unavailable: reserving the recorded address 0x7b0004000000 of 64 B of managed memory: scripted: try again, since "
            "the system places what a process has elsewhere each time");
}

TEST_P(PreparedOutside, DescriptorsInABlockThatIsReservedHaveNoPlaceThere) {
  publish(MadeOutside().made);
  auto addresses = RecordedAddresses::reserve(instance_, plan_, *device_);
  ASSERT_TRUE(addresses.ok()) << addresses.status().to_string();
  TextureSet textures;
  textures.objects.resize(2);
  textures.objects[0].handle = 79;
  textures.objects[1].handle = MadeOutside::kThird.address - 80;
  EXPECT_TRUE(addresses->check_descriptors(textures).ok()) << "just before it";
  textures.objects[1].handle += 1;
  EXPECT_EQ(addresses->check_descriptors(textures).to_string(),
            "unsupported: the descriptors of a texture lay at 0x7b0003ffffb1, in 2.00 MiB at 0x7b0004000000 that this device "
            "reserves as a whole for other recorded memory: replay the launch on the CPU device");
}

// Held before the device is opened: what opening it maps lies elsewhere.
TEST_P(PreparedOutside, AddressesThatAreHeldAreTakenByThePreparedMemory) {
  publish(MadeOutside().made);
  EXPECT_THAT(endangered_addresses(plan_),
              testing::ElementsAre(MemoryRange{MadeOutside::kFirst, 32_MiB}, MemoryRange{MadeOutside::kThird, 32_MiB}));
  const HeldAddresses held = hold_recorded_addresses(*database_, instance_.static_hash, {&instance_.dynamic_hash, 1});
  EXPECT_NE(mappings_in(MadeOutside::kThird, 32_MiB), "");
  EXPECT_FALSE(map_host_range(MadeOutside::kSecond, Bytes(4096)).ok());
  auto memory = prepare();
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  (*memory)->give_addresses_up();
  EXPECT_FALSE(map_host_range(MadeOutside::kThird, Bytes(4096)).ok()) << "meanwhile they are held again";
  Status taken = (*memory)->take_addresses();
  EXPECT_TRUE(taken.ok()) << taken.to_string();
}

TEST_P(PreparedOutside, AddressesOfARecordingThatCannotBeReadAreNotHeld) {
  publish(MadeOutside().made);
  const Digest none{};
  for (const Digest& kernel : {instance_.static_hash, none})
    const HeldAddresses held = hold_recorded_addresses(*database_, kernel, {&none, 1});
  EXPECT_EQ(mappings_in(MadeOutside::kThird, 32_MiB), "");
}

TEST_P(PreparedOutside, OfTheHostsMemoryThePagesThatTheProgramRegisteredAreHeld) {
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "none";
  made.ir = "none, with registered memory";
  constexpr DevicePtr kRegistered{0x6f0000000100};
  const ByteVector host(4096, std::byte{1});
  made.regions = {{Region::Kind::host, kRegistered, "", host, host}, {Region::Kind::host, kHostMemoryBase, "", host, host}};
  publish(made);
  const std::vector<MemoryRange> ranges = endangered_addresses(plan_);
  EXPECT_THAT(ranges, testing::ElementsAre(MemoryRange{DevicePtr(0x6f0000000000), 8_KiB}));
  const HeldAddresses held(ranges);
  EXPECT_NE(mappings_in(kRegistered, Bytes(host.size())), "");
  auto memory = prepare();
  EXPECT_TRUE(memory.ok()) << memory.status().to_string();
}

TEST(EndangeredAddresses, OfTexturesThatAreReadThroughPointersThePagesOfTheDescriptorsAre) {
  MemoryPlan plan;
  plan.textures.objects.resize(4);
  plan.textures.objects[0].handle = 79;
  plan.textures.objects[1].handle = 0x7f3400001fd0;
  plan.textures.objects[2].handle = 0x7f3400003f00;
  plan.textures.objects[3].handle = 0x7f3500000040;
  EXPECT_THAT(endangered_addresses(plan), testing::ElementsAre(MemoryRange{DevicePtr(0x7f3400001000), Bytes(3 * 4096)},
                                                               MemoryRange{DevicePtr(0x7f3500000000), Bytes(4096)}));
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
  device.total_memory = 6_MiB;
  EXPECT_FALSE(plan_copies(plan, device)->all_before) << "some is for others";
  device.total_memory = 7_MiB;
  EXPECT_TRUE(plan_copies(plan, device)->all_before);
}

}  // namespace
}  // namespace mneme
