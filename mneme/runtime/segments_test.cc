#include "mneme/runtime/segments.h"

#include <gtest/gtest.h>

#include "mneme/runtime/testing/device_image.h"

namespace mneme {
namespace {

using testing::bytes_of;
using testing::make_device_elf;
using testing::make_fat_binary;
using testing::TestSegment;

TestSegment saxpy() {
  TestSegment segment;
  segment.name = "_Z5saxpyPfi__uid";
  segment.ir_name = "_Z5saxpyPfi";
  segment.parameters = {{MNEME_PARAM_POINTER, 0, 8, "x"}, {MNEME_PARAM_INTEGER, 8, 4, "n"}};
  segment.parameter_bytes = 12;
  segment.globals = {{"table", 64, MNEME_GLOBAL_CONSTANT_SPACE}, {"state", 0, MNEME_GLOBAL_DECLARATION | MNEME_GLOBAL_ESCAPES}};
  segment.needs = {"scale"};
  return segment;
}

template <typename T>
void put(ByteVector& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

std::string failure(const ByteVector& bytes) { return parse_segment(bytes, "x").status().to_string(); }

TEST(Segment, ReadsEveryField) {
  ByteVector bytes = saxpy().build();
  bytes.resize(bytes.size() + 5);  // a symbol's size may be rounded up
  Result<EmbeddedSegment> segment = parse_segment(bytes, "x");
  ASSERT_TRUE(segment.ok()) << segment.status().to_string();
  EXPECT_EQ(segment->name, "_Z5saxpyPfi__uid");
  EXPECT_EQ(segment->ir_name, "_Z5saxpyPfi");
  EXPECT_EQ(segment->source, "file.cu:12");
  EXPECT_EQ(segment->arch, "sm_90");
  EXPECT_EQ(segment->pipeline, "default<O2>");
  EXPECT_FALSE(segment->uses_textures);
  EXPECT_FALSE(segment->uses_device_heap);
  EXPECT_FALSE(segment->launches_kernels);
  EXPECT_EQ(segment->static_hash.bytes[0], 7);
  ASSERT_EQ(segment->parameters.size(), 2u);
  EXPECT_EQ(segment->parameters[1].name, "n");
  EXPECT_EQ(segment->parameters[1].offset, 8u);
  EXPECT_EQ(segment->parameter_bytes, 12u);
  ASSERT_EQ(segment->globals.size(), 2u);
  EXPECT_TRUE(segment->globals[0].constant_space());
  EXPECT_TRUE(segment->globals[1].declaration() && segment->globals[1].escapes());
  ASSERT_EQ(segment->needs.size(), 1u);
  EXPECT_EQ(segment->needs[0], "scale");
  EXPECT_EQ(*segment_bitcode(*segment), bytes_of("bitcode"));
}

TEST(Segment, EachFieldIsInItsOwnPlace) {
  TestSegment written;
  written.kind = MNEME_SEGMENT_GLOBAL;
  written.name = "image name";
  written.ir_name = "ir name";
  written.hash = 9;
  written.parameters = {{MNEME_PARAM_FLOAT, 0, 4, "x", "float", 4}, {MNEME_PARAM_AGGREGATE, 8, 24, "s", "%struct.S", 8}};
  written.parameter_bytes = 40;
  written.padding = {{4, 4}, {32, 8}};
  written.numbers = {{0, 4}, {16, 8}};
  written.globals = {{"a", 64, MNEME_GLOBAL_CONSTANT_SPACE, "ir a", 16},
                     {"b", 32, MNEME_GLOBAL_MANAGED, "ir b", 32},
                     {"c", 0, MNEME_GLOBAL_DECLARATION, "ir c", 1},
                     {"d", 8, MNEME_GLOBAL_ESCAPES, "ir d", 8}};
  written.needs = {"one", "two"};
  written.uses = MNEME_USES_TEXTURES | MNEME_USES_DEVICE_HEAP | MNEME_USES_DEVICE_LAUNCH;
  written.bitcode = std::string(300, 'x');
  const ByteVector bytes = written.build();
  Result<EmbeddedSegment> segment = parse_segment(bytes, "x");
  ASSERT_TRUE(segment.ok()) << segment.status().to_string();
  EXPECT_EQ(segment->kind, MNEME_SEGMENT_GLOBAL);
  EXPECT_EQ(segment->target, MNEME_TARGET_NVPTX);
  EXPECT_EQ(segment->static_hash.bytes[0], 9);
  EXPECT_EQ(segment->name, "image name");
  EXPECT_TRUE(segment->uses_textures);
  EXPECT_TRUE(segment->uses_device_heap);
  EXPECT_TRUE(segment->launches_kernels);
  EXPECT_EQ(segment->ir_name, "ir name");
  EXPECT_EQ(segment->ir_raw_size, Bytes(300));
  EXPECT_EQ(segment->bytes.size(), bytes.size());
  EXPECT_EQ(segment->parameter_bytes, 40u);
  ASSERT_EQ(segment->parameters.size(), written.parameters.size());
  for (size_t i = 0; i < written.parameters.size(); ++i) {
    const auto& [kind, name, type, offset, size, alignment] = segment->parameters[i];
    EXPECT_EQ(kind, written.parameters[i].kind);
    EXPECT_EQ(name, written.parameters[i].name);
    EXPECT_EQ(type, written.parameters[i].type);
    EXPECT_EQ(offset, written.parameters[i].offset);
    EXPECT_EQ(size, written.parameters[i].size);
    EXPECT_EQ(alignment, written.parameters[i].alignment);
  }
  ASSERT_EQ(segment->padding.size(), 2u);
  EXPECT_EQ(segment->padding[0].offset, 4u);
  EXPECT_EQ(segment->padding[1].size, 8u);
  ASSERT_EQ(segment->numbers.size(), 2u);
  EXPECT_EQ(segment->numbers[0].size, 4u);
  EXPECT_EQ(segment->numbers[1].offset, 16u);
  ASSERT_EQ(segment->globals.size(), written.globals.size());
  for (size_t i = 0; i < written.globals.size(); ++i) {
    const SegmentGlobal& global = segment->globals[i];
    EXPECT_EQ(global.name, written.globals[i].name);
    EXPECT_EQ(global.ir_name, written.globals[i].ir_name);
    EXPECT_EQ(global.size, written.globals[i].size);
    EXPECT_EQ(global.alignment, written.globals[i].alignment);
    EXPECT_EQ(global.constant_space(), i == 0);
    EXPECT_EQ(global.managed(), i == 1);
    EXPECT_EQ(global.declaration(), i == 2);
    EXPECT_EQ(global.escapes(), i == 3);
  }
  EXPECT_EQ(segment->needs, (std::vector<std::string_view>{"one", "two"}));
}

TEST(Segment, RefusesDamageWithItsPlace) {
  const ByteVector whole = saxpy().build();
  ByteVector bytes = whole;
  bytes[0] = std::byte{'X'};
  EXPECT_EQ(failure(bytes), "corrupt: x: segment offset 0: no segment starts here (wrong magic)");
  bytes.resize(10);
  EXPECT_EQ(failure(bytes), "corrupt: x: segment offset 0: 10 bytes are fewer than a segment's header has (184)");
  bytes = whole;
  bytes.back() ^= std::byte{1};
  EXPECT_NE(failure(bytes).find("corrupt: x: segment offset 24: the checksum is "), std::string::npos);
  bytes = whole;
  bytes.pop_back();
  EXPECT_NE(failure(bytes).find("corrupt: x: segment offset 16: a segment of "), std::string::npos);
  bytes = whole;
  put(bytes, 8, uint32_t{9});
  EXPECT_EQ(
      failure(bytes),
      "incompatible: x: a segment of ABI version 9, this Mneme reads 3: compile the program again with `mneme config cxxflags`");
  bytes = whole;
  put(bytes, 32, uint32_t{8});
  EXPECT_EQ(failure(bytes), "corrupt: x: segment offset 32: segment kind 8 is not known");
  bytes = whole;
  put(bytes, offsetof(mneme_segment_header, reserved), uint64_t{1});
  EXPECT_EQ(failure(bytes), "corrupt: x: segment offset 176: reserved bytes are not zero");
  bytes = whole;
  put(bytes, offsetof(mneme_segment_header, total_bytes), uint64_t{10});
  EXPECT_NE(failure(bytes).find("corrupt: x: segment offset 16: a segment of 10 bytes in "), std::string::npos);
  for (size_t name : {offsetof(mneme_segment_header, name), offsetof(mneme_segment_header, ir_name)}) {
    bytes = whole;
    put(bytes, name + offsetof(mneme_segment_string, bytes), uint32_t{0});
    EXPECT_NE(failure(bytes).find(": a name is empty"), std::string::npos) << name;
  }
}

TEST(Segment, RefusesTablesThatReachOutside) {
  const ByteVector whole = saxpy().build();
  for (size_t field : {offsetof(mneme_segment_header, params_offset), offsetof(mneme_segment_header, params_count),
                       offsetof(mneme_segment_header, globals_count), offsetof(mneme_segment_header, needs_offset),
                       offsetof(mneme_segment_header, padding_count), offsetof(mneme_segment_header, numbers_count),
                       offsetof(mneme_segment_header, ir_bytes)}) {
    ByteVector bytes = whole;
    put(bytes, field, uint32_t{0x7fffffff});
    EXPECT_EQ(parse_segment(bytes, "x").status().code(), Code::corrupt) << field;
  }
  TestSegment outside = saxpy();
  outside.parameter_bytes = 9;
  EXPECT_NE(failure(outside.build()).find("a parameter at 8 of 4 bytes reaches beyond the parameter buffer's 9 bytes"),
            std::string::npos);
}

// The last byte of each may be the buffer's last, and not the one behind it.
TEST(Segment, ParametersTheirPaddingAndTheirNumbersEndWithTheBuffer) {
  TestSegment written = saxpy();
  written.parameters = {{MNEME_PARAM_INTEGER, 0, 4, "a"}, {MNEME_PARAM_INTEGER, 8, 8, "b"}};
  written.parameter_bytes = 16;
  written.padding = {{4, 4}};
  EXPECT_TRUE(parse_segment(written.build(), "x").ok());
  written.padding = {{4, 12}};
  EXPECT_TRUE(parse_segment(written.build(), "x").ok());
  written.padding = {{4, 13}};
  EXPECT_NE(failure(written.build()).find("padding at 4 of 13 bytes reaches beyond the parameter buffer's 16 bytes"),
            std::string::npos);
  written.padding = {};
  written.numbers = {{8, 8}};
  EXPECT_TRUE(parse_segment(written.build(), "x").ok());
  written.numbers = {{8, 9}};
  EXPECT_NE(failure(written.build()).find("a number at 8 of 9 bytes reaches beyond the parameter buffer's 16 bytes"),
            std::string::npos);
  written.numbers = {};
  written.parameters[1].size = 9;
  EXPECT_NE(failure(written.build()).find("a parameter at 8 of 9 bytes reaches beyond"), std::string::npos);
}

TEST(Segment, AlignmentsArePowersOfTwo) {
  for (uint32_t wrong : {0u, 3u, 24u}) {
    const std::string expected = std::to_string(wrong) + " is no alignment";
    TestSegment written = saxpy();
    written.globals[0].alignment = wrong;
    EXPECT_NE(failure(written.build()).find(expected), std::string::npos) << wrong;
    written = saxpy();
    written.parameters[1].alignment = wrong;
    EXPECT_NE(failure(written.build()).find(expected), std::string::npos) << wrong;
  }
}

TEST(Segment, AnyFlippedHeaderByteIsARefusalOrHarmless) {
  const ByteVector whole = saxpy().build();
  for (size_t at = 0; at < sizeof(mneme_segment_header); ++at) {
    ByteVector bytes = whole;
    bytes[at] ^= std::byte{0xff};
    Result<EmbeddedSegment> segment = parse_segment(bytes, "x");
    if (segment.ok()) [[maybe_unused]]
      Result<ByteVector> bitcode = segment_bitcode(*segment);
  }
}

TEST(DeviceElf, FindsSegmentsAndKeepsDamageApart) {
  ByteVector damaged = saxpy().build();
  damaged.back() ^= std::byte{1};
  TestSegment scale;
  scale.kind = MNEME_SEGMENT_FUNCTION;
  scale.name = "scale";
  ByteVector elf = make_device_elf({saxpy().build(), scale.build()});
  Result<SegmentTable> table = read_segments(elf, "x");
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  ASSERT_EQ(table->segments.size(), 2u);
  EXPECT_EQ((*table->find("scale"))->kind, MNEME_SEGMENT_FUNCTION);
  EXPECT_EQ(table->find("other").status().to_string(), "not_found: no segment defines other");
  EXPECT_EQ(table->closure(table->segments[0])->size(), 2u);

  elf = make_device_elf({damaged, scale.build()});
  table = read_segments(elf, "x");
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(table->find("scale").ok());
  EXPECT_EQ(table->find("_Z5saxpyPfi__uid").status().code(), Code::corrupt);
}

TEST(DeviceElf, ClosureHasEachSegmentOnce) {
  TestSegment first, second, third;
  for (TestSegment* segment : {&first, &second, &third}) segment->kind = MNEME_SEGMENT_FUNCTION;
  first.name = "first";
  second.name = "second";
  third.name = "third";
  first.needs = {"first", "second", "third"};
  second.needs = {"third", "first"};
  third.needs = {"second"};
  const ByteVector elf = make_device_elf({first.build(), second.build(), third.build()});
  Result<SegmentTable> table = read_segments(elf, "x");
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  for (const EmbeddedSegment& segment : table->segments) {
    auto all = table->closure(segment);
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 3u) << segment.name;
    EXPECT_EQ(all->front(), &segment);
  }
}

TEST(DeviceElf, ClosureNamesWhatIsMissing) {
  ByteVector elf = make_device_elf({saxpy().build()});
  Result<SegmentTable> table = read_segments(elf, "x");
  EXPECT_EQ(table->closure(table->segments[0]).status().message(),
            "_Z5saxpyPfi__uid needs scale, of which the device image holds no IR: compile the file that defines it with `mneme "
            "config cxxflags`");
}

// It says what is wrong, and nobody goes on without it.
TEST(DeviceElf, ClosureNeedsWhatIsDamaged) {
  ByteVector damaged = saxpy().build();
  damaged.back() ^= std::byte{1};
  TestSegment kernel;
  kernel.needs = {"_Z5saxpyPfi__uid"};
  const ByteVector elf = make_device_elf({kernel.build(), damaged});
  Result<SegmentTable> table = read_segments(elf, "x");
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  const Status status = table->closure(table->segments[0]).status();
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_NE(status.message().find("the checksum is "), std::string::npos) << status.message();
}

TEST(DeviceElf, SymbolsAreCountedFromTheirSection) {
  const std::vector<testing::TestVariable> variables = {{"state", {1, 2, 3}}, {"stateful", {4}}, {"last", {5, 6}}};
  for (uint64_t address : {0, 0x700}) {
    const ByteVector elf = make_device_elf({saxpy().build()}, variables, address);
    Result<SegmentTable> table = read_segments(elf, "x");
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    ASSERT_EQ(table->segments.size(), 1u) << address;
    EXPECT_EQ(table->segments[0].name, "_Z5saxpyPfi__uid");
    for (const auto& [name, value] : variables) {
      const ByteSpan found = find_initial_value(elf, name);
      ASSERT_EQ(found.size(), value.size() * sizeof(int)) << name << " at " << address;
      EXPECT_EQ(std::memcmp(found.data(), value.data(), found.size()), 0) << name << " at " << address;
    }
    EXPECT_TRUE(find_initial_value(elf, "stat").empty());
  }
}

// The kernel that is wanted may be the one behind it.
TEST(DeviceElf, ASymbolBeyondItsSectionIsDamage) {
  TestSegment scale;
  scale.name = "scale";
  ByteVector elf = make_device_elf({saxpy().build(), scale.build()});
  Elf64_Shdr symbols;
  std::memcpy(&symbols, elf.data() + sizeof(Elf64_Ehdr) + 2 * sizeof symbols, sizeof symbols);
  put(elf, symbols.sh_offset + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_size), uint64_t{1} << 20);
  Result<SegmentTable> table = read_segments(elf, "x");
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ(table->segments.size(), 1u);
  EXPECT_EQ(table->damaged.size(), 1u);
  EXPECT_EQ(table->find("_Z5saxpyPfi__uid").status().code(), Code::corrupt);
  EXPECT_TRUE(table->find("scale").ok());
}

TEST(DeviceElf, ASymbolOfNoSectionOrNoNameHidesNoOther) {
  TestSegment scale;
  scale.name = "scale";
  const ByteVector whole = make_device_elf({saxpy().build(), scale.build()});
  Elf64_Shdr symbols;
  std::memcpy(&symbols, whole.data() + sizeof(Elf64_Ehdr) + 2 * sizeof symbols, sizeof symbols);
  const uint64_t first = symbols.sh_offset + sizeof(Elf64_Sym);
  for (const uint16_t section : {uint16_t{SHN_UNDEF}, uint16_t{SHN_ABS}, uint16_t{SHN_COMMON}}) {
    ByteVector elf = whole;
    put(elf, first + offsetof(Elf64_Sym, st_shndx), section);
    Result<SegmentTable> table = read_segments(elf, "x");
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    EXPECT_EQ(table->segments.size(), 1u) << section;
    EXPECT_TRUE(table->damaged.empty()) << section;
  }
  ByteVector elf = whole;
  put(elf, first + offsetof(Elf64_Sym, st_name), uint32_t{0x7fffffff});
  Result<SegmentTable> table = read_segments(elf, "x");
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ(table->segments.size(), 1u);
  EXPECT_TRUE(table->find("scale").ok());
}

TEST(DeviceElf, RefusesDamage) {
  const ByteVector whole = make_device_elf({saxpy().build()});
  EXPECT_EQ(read_segments(bytes_of("no ELF"), "x").status().to_string(), "corrupt: x: device ELF offset 0: no 64-bit ELF header");
  for (size_t size = 0; size < whole.size(); size += 7) {
    Result<SegmentTable> table = read_segments(ByteSpan(whole).first(size), "x");
    EXPECT_TRUE(!table.ok() || table->segments.empty()) << size;
  }
}

TEST(FatBinary, ChoosesTheNearestArchitecture) {
  ByteVector a = bytes_of("elf80..."), b = bytes_of("elf86..."), c = bytes_of("elf90...");
  ByteVector fat = make_fat_binary({{2, 80, a}, {2, 86, b}, {2, 90, c}, {1, 90, bytes_of("ptx.....")}});
  EXPECT_EQ(find_device_elf(fat, 0, "x")->sm, 90u);
  EXPECT_EQ(find_device_elf(fat, 89, "x")->sm, 86u);
  EXPECT_EQ(find_device_elf(fat, 85, "x")->sm, 80u);
  ByteSpan bytes = find_device_elf(fat, 90, "x")->bytes;
  EXPECT_EQ(ByteVector(bytes.begin(), bytes.end()), c);
  EXPECT_EQ(find_device_elf(fat, 100, "x").status().code(), Code::unsupported) << "of another major version";
  EXPECT_EQ(find_device_elf(fat, 75, "x").status().to_string(),
            "unsupported: x: no device code that sm_75 runs (it holds code for sm_80, code for sm_86, code for sm_90, PTX for "
            "sm_90): compile with "
            "--offload-arch");
}

// Later versions may write longer headers of entries.
TEST(FatBinary, EntriesSayHowLongTheirHeadersAre) {
  ByteVector fat = make_fat_binary({{2, 80, bytes_of("elf80...")}, {2, 90, bytes_of("elf90...")}});
  const size_t entry = 16, longer = 8;
  fat.insert(fat.begin() + entry + 64, longer, std::byte{0});
  put(fat, 8, uint64_t{fat.size() - 16});
  put(fat, entry + 4, uint32_t{64 + longer});
  for (uint32_t sm : {80u, 90u}) {
    Result<DeviceElf> found = find_device_elf(fat, sm, "x");
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(ByteVector(found->bytes.begin(), found->bytes.end()), bytes_of(sm == 80 ? "elf80..." : "elf90..."));
  }
}

TEST(FatBinary, RefusesCompressionAndDamage) {
  ByteVector fat = make_fat_binary({{2, 90, bytes_of("packed.."), 0x8011}});
  EXPECT_EQ(
      find_device_elf(fat, 0, "x").status().to_string(),
      "unsupported: x: its device code is compressed: compile without --offload-compress (and -Xcuda-fatbinary --compress-all)");
  EXPECT_EQ(find_device_elf(bytes_of("not a fat binary"), 0, "x").status().to_string(),
            "corrupt: x: fat binary offset 0: no fat binary starts here (wrong magic)");
  fat = make_fat_binary({{2, 90, bytes_of("elf90...")}});
  put(fat, 16 + 8, uint64_t{1} << 60);
  EXPECT_EQ(find_device_elf(fat, 0, "x").status().to_string(),
            "corrupt: x: fat binary offset 16: an entry reaches beyond the end");
}

TEST(FatBinary, IsFoundThroughItsWrapper) {
  ByteVector fat = make_fat_binary({{2, 90, bytes_of("elf90...")}});
  testing::TestWrapper wrapper;
  wrapper.fat_binary = fat.data();
  EXPECT_EQ(fat_binary_of_wrapper(&wrapper)->size(), fat.size());
  wrapper.magic = 5;
  EXPECT_EQ(fat_binary_of_wrapper(&wrapper).status().to_string(),
            "corrupt: a fat binary was registered whose wrapper has magic 0x5, 0x466243b1 expected");
}

}  // namespace
}  // namespace mneme
