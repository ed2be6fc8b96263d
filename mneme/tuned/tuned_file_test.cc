#include "mneme/tuned/tuned_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "mneme/base/file_system.h"
#include "mneme/snapshot/container.h"

namespace mneme {
namespace {

using testing::HasSubstr;

ByteVector bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Every member has a value of its own. The corpus is this.
TunedFile small_file() {
  TunedKernel kernel;
  kernel.static_hash = digest_of(bytes_of("scale"));
  kernel.name = "_Z5scalePiii";
  kernel.demangled = "scale(int*, int, int)";
  kernel.device = "cuda";
  kernel.architecture = "sm_90";
  kernel.rule = {LaunchRule::Covers::block, {{313, 1, 1}, {128, 1, 1}}, {{626, 1, 1}, {64, 1, 1}}, 1024};
  kernel.arguments = {{2, bytes_of("\3\4\5\6")}};
  kernel.aligned = {{0, 256}};
  kernel.alone = {{0, {{1, 0}, {2, 8}}}};
  kernel.variables = {"offsets"};
  kernel.tolerances = {{{0, 8}, 64, 512, {ElementType::f32, 1e-5, ErrorKind::relative}, {}},
                       {{}, 8, 16, {ElementType::f64, 1e-9, ErrorKind::absolute}, 0}};
  kernel.repeatable = Repeatable::yes;
  kernel.evidence = {
      {digest_of(bytes_of("launch"))}, {1.5, 1.4, 1.6}, true, 2000, 1333.25, "NVIDIA H200", "0.1.0", "nvptxcompiler", "580.95",
      R"({"passes": "default<O3>"})"};
  TunedFile file;
  file.add(kernel, bytes_of("some machine code"));
  kernel.rule = {LaunchRule::Covers::any, {}, {}, 0};
  kernel.device = "cpu";
  file.add(kernel, bytes_of("code of the host"));
  return file;
}

TEST(TunedFile, WhatIsWrittenIsRead) {
  const auto read = decode_tuned(encode_tuned(small_file()), "app.tuned");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, small_file());
  EXPECT_EQ(decode_tuned(encode_tuned({}), "app.tuned").value(), TunedFile());
}

TEST(TunedFile, FilesOfEachVersionAreReadForEver) {
  TunedFile first = small_file();  // which had no word of tolerances, and of running twice
  for (TunedKernel& kernel : first.kernels) kernel.tolerances = {}, kernel.repeatable = Repeatable::unknown;
  TunedFile second = small_file();  // which had none of variables
  for (TunedKernel& kernel : second.kernels) kernel.tolerances.pop_back();
  for (const auto& [name, expected] :
       {std::pair("tuned-1.0.tuned", first), std::pair("tuned-1.1.tuned", second), std::pair("tuned-1.2.tuned", small_file())}) {
    const auto bytes = FileSystem::posix().read(Path(MNEME_TEST_CORPORA) / name);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const auto read = decode_tuned(*bytes, name);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, expected) << name;
  }
}

TEST(TunedFile, NoFileThatWasDamagedOrCutShortIsRead) {
  const ByteVector whole = encode_tuned(small_file());
  for (size_t i = 0; i < whole.size(); ++i) {
    ByteVector damaged = whole;
    damaged[i] ^= std::byte{0x10};
    EXPECT_EQ(decode_tuned(damaged, "app.tuned").status().code(), Code::corrupt) << "byte " << i;
    EXPECT_EQ(decode_tuned(ByteSpan(whole).first(i), "app.tuned").status().code(), Code::corrupt) << i << " bytes";
  }
  EXPECT_EQ(decode_tuned(bytes_of("ELF"), "app").status().message(), "app: this is no file of `mneme deploy`");
}

// Damage that a right checksum hides: what somebody else may have made.
TEST(TunedFile, HostileFilesAreRefused) {
  const ByteVector whole = encode_tuned(small_file());
  const std::string_view text(reinterpret_cast<const char*>(whole.data()), whole.size());
  const auto with = [&](std::string_view from, std::string_view to) {
    ByteVector changed = whole;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    EXPECT_EQ(from.size(), to.size());
    std::memcpy(changed.data() + at, to.data(), to.size());
    seal_container(changed);
    return decode_tuned(changed, "app.tuned").status().message();
  };
  EXPECT_THAT(with(R"("image":0)", R"("image":7)"), HasSubstr("'image' is 7, and there are 2"));
  EXPECT_THAT(with(R"("alignment":256)", R"("alignment":255)"), HasSubstr("'alignment' is no power of two"));
  EXPECT_THAT(with(R"("bytes":17)", R"("bytes":99)"), HasSubstr("an image of 99 bytes does not fit"));
  EXPECT_THAT(with(R"("bytes":17)", R"("bytes":16)"), HasSubstr("the image has another digest"));
  EXPECT_THAT(with(R"("covers":"any")", R"("covers":"all")"), HasSubstr("'covers' is none of shape, block and any"));
  EXPECT_THAT(with(R"("repeatable":"yes")", R"("repeatable":"may")"), HasSubstr("'repeatable' is none of unknown, yes and no"));
  EXPECT_THAT(with(R"("variable":0)", R"("variable":1)"), HasSubstr("'variable' is 1, and there are 1"));
  EXPECT_THAT(with("f32, 1e-05", "f33, 1e-05"), HasSubstr("f33"));
  EXPECT_THAT(with(R"([626,1,1])", R"([626,0,1])"), HasSubstr("an extent of 0"));
  EXPECT_THAT(with("some machine code", "some machine c0de"), HasSubstr("the image has another digest"));
  for (size_t i = sizeof(ContainerStart); i < whole.size(); ++i) {
    ByteVector changed = whole;
    changed[i] ^= std::byte{0x41};
    seal_container(changed);
    [[maybe_unused]] const auto ignored = decode_tuned(changed, "app.tuned");  // ends, whatever it says
  }
}

TEST(TunedFile, AFileOfANewerMnemeIsToldFromADamagedOne) {
  ByteVector newer = encode_tuned(small_file());
  newer[8] = std::byte{2};
  newer[10] = std::byte{};
  seal_container(newer);
  const Status status = decode_tuned(newer, "app.tuned").status();
  EXPECT_EQ(status.code(), Code::incompatible);
  EXPECT_EQ(status.message(), "app.tuned: the format's version is 2.0, and this Mneme reads 1.x: use the Mneme that wrote it");
  newer[8] = std::byte{1};
  newer[10] = std::byte{3};  // a minor version only adds
  seal_container(newer);
  EXPECT_TRUE(decode_tuned(newer, "app.tuned").ok());
}

TEST(TunedFile, WhatIsForTheSameLaunchesTakesTheOthersPlace) {
  TunedFile file = small_file();
  TunedKernel better = file.kernels[0];
  better.evidence.speed_up.value = 2;
  file.add(better, bytes_of("better code"));
  EXPECT_EQ(file.kernels.size(), 2u);
  EXPECT_EQ(file.images.size(), 2u);
  EXPECT_EQ(file.images[file.kernels[1].image], bytes_of("better code"));
  EXPECT_EQ(file.images[file.kernels[0].image], bytes_of("code of the host"));

  TunedKernel elsewhere = better;
  elsewhere.architecture = "sm_100";
  TunedFile other;
  other.add(elsewhere, bytes_of("better code"));
  file.add(other);
  EXPECT_EQ(file.kernels.size(), 3u);
  EXPECT_EQ(file.images.size(), 2u);
}

TEST(LaunchRule, ForOneShape) {
  const LaunchRule rule{LaunchRule::Covers::shape, {{10, 2, 1}, {32, 1, 1}}, {{5, 2, 1}, {64, 1, 1}, Bytes(8)}};
  EXPECT_EQ(rule.apply({{10, 2, 1}, {32, 1, 1}}), (ProgramShape{{5, 2, 1}, {64, 1, 1}, Bytes(8)}));
  EXPECT_EQ(rule.apply({{11, 2, 1}, {32, 1, 1}}), std::nullopt);
  EXPECT_EQ(rule.apply({{10, 2, 1}, {32, 1, 1}, Bytes(4)}), std::nullopt);
}

TEST(LaunchRule, ForAsManyThreadsInOtherBlocks) {
  const LaunchRule rule{LaunchRule::Covers::block, {{10, 1, 1}, {96, 1, 1}}, {{15, 1, 1}, {64, 1, 1}}};
  EXPECT_EQ(rule.apply({{10, 1, 1}, {96, 1, 1}}), (ProgramShape{{15, 1, 1}, {64, 1, 1}}));
  EXPECT_EQ(rule.apply({{2, 7, 1}, {96, 1, 1}}), (ProgramShape{{3, 7, 1}, {64, 1, 1}}));
  EXPECT_EQ(rule.apply({{1, 1, 1}, {96, 1, 1}}), std::nullopt);  // 96 threads are no blocks of 64
  EXPECT_EQ(rule.apply({{10, 1, 1}, {32, 1, 1}}), std::nullopt);
  EXPECT_EQ(rule.apply({{10, 1, 1}, {96, 1, 1}, Bytes(), true}), std::nullopt);
}

TEST(LaunchRule, ClustersStayAndAreWhole) {
  const ProgramShape pairs{{10, 1, 1}, {96, 1, 1}, Bytes(), false, {2, 1, 1}};
  LaunchRule rule{LaunchRule::Covers::any, pairs, pairs, 0};
  EXPECT_EQ(rule.apply(pairs), pairs);
  EXPECT_EQ(rule.apply({{10, 1, 1}, {96, 1, 1}}), std::nullopt);
  EXPECT_EQ(rule.apply({{10, 1, 1}, {96, 1, 1}, Bytes(), false, {5, 1, 1}}), std::nullopt);
  rule.covers = LaunchRule::Covers::shape;
  EXPECT_EQ(rule.apply(pairs), pairs);
  rule.tuned.cluster = {5, 1, 1};
  EXPECT_EQ(rule.apply(pairs), std::nullopt);
  rule = {LaunchRule::Covers::block, pairs, pairs, 0};
  rule.tuned.block.x = 64;
  EXPECT_EQ(rule.apply({{4, 1, 1}, {96, 1, 1}, Bytes(), false, {2, 1, 1}}),
            (ProgramShape{{6, 1, 1}, {64, 1, 1}, Bytes(), false, {2, 1, 1}}));
  EXPECT_EQ(rule.apply(pairs), std::nullopt) << "15 blocks are no clusters of 2";
}

TEST(LaunchRule, IsUndone) {
  const ProgramShape launch{{2, 7, 1}, {96, 1, 1}};
  LaunchRule rule{LaunchRule::Covers::block, {{10, 1, 1}, {96, 1, 1}}, {{15, 1, 1}, {64, 1, 1}}};
  EXPECT_EQ(rule.undo(*rule.apply(launch)), launch);
  rule.covers = LaunchRule::Covers::shape;
  EXPECT_EQ(rule.undo(*rule.apply(rule.recorded)), rule.recorded);
  rule.covers = LaunchRule::Covers::any;
  EXPECT_EQ(rule.undo(*rule.apply(launch)), launch);
}

TEST(LaunchRule, ForLaunchesOfAnyShape) {
  const LaunchRule rule{LaunchRule::Covers::any, {}, {}, 128};
  EXPECT_EQ(rule.apply({{3, 1, 1}, {128, 1, 1}, Bytes(4)}), (ProgramShape{{3, 1, 1}, {128, 1, 1}, Bytes(4)}));
  EXPECT_EQ(rule.apply({{3, 1, 1}, {129, 1, 1}}), std::nullopt);
  EXPECT_EQ(rule.apply({{0, 1, 1}, {32, 1, 1}}), std::nullopt);
  EXPECT_EQ(rule.apply({{3, 1, 1}, {32, 1, 1}, Bytes(), true}), std::nullopt);
}

}  // namespace
}  // namespace mneme
