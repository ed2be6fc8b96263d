// Databases of every format version since the first stay readable.
#include <gtest/gtest.h>

#include <cstring>

#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

std::vector<int> ints_of(const Database& database, const Region& region) {
  auto bytes = read_region(database, region);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  std::vector<int> ints(region.size.count / sizeof(int));
  if (bytes.ok()) std::memcpy(ints.data(), bytes->data(), ints.size() * sizeof(int));
  return ints;
}

const Region& region_named(const MemoryState& state, const std::string& name) {
  return *std::find_if(state.regions.begin(), state.regions.end(), [&](const Region& region) { return region.name == name; });
}

// What make.cu did, whichever version of Mneme recorded it.
void check_corpus(const Path& directory) {
  auto database = Database::open(directory);
  ASSERT_TRUE(database.ok()) << database.status().message();
  auto listing = database->list();
  ASSERT_TRUE(listing.ok());
  ASSERT_TRUE(listing->damaged.empty()) << listing->damaged.front().message();
  ASSERT_EQ(listing->kernels.size(), 1u);
  const KernelDocument& document = listing->kernels[0];
  EXPECT_EQ(document.kernel.demangled, "scale(int*, int, int)");
  const bool is_hip = directory.filename() == "2.5";
  EXPECT_EQ(document.kernel.target, is_hip ? "amdgcn" : "nvptx");
  ASSERT_EQ(document.kernel.parameters.size(), 3u);
  const bool has_ir = document.kernel.level == CodeLevel::ir;
  EXPECT_EQ(document.kernel.parameters[0].kind, has_ir ? Parameter::Kind::pointer : Parameter::Kind::opaque);
  EXPECT_EQ(document.kernel.parameters[2].name, has_ir ? "factor" : "");
  EXPECT_EQ(database->load_ir(document.kernel.static_hash).ok(), has_ir);
  ASSERT_EQ(document.instances.size(), 1u);
  const InstanceRecord& instance = document.instances[0];
  EXPECT_EQ(instance.grid, (Dim3{313, 1, 1}));
  EXPECT_EQ(instance.block, (Dim3{128, 1, 1}));
  Status whole = database->check_instance(instance.static_hash, instance.dynamic_hash);
  EXPECT_TRUE(whole.ok()) << whole.message();

  auto recorded = database->load_instance(instance.static_hash, instance.dynamic_hash);
  ASSERT_TRUE(recorded.ok()) << recorded.status().message();
  EXPECT_EQ(dynamic_hash(recorded->instance, recorded->prologue), instance.dynamic_hash);
  // Since 2.3 and 3.1 only what the launch can reach.
  const size_t unrelated = instance.memory_extent == MemoryExtent::all ? 1 : 0;
  EXPECT_EQ(unrelated == 0, is_hip || directory.filename() == "2.3" || directory.filename() == "3.1");
  const bool has_textures = directory.filename() == "5.0";
  ASSERT_EQ(recorded->prologue.regions.size(), unrelated + (has_textures ? 4 : 3));
  const bool is_trimmed = directory.filename() == "2.4";
  EXPECT_EQ(instance.trimmed.has_value(), is_trimmed);
  if (is_trimmed)
    EXPECT_EQ(*instance.trimmed, (Trimming{{*Digest::from_hex("59779c44a50d4083720688bc55d52bf9")}, 1, Bytes(100)}));
  if (unrelated != 0)
    EXPECT_EQ(ints_of(*database, recorded->prologue.regions[0])[24], static_cast<int>(is_trimmed ? 0xa7a7a7a7 : 0x07070707));
  const Region &data = recorded->prologue.regions[unrelated], &data_after = recorded->epilogue.regions[unrelated];
  auto before = ints_of(*database, data), after = ints_of(*database, data_after);
  ASSERT_EQ(before.size(), 40000u);
  for (int i = 0; i < 40000; ++i) {
    ASSERT_EQ(before[static_cast<size_t>(i)], i);
    ASSERT_EQ(after[static_cast<size_t>(i)], 3 * i + 5 + i % 4);
  }
  EXPECT_EQ(ints_of(*database, region_named(recorded->prologue, "table")), (std::vector<int>{5, 6, 7, 8}));
  EXPECT_EQ(ints_of(*database, region_named(recorded->prologue, "odd")), std::vector<int>{0});
  EXPECT_EQ(ints_of(*database, region_named(recorded->epilogue, "odd")), std::vector<int>{40000});

  const bool outside = directory.filename() == "4.0";  // of the recorder's range
  EXPECT_EQ(recorded->prologue.regions[0].kind, outside ? Region::Kind::mapped : Region::Kind::allocation);
  EXPECT_EQ(data.kind, outside ? Region::Kind::managed : Region::Kind::allocation);

  const TextureSet& textures = recorded->prologue.textures;
  EXPECT_EQ(textures.empty(), !has_textures);
  if (has_textures) {
    ASSERT_EQ(textures.arrays.size(), 1u);
    EXPECT_EQ(textures.arrays[0].shape, (ArrayShape{16, 8, 0, {0x20, 1}, ArrayShape::kSurface, 2}));
    ASSERT_EQ(textures.objects.size(), 3u);
    EXPECT_EQ(textures.objects[0].sampling.border[3], 4);
    EXPECT_EQ(textures.objects[1].level, 1u);
    EXPECT_EQ(textures.objects[2].memory, data.range());
  }

  if (directory.filename() == "1.0") return;  // annotations are since 1.1
  const Annotation expected{data.address, Bytes(160000), "scaled", {ElementType::i32, 1}};
  EXPECT_EQ(instance.annotations, std::vector<Annotation>{expected});

  const KernelRecord& kernel = document.kernel;
  if (kernel.images.empty()) return;  // images and attributes are since 2.2, and kernels without IR since 3.0
  if (is_hip) {
    ASSERT_EQ(kernel.machine_code()->kind, CodeImageRecord::Kind::hsaco);
    const auto code_object = database->load_image(*kernel.machine_code());
    ASSERT_TRUE(code_object.ok()) << code_object.status().message();
    EXPECT_EQ(std::memcmp(code_object->data(),
                          "\x7f"
                          "ELF",
                          4),
              0);
    return;
  }
  EXPECT_EQ(kernel.level, directory.filename().string()[0] == '3' ? CodeLevel::ptx : CodeLevel::ir);
  EXPECT_EQ(instance.attributes, (std::map<std::string, std::string>{{"programmatic_stream_serialization", "1"}}));
  const auto cubin = database->load_image(kernel, CodeImageRecord::Kind::cubin),
             ptx = database->load_image(kernel, CodeImageRecord::Kind::ptx);
  ASSERT_TRUE(cubin.ok() && ptx.ok());
  EXPECT_EQ(std::memcmp(cubin->data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
  EXPECT_NE(std::string_view(reinterpret_cast<const char*>(ptx->data()), ptx->size()).find(".entry _Z5scalePiii"),
            std::string_view::npos);
}

TEST(Corpora, EveryVersionStaysReadable) {
  int corpora = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MNEME_TEST_CORPORA)) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path().string());
    check_corpus(entry.path());
    ++corpora;
  }
  EXPECT_GE(corpora, 1);
}

TEST(Corpora, TheVersionThatIsWrittenHasOne) {
  Path current = Path(MNEME_TEST_CORPORA) / fmt::format("{}.{}", kFormatVersion.major, kFormatVersion.minor);
  EXPECT_TRUE(std::filesystem::is_directory(current)) << current << " is missing: see tests/corpora/README.md";
  for (const FormatVersion version : {kCommonVersion, kTrimmedVersion, kCodeObjectVersion}) {
    current = Path(MNEME_TEST_CORPORA) / fmt::format("{}.{}", version.major, version.minor);
    EXPECT_TRUE(std::filesystem::is_directory(current)) << current << " is missing: see tests/corpora/README.md";
  }
}

}  // namespace
}  // namespace mneme
