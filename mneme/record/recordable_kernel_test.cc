// What is recorded of a kernel, from the segments that make it.
#include "mneme/record/recordable_kernel.h"

#include <gtest/gtest.h>

#include "mneme/record/vendor.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme {
namespace {

using testing::make_device_elf;
using testing::make_fat_binary;
using testing::TestSegment;

// What a segment tells, no vendor is asked for.
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

class RecordableKernelTest : public ::testing::Test {
 protected:
  static TestSegment kernel() {
    TestSegment segment;
    segment.name = "_Z4workfP1S";
    segment.parameters = {{MNEME_PARAM_FLOAT, 0, 4, "x", "float", 4},
                          {MNEME_PARAM_POINTER, 8, 8, "p", "ptr", 8},
                          {MNEME_PARAM_INTEGER, 16, 2, "n", "i16", 2},
                          {MNEME_PARAM_AGGREGATE, 24, 16, "", "%struct.S", 8}};
    segment.parameter_bytes = 40;
    segment.padding = {{4, 4}, {18, 6}, {28, 4}};  // the last one of the structure
    segment.numbers = {{0, 4}, {16, 2}, {36, 4}};  // likewise
    return segment;
  }

  RecordableKernel describe(const std::vector<TestSegment>& segments) {
    std::vector<ByteVector> built;
    for (const TestSegment& segment : segments) built.push_back(segment.build());
    name_ = segments.front().name;
    fat_ = make_fat_binary({{2, 90, make_device_elf(built)}});
    wrapper_.fat_binary = fat_.data();
    registry_.remove_image(handle_);
    registry_.add_image(handle_, 0, &wrapper_);
    registry_.add_function(handle_, &stub_, name_.c_str());
    return describe_kernel(&stub_, registry_.find_kernel(&stub_), vendor_);
  }

  std::string name_;
  ByteVector fat_;
  testing::TestWrapper wrapper_;
  void* target_ = nullptr;
  void** handle_ = &target_;
  char stub_ = 0;
  Registry registry_;
  NobodyToAsk vendor_;
};

TEST_F(RecordableKernelTest, IsWhatItsSegmentSays) {
  TestSegment segment = kernel();
  segment.globals = {{"state.file", 64, MNEME_GLOBAL_ESCAPES, "state", 32}, {"table", 16, MNEME_GLOBAL_CONSTANT_SPACE, "", 8}};
  const RecordableKernel described = describe({segment});
  ASSERT_TRUE(described.status.ok()) << described.status.to_string();
  const KernelRecord& record = described.record;
  EXPECT_EQ(record.static_hash.bytes[0], 7);
  EXPECT_EQ(record.name, "_Z4workfP1S");
  EXPECT_EQ(record.demangled, "work(float, S*)");
  EXPECT_EQ(record.source, "file.cu:12");
  EXPECT_EQ(record.target, "nvptx");
  EXPECT_EQ(record.arch, "sm_90");
  EXPECT_EQ(record.pipeline, "default<O2>");
  EXPECT_EQ(record.parameters, (std::vector<Parameter>{{Parameter::Kind::floating, "x", "float", 0, 4, 4},
                                                       {Parameter::Kind::pointer, "p", "ptr", 8, 8, 8},
                                                       {Parameter::Kind::integer, "n", "i16", 16, 2, 2},
                                                       {Parameter::Kind::aggregate, "", "%struct.S", 24, 16, 8}}));
  EXPECT_EQ(record.parameter_bytes, 40u);
  EXPECT_EQ(record.globals,
            (std::vector<GlobalInfo>{{"state", 64, 32, false, false, true}, {"table", 16, 8, true, false, false}}));
  ASSERT_EQ(described.globals.size(), 2u);
  EXPECT_EQ(described.globals[0].image_name, "state.file");
}

TEST_F(RecordableKernelTest, UsesTexturesWhereAnyOfItsPartsDoes) {
  TestSegment needing = kernel(), part;
  needing.needs = {"part"};
  part.kind = MNEME_SEGMENT_FUNCTION;
  part.name = "part";
  EXPECT_FALSE(describe({needing, part}).uses_textures);
  part.uses = MNEME_USES_TEXTURES;
  EXPECT_TRUE(describe({needing, part}).uses_textures);
  EXPECT_FALSE(describe({kernel(), part}).uses_textures);
  needing.needs = {};
  needing.uses = MNEME_USES_TEXTURES;
  EXPECT_TRUE(describe({needing}).uses_textures);
}

TEST_F(RecordableKernelTest, AllocatesAndLaunchesWhereAnyOfItsPartsDoes) {
  TestSegment needing = kernel(), part;
  needing.needs = {"part"};
  part.kind = MNEME_SEGMENT_FUNCTION;
  part.name = "part";
  EXPECT_FALSE(describe({needing, part}).uses_device_heap);
  EXPECT_FALSE(describe({needing, part}).launches_kernels);
  part.uses = MNEME_USES_DEVICE_HEAP;
  EXPECT_TRUE(describe({needing, part}).uses_device_heap);
  part.uses = MNEME_USES_DEVICE_LAUNCH;
  EXPECT_TRUE(describe({needing, part}).launches_kernels);
  EXPECT_FALSE(describe({kernel(), part}).launches_kernels);
}

// Else equal launches would be recorded as different ones.
TEST_F(RecordableKernelTest, PaddingOfItsArgumentsIsZero) {
  const RecordableKernel described = describe({kernel()});
  ASSERT_TRUE(described.status.ok()) << described.status.to_string();
  ByteVector bytes(16, std::byte{0xff});
  void* arguments[] = {bytes.data(), bytes.data(), bytes.data(), bytes.data()};
  ByteVector expected(40, std::byte{0xff});
  for (const auto& [offset, size] : kernel().padding)
    std::fill_n(expected.begin() + static_cast<int>(offset), size, std::byte{0});
  EXPECT_EQ(pack_arguments(described, arguments), expected);
}

TEST_F(RecordableKernelTest, AWordWithAPartOfANumberIsNoAddress) {
  const RecordableKernel described = describe({kernel()});
  ASSERT_TRUE(described.status.ok()) << described.status.to_string();
  std::vector<uint64_t> addresses;
  for (uint64_t offset = 0; offset < 40; offset += 4)
    if (described.may_be_address(offset)) addresses.push_back(offset);
  EXPECT_EQ(addresses, (std::vector<uint64_t>{4, 8, 20, 24, 28}));
}

TEST_F(RecordableKernelTest, OfSeveralSegmentsItIsAllOfThem) {
  TestSegment first = kernel(), second, third;
  second.kind = third.kind = MNEME_SEGMENT_FUNCTION;
  second.name = "second";
  third.name = "third";
  second.hash = 8;
  third.hash = 9;
  second.bitcode = " two";
  third.bitcode = " three";
  first.needs = {"second", "third"};
  first.globals = {{"state", 0, MNEME_GLOBAL_DECLARATION, "", 4}};
  second.globals = {{"state", 64, MNEME_GLOBAL_ESCAPES, "", 16}};
  third.globals = {{"state", 32, MNEME_GLOBAL_CONSTANT_SPACE, "", 8}, {"other", 4, MNEME_GLOBAL_MANAGED, "", 4}};
  const RecordableKernel described = describe({first, second, third});
  ASSERT_TRUE(described.status.ok()) << described.status.to_string();
  EXPECT_EQ(described.record.globals,
            (std::vector<GlobalInfo>{{"state", 64, 16, true, false, true}, {"other", 4, 4, false, true, false}}));
  const auto code = code_of(described);
  ASSERT_TRUE(code.ok());
  EXPECT_EQ((*code)->ir, testing::bytes_of("bitcode two three"));
  EXPECT_EQ(*code_of(described), *code) << "one, while somebody has it";

  const Digest whole = described.record.static_hash;
  EXPECT_NE(whole.bytes[0], 7) << "of the first alone";
  third.hash = 10;
  EXPECT_NE(describe({first, second, third}).record.static_hash, whole);
  third.hash = 9;
  EXPECT_EQ(describe({first, second, third}).record.static_hash, whole);
  std::swap(second.hash, third.hash);
  EXPECT_NE(describe({first, second, third}).record.static_hash, whole) << "the same hashes in another order";
}

// Of any two, however many lie between them.
TEST_F(RecordableKernelTest, VariablesThatTheIrCannotTellApartRefuseIt) {
  TestSegment segment = kernel();
  segment.globals = {
      {"state__a", 4, 0, "state", 4}, {"other", 4, 0, "", 4}, {"third", 4, 0, "", 4}, {"state__b", 4, 0, "state", 4}};
  EXPECT_EQ(
      describe({segment}).status.to_string(),
      "unsupported: two files of the same name have a static variable 'state' each, which its recorded IR cannot tell apart; "
      "rename one of the files");
  segment.globals.pop_back();
  EXPECT_TRUE(describe({segment}).status.ok());
}

}  // namespace
}  // namespace mneme
