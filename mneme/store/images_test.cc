// The program's own code in a database: kept once for all kernels, checked, and healed.
#include <gmock/gmock.h>

#include "mneme/store/image_file.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using Kind = CodeImageRecord::Kind;

CodeImageRecord record_of(Kind kind, const ByteVector& code) { return {kind, digest_of(code), Bytes(code.size())}; }

KernelRecord with_image(KernelRecord kernel, Kind kind, const ByteVector& code) {
  kernel.level = kind == Kind::ptx ? CodeLevel::ptx : CodeLevel::cubin;
  kernel.images.push_back(record_of(kind, code));
  return kernel;
}

TEST(ImageFile, RoundTrip) {
  for (const ByteVector& code : {ByteVector(100000, std::byte{7}), noise(5000, 1), ByteVector()}) {
    const CodeImageRecord image = record_of(Kind::cubin, code);
    const ByteVector file = encode_image(image, code);
    EXPECT_LE(file.size(), code.size() + 88);
    auto decoded = decode_image(image, file, "i.cubin");
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(*decoded, code);
  }
  const ByteVector even(100000, std::byte{7});
  EXPECT_LT(encode_image(record_of(Kind::ptx, even), even).size(), 1000u) << "it is compressed";
}

TEST(ImageFile, NoticesEveryFlippedBitAndTruncation) {
  const ByteVector code(300, std::byte{1});
  const CodeImageRecord image = record_of(Kind::cubin, code);
  const ByteVector file = encode_image(image, code);
  for (size_t at = 0; at < file.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      ByteVector damaged = file;
      damaged[at] ^= static_cast<std::byte>(1 << bit);
      const Status status = decode_image(image, damaged, "i.cubin").status();
      EXPECT_EQ(status.code(), Code::corrupt) << "byte " << at << " bit " << bit;
      EXPECT_TRUE(status.message().starts_with("i.cubin: offset ")) << status.message();
    }
    EXPECT_EQ(decode_image(image, ByteSpan(file).first(at), "i.cubin").status().code(), Code::corrupt) << at;
  }
}

TEST(ImageFile, SaysWhatIsWrong) {
  const ByteVector code = noise(300, 1);
  const CodeImageRecord image = record_of(Kind::cubin, code);
  const ByteVector file = encode_image(image, code);
  const auto refusal = [&](const ByteVector& bytes) { return decode_image(image, bytes, "i.cubin").status().to_string(); };
  EXPECT_EQ(refusal({}), "corrupt: i.cubin: offset 0: the file is empty");
  EXPECT_EQ(refusal(ByteVector(file.begin(), file.begin() + 40)),
            "corrupt: i.cubin: offset 40: the file is too short for an image (40 bytes)");
  EXPECT_EQ(refusal(ByteVector(200)), "corrupt: i.cubin: offset 0: this is no image of code (wrong magic)");
  EXPECT_EQ(refusal(ByteVector(file.begin(), file.end() - 1)),
            "corrupt: i.cubin: offset 16: the file has 387 bytes, 388 expected");
  ByteVector changed = file;
  changed.back() ^= std::byte{1};
  EXPECT_EQ(refusal(changed), "corrupt: i.cubin: offset 24: the file's checksum is wrong: it was damaged");
  changed = file;
  changed[8] = std::byte{6};
  EXPECT_EQ(refusal(changed),
            "corrupt: i.cubin: offset 8: the format version is 6.3, and the checksum that of version 2.3: it was damaged");
  changed[24] ^= std::byte{1};
  EXPECT_EQ(refusal(changed),
            "incompatible: i.cubin: format version 6.3, this Mneme reads versions 1.x to 5.x: use a newer Mneme");
}

// What no Mneme has written, under a checksum that is right.
TEST(ImageFile, BoundsWhatTheChecksumLetsThrough) {
  const ByteVector code(5000, std::byte{1});
  const CodeImageRecord image = record_of(Kind::cubin, code);
  const auto refusal = [&](const CodeImageRecord& written, const std::function<void(ByteVector&)>& change) {
    ByteVector file = encode_image(written, code);
    change(file);
    const ByteSpan all(file);
    const Digest checksum = Hasher().add(all.first(24)).add(ByteVector(16)).add(all.subspan(40)).finish();
    std::memcpy(file.data() + 24, checksum.bytes.data(), 16);
    return decode_image(written, file, "i.cubin").status().message();
  };
  const auto nothing = [](ByteVector&) {};
  EXPECT_EQ(refusal(image, nothing), "");
  EXPECT_EQ(refusal(image, [](ByteVector& f) { f[12] = std::byte{96}; }),
            "i.cubin: offset 12: a header of 96 bytes, 88 expected");
  EXPECT_EQ(refusal(image, [](ByteVector& f) { f[68] = std::byte{2}; }), "i.cubin: offset 68: the encoding 2 is not known");
  EXPECT_EQ(refusal(image, [](ByteVector& f) { f[80] = std::byte{2}; }), "i.cubin: offset 72: reserved bytes are not zero");
  for (size_t at : {40, 56, 64})
    EXPECT_EQ(refusal(image, [&](ByteVector& f) { f[at] ^= std::byte{1}; }), "i.cubin: offset 40: the file holds another image");
  EXPECT_THAT(refusal(image, [](ByteVector& f) { f[68] = std::byte{0}; }), HasSubstr(" bytes of code, 5000 expected"));
  CodeImageRecord large = image;
  large.size = Bytes(uint64_t{1} << 50);
  EXPECT_THAT(refusal(large, nothing), HasSubstr("i.cubin: offset 88: decompressing the image: zstd: "));
  CodeImageRecord other = image;
  other.digest = Digest();
  EXPECT_EQ(refusal(other, nothing),
            fmt::format("i.cubin: offset 88: the code's digest is {}, {} expected", image.digest.hex(), Digest().hex()));
}

class Images : public testing::Test {
 protected:
  static ByteVector code(uint32_t seed) {
    ByteVector bytes = noise(4000, seed);
    bytes.resize(9000);
    return bytes;
  }
  Result<Digest> publish(Database& database, const KernelRecord& kernel, std::vector<ByteVector> images,
                         const PublicationOptions& options = {}) const {
    MNEME_ASSIGN(auto publication, database.begin_publication(options));
    Recording recording{kernel, {}, sample_instance(kernel), {}, {}, {images.begin(), images.end()}};
    if (kernel.level == CodeLevel::ir) recording.ir = noise(500, 7);
    Region region = sample_region(memory_);
    MNEME_TRY(publication->put(batch_of(memory_.before, region)));
    MNEME_TRY(publication->wait());
    recording.prologue.regions = recording.epilogue.regions = {region};
    recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
    const Bytes had = *database.disk_size();
    MNEME_TRY(publication->commit(recording));
    EXPECT_GE(publication->written(), *database.disk_size() - had);
    return recording.instance.dynamic_hash;
  }
  std::vector<std::string> image_files() const {
    std::vector<std::string> names = *FileSystem::posix().list(directory_.path());
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("Image_"); });
    return names;
  }
  static void flip(const Path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(100);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(100);
    file.put(byte);
  }

  TemporaryDirectory directory_;
  SampleMemory memory_ = sample_memory(1, 3000);
};

TEST_F(Images, AreReadBackAndKeptOnceForAllKernels) {
  auto database = Database::create(directory_.path());
  KernelRecord first = with_image(sample_kernel("first"), Kind::cubin, code(1));
  const KernelRecord second = with_image(sample_kernel("second"), Kind::cubin, code(1));
  first = with_image(first, Kind::ptx, code(2));
  const auto dynamic = publish(*database, first, {code(1), code(2)});
  ASSERT_TRUE(dynamic.ok()) << dynamic.status().message();
  ASSERT_TRUE(publish(*database, second, {code(1)}).ok());
  EXPECT_THAT(image_files(), testing::UnorderedElementsAre("Image_" + digest_of(code(1)).hex() + ".cubin",
                                                           "Image_" + digest_of(code(2)).hex() + ".ptx"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / ir_file_name(first.static_hash)));

  auto reader = Database::open(directory_.path());
  EXPECT_EQ(*reader->load_kernel(first.static_hash), first);
  EXPECT_EQ(*reader->load_image(first.images[0]), code(1));
  EXPECT_EQ(*reader->load_image(first, Kind::ptx), code(2));
  EXPECT_EQ(reader->load_image(second, Kind::ptx).status().to_string(),
            fmt::format("not_found: {}: the kernel was recorded without an image of the kind ptx",
                        (directory_.path() / kernel_file_name(second.static_hash)).string()));
  EXPECT_EQ(reader->load_ir(second.static_hash).status().to_string(),
            fmt::format("unsupported: {}: the kernel was recorded as machine code (cubin), without LLVM IR",
                        (directory_.path() / kernel_file_name(second.static_hash)).string()));
  EXPECT_TRUE(reader->check_instance(first.static_hash, *dynamic).ok());
  EXPECT_TRUE(*database->has_instance(first.static_hash, *dynamic));
}

TEST_F(Images, AreKeptBesideIr) {
  auto database = Database::create(directory_.path());
  for (const auto& [kind, name] : {std::pair(Kind::cubin, "nvidias"), std::pair(Kind::hsaco, "amds")}) {
    KernelRecord kernel = with_image(sample_kernel(name), kind, code(1));
    kernel.level = CodeLevel::ir;
    const auto dynamic = publish(*database, kernel, {code(1)});
    ASSERT_TRUE(dynamic.ok()) << dynamic.status().message();
    auto reader = Database::open(directory_.path());
    const auto image = reader->load_image(kernel, kind);
    ASSERT_TRUE(image.ok()) << image.status().message();
    EXPECT_EQ(*image, code(1));
    const auto ir = reader->load_ir(kernel.static_hash);
    ASSERT_TRUE(ir.ok()) << ir.status().message();
    EXPECT_EQ(*ir, noise(500, 7));
    EXPECT_EQ(reader->load_kernel(kernel.static_hash)->images, kernel.images);
    EXPECT_TRUE(reader->check_instance(kernel.static_hash, *dynamic).ok());
    EXPECT_TRUE(std::filesystem::exists(directory_.path() / image_file_name(kernel.images[0])));
  }
  ASSERT_TRUE(Database::open(directory_.path())->remove_all(Deed::remove).ok());
  for (const char* end : {".cubin", ".hsaco"})
    EXPECT_FALSE(std::filesystem::exists(directory_.path() / ("Image_" + digest_of(code(1)).hex() + end))) << end;
}

// A kernel of machine code whose IR is found later.
KernelRecord with_ir(KernelRecord kernel) {
  kernel.level = CodeLevel::ir;
  kernel.arch = "sm_90a";
  kernel.images.clear();  // what is there stays
  return kernel;
}

TEST_F(Images, IrThatIsFoundLaterIsAddedOnceAndInstancesStay) {
  auto database = Database::create(directory_.path());
  const KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, code(1));
  const auto dynamic = publish(*database, kernel, {code(1)});
  ASSERT_TRUE(dynamic.ok()) << dynamic.status().message();
  for (uint32_t seed : {7, 8}) {
    const Status added = database->add_ir(with_ir(kernel), noise(500, seed));
    ASSERT_TRUE(added.ok()) << added.to_string();
    auto reader = Database::open(directory_.path());
    EXPECT_EQ(*reader->load_ir(kernel.static_hash), noise(500, 7)) << "whole IR is not replaced";
    const KernelRecord found = *reader->load_kernel(kernel.static_hash);
    EXPECT_EQ(found.arch, "sm_90a");
    EXPECT_EQ(found.images, kernel.images);
    EXPECT_TRUE(reader->check_instance(kernel.static_hash, *dynamic).ok());
  }
  // Recording again finds the kernel as it is.
  EXPECT_TRUE(*Database::create(directory_.path())->has_instance(kernel.static_hash, *dynamic));
  ASSERT_TRUE(publish(*database, kernel, {code(1)}).ok());
  EXPECT_EQ(Database::open(directory_.path())->load_kernel(kernel.static_hash)->level, CodeLevel::ir);
  // What is damaged is added anew.
  flip(directory_.path() / ir_file_name(kernel.static_hash));
  ASSERT_TRUE(Database::create(directory_.path())->add_ir(with_ir(kernel), noise(500, 9)).ok());
  EXPECT_EQ(*Database::open(directory_.path())->load_ir(kernel.static_hash), noise(500, 9));
}

TEST_F(Images, IrIsAddedToAKernelThatIsThereAlone) {
  auto database = Database::create(directory_.path());
  KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, code(1));
  EXPECT_EQ(database->add_ir(with_ir(kernel), noise(500, 7)).code(), Code::not_found);
  ASSERT_TRUE(publish(*database, kernel, {code(1)}).ok());
  EXPECT_EQ(
      database->add_ir(kernel, noise(500, 7)).to_string(),
      "invalid_argument: adding IR to the kernel kernel: what is given is of the level cubin, and has 0 bytes of parameters "
      "where 0 were recorded");
  kernel = with_ir(kernel);
  kernel.parameter_bytes = 8;
  EXPECT_EQ(database->add_ir(kernel, noise(500, 7)).to_string(),
            "invalid_argument: adding IR to the kernel kernel: what is given is of the level ir, and has 8 bytes of parameters "
            "where 0 were recorded");
}

TEST_F(Images, IrIsAddedWholeOrNotAtAll) {
  const KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, code(1));
  auto first = Database::create(directory_.path());
  const auto dynamic = publish(*first, kernel, {code(1)});
  bool added = false;
  for (int operations = 0; !added; ++operations) {
    ASSERT_LT(operations, 100);
    int allowed = 1 << 20;
    auto files = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) -> Status {
      const bool changes = operation != "open" && operation != "read" && operation != "lock";
      if (changes && allowed-- <= 0) return error(Code::exhausted, "{} {}: No space left on device", operation, path.string());
      return {};
    });
    auto changed = Database::create(directory_.path(), *files);
    allowed = operations;
    added = changed->add_ir(with_ir(kernel), noise(500, 7)).ok();
    auto reader = Database::open(directory_.path());
    const Status whole = reader->check_instance(kernel.static_hash, *dynamic);
    EXPECT_TRUE(whole.ok()) << "after " << operations << " operations: " << whole.message();
    // The last operations sync what is there already.
    if (added) EXPECT_EQ(reader->load_kernel(kernel.static_hash)->level, CodeLevel::ir);
  }
}

TEST_F(Images, ThatAreMissingOrDamagedAreHealedByRecordingAgain) {
  const KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, code(1));
  const Path image = directory_.path() / image_file_name(kernel.images[0]);
  Digest dynamic;
  {
    auto database = Database::create(directory_.path());
    dynamic = *publish(*database, kernel, {code(1)});
  }
  for (bool missing : {false, true}) {
    missing ? void(std::filesystem::remove(image)) : flip(image);
    EXPECT_EQ(Database::open(directory_.path())->check_instance(kernel.static_hash, dynamic).to_string(),
              missing ? fmt::format("corrupt: {} is missing, though its kernel's file is there", image.string())
                      : fmt::format("corrupt: {}: offset 24: the file's checksum is wrong: it was damaged", image.string()));
    auto database = Database::create(directory_.path());
    EXPECT_FALSE(*database->has_instance(kernel.static_hash, dynamic));
    ASSERT_TRUE(publish(*database, kernel, {code(1)}).ok());
    EXPECT_TRUE(*database->has_instance(kernel.static_hash, dynamic));
    EXPECT_TRUE(Database::open(directory_.path())->check_instance(kernel.static_hash, dynamic).ok());
  }
}

// A kernel keeps its static hash when other kernels of its image change.
TEST_F(Images, AnotherTakesThePlaceOfTheOneThatIsDamagedAndOfNoOther) {
  const KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, code(1)),
                     rebuilt = with_image(sample_kernel(), Kind::cubin, code(2));
  {
    auto database = Database::create(directory_.path());
    ASSERT_TRUE(publish(*database, kernel, {code(1)}).ok());
    ASSERT_TRUE(publish(*database, rebuilt, {code(2)}).ok());
    EXPECT_EQ(*database->load_kernel(kernel.static_hash), kernel) << "what is whole stays";
    EXPECT_EQ(image_files().size(), 1u);
  }
  flip(directory_.path() / image_file_name(kernel.images[0]));
  auto database = Database::create(directory_.path());
  ASSERT_TRUE(publish(*database, rebuilt, {code(2)}).ok());
  EXPECT_EQ(*database->load_kernel(kernel.static_hash), rebuilt);
  EXPECT_EQ(*database->load_image(rebuilt.images[0]), code(2));
}

TEST_F(Images, CountTowardsTheLimit) {
  auto database = Database::create(directory_.path());
  const KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, noise(100000, 1));
  PublicationOptions options;
  options.limit = Bytes(50000);
  const auto refused = publish(*database, kernel, {noise(100000, 1)}, options);
  EXPECT_EQ(refused.status().code(), Code::exhausted);
  EXPECT_TRUE(image_files().empty());
  options.limit = Bytes(150000);
  EXPECT_TRUE(publish(*database, kernel, {noise(100000, 1)}, options).ok());
  options.limit = Bytes(50000);
  EXPECT_TRUE(
      publish(*database, with_image(sample_kernel("other"), Kind::cubin, noise(100000, 1)), {noise(100000, 1)}, options).ok())
      << "what is there already adds nothing";
}

TEST_F(Images, MustBeThoseOfTheRecord) {
  auto database = Database::create(directory_.path());
  const KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, code(1));
  EXPECT_EQ(publish(*database, kernel, {}).status().to_string(),
            "invalid_argument: publishing the kernel kernel: 1 images are recorded, and the bytes of 0 are given");
  EXPECT_EQ(publish(*database, kernel, {code(2)}).status().to_string(),
            "invalid_argument: publishing the kernel kernel: the bytes of image 0 are not those that its record names");
}

TEST_F(Images, SomethingElseInTheirPlaceConcernsTheirKernelAlone) {
  const KernelRecord kernel = with_image(sample_kernel(), Kind::cubin, code(1));
  auto database = Database::create(directory_.path());
  std::filesystem::create_directory(directory_.path() / image_file_name(kernel.images[0]));
  EXPECT_FALSE(publish(*database, kernel, {code(1)}).ok());
  EXPECT_TRUE(database->check_own_files(kernel.static_hash, {}).ok());
  EXPECT_FALSE(database->check_own_files(kernel.static_hash, {}, kernel.images).ok());
}

// A reader of version 2 would launch without them.
TEST_F(Images, AListWithALaunchInClustersIsOfVersion3) {
  const KernelRecord kernel = sample_kernel();
  auto database = Database::create(directory_.path());
  const auto head = [&] {
    const auto bytes = *FileSystem::posix().read(directory_.path() / list_file_name(kernel.static_hash));
    return decode_list_header({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "list")->version;
  };
  ASSERT_TRUE(publish_sample(*database, kernel, memory_).ok());
  EXPECT_EQ(head(), kCommonVersion);
  auto publication = *database->begin_publication({});
  Recording recording{kernel, noise(500, 7), sample_instance(kernel), {}, {}, {}};
  recording.instance.cluster = {2, 1, 1};
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, {});
  ASSERT_TRUE(publication->commit(recording).ok());
  EXPECT_EQ(head(), kCodeLevelVersion);
  ASSERT_TRUE(publish_sample(*database, kernel, sample_memory(2)).ok());
  EXPECT_EQ(head(), kCodeLevelVersion);
  EXPECT_EQ(database->load_instance(kernel.static_hash, recording.instance.dynamic_hash)->instance.cluster, (Dim3{2, 1, 1}));
}

}  // namespace
}  // namespace mneme
