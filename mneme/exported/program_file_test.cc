// The file of an exported program: written, read, and damaged in every byte; and what stands in its description.
#include "mneme/exported/program_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "mneme/exported/description.h"
#include "mneme/store/testing/bytes.h"

namespace mneme {
namespace {

using testing::HasSubstr;

class FileOfBytes final : public ReadableFile {
 public:
  explicit FileOfBytes(ByteVector bytes) : bytes_(std::move(bytes)) {}
  Bytes size() const override { return Bytes(bytes_.size()); }
  Status read(uint64_t offset, MutableByteSpan into) override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset) return error(Code::corrupt, "the bytes end before");
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }

 private:
  const ByteVector bytes_;
};

ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

ByteVector made() {
  BytesWritten out;
  ProgramWriter program(out);
  EXPECT_TRUE(program.put_runner(bytes_of("runner")).ok());
  EXPECT_TRUE(program.put_description(bytes_of("{}")).ok());
  EXPECT_TRUE(program.put_code(bytes_of("code")).ok());
  EXPECT_TRUE(program.put_archive([](WritableFile& to) { return to.append(bytes_of("archive")); }).ok());
  EXPECT_TRUE(program.finish().ok());
  return std::move(out.bytes);
}

Result<ProgramParts> read(ByteVector bytes) { return read_program(std::make_unique<FileOfBytes>(std::move(bytes)), "./add"); }

TEST(ProgramFile, IsReadAsItWasWritten) {
  const auto parts = read(made());
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  EXPECT_EQ(parts->description, "{}");
  EXPECT_EQ(parts->code.size(), 4u);
  EXPECT_EQ(parts->archive, 12u);
  EXPECT_EQ(parts->archive_size, Bytes(7));
}

TEST(ProgramFile, TellsEveryFlippedBit) {
  const ByteVector whole = made();
  for (size_t at = 0; at < 8 * whole.size(); ++at) {
    ByteVector bytes = whole;
    bytes[at / 8] ^= std::byte(1 << (at % 8));
    const Status status = read(std::move(bytes)).status();
    EXPECT_EQ(status.code(), Code::corrupt) << at;
    EXPECT_THAT(status.message(), HasSubstr("./add")) << at;
  }
}

TEST(ProgramFile, TellsThatItWasCutShort) {
  const ByteVector whole = made();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Status status = read({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}).status();
    EXPECT_EQ(status.message(), "./add does not end as an exported program does: it was cut short or damaged, or is none");
  }
}

// A trailer of other numbers, whose digest is right.
ByteVector sealed(size_t offset, uint8_t value) {
  ByteVector bytes = made();
  bytes[bytes.size() - 64 + offset] = std::byte(value);
  const Digest digest = digest_of(ByteSpan(bytes).first(bytes.size() - 16));
  std::memcpy(bytes.data() + bytes.size() - 16, digest.bytes.data(), 16);
  return bytes;
}

TEST(ProgramFile, RefusesANewerFormatAndSizesThatAreNotTheFiles) {
  const Status newer = read(sealed(8, 2)).status();
  EXPECT_EQ(newer.code(), Code::incompatible);
  EXPECT_EQ(newer.message(), "./add is a program of format 2.1, and this runner reads format 1");
  for (const size_t offset : {16, 23, 24, 32, 40, 47}) {
    const Status sizes = read(sealed(offset, 200)).status();
    EXPECT_EQ(sizes.code(), Code::corrupt) << offset;
    EXPECT_EQ(sizes.message(), "./add: the sizes of its parts are not that of the file") << offset;
  }
}

ProgramDescription sample() {
  ProgramDescription d;
  d.static_hash = digest_of(bytes_of("kernel"));
  d.dynamic_hash = digest_of(bytes_of("launch"));
  d.device = DeviceKind::cuda;
  d.architecture = "sm_90";
  d.mneme_version = "0.1.0";
  d.pipeline = "default<O3>";
  d.assembler = "driver";
  d.shape = {{4, 5, 6}, {7, 8, 9}, Bytes(1024), true, {2, 1, 1}};
  d.jit.level = 2;
  d.jit.max_registers = 64;
  d.jit.load_cache = JitOptions::LoadCache::cg;
  d.state = {"counter"};
  d.pieces = {{"argument 'out'", DevicePtr(0x7a0000000000), Bytes(64), ElementType::f32},
              {"allocation 0x7a0000000200", DevicePtr(0x7a0000000200), Bytes(3), std::nullopt}};
  d.memory = Bytes(67);
  d.left_out = Bytes(1 << 20);
  d.kept = "the launch has textures";
  d.masked = Bytes(12);
  d.unmasked = "none was asked for";
  d.runs = 3;
  return d;
}

TEST(ProgramDescription, IsReadAsItWasWritten) {
  for (ProgramDescription d : {sample(), ProgramDescription()}) {
    const auto read = decode_description(encode_description(d), "x");
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(*read, d);
  }
}

TEST(ProgramDescription, NamesWhatIsWrong) {
  const std::string whole = encode_description(sample());
  const auto with = [&](const std::string& old, const std::string& other) {
    std::string text = whole;
    text.replace(text.find(old), old.size(), other);
    return decode_description(text, "x").status();
  };
  EXPECT_THAT(with("\"cuda\"", "\"abacus\"").message(), HasSubstr("abacus"));
  EXPECT_THAT(with("\"f32\"", "\"f31\"").message(), HasSubstr("/pieces/0: "));
  EXPECT_THAT(with("\"counter\"", "7").message(), HasSubstr("/state/0: it is no text"));
  EXPECT_THAT(with("\"runs\": 3", "\"runs\": -3").message(), HasSubstr("/runs"));
  EXPECT_THAT(with("\"memory\"", "\"memoir\"").message(), HasSubstr("the key 'memory' is missing"));
  EXPECT_EQ(decode_description("{", "x").status().code(), Code::corrupt);
  for (size_t size = 0; size + 3 < whole.size(); ++size)
    EXPECT_EQ(decode_description(whole.substr(0, size), "x").status().code(), Code::corrupt) << size;
}

}  // namespace
}  // namespace mneme
