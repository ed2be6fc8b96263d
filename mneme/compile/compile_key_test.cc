#include "mneme/compile/compile_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/compile/compiled_code.h"
#include "mneme/compile/testing/each_member.h"

namespace mneme {
namespace {

using testing_members::change_each;

// The members whose change gives a digest that there was already.
template <class Value, class DigestOf>
std::vector<std::string> left_out(Value value, DigestOf digest_of_value) {
  std::vector<std::string> found;
  std::map<Digest, std::string> seen{{digest_of_value(value), "none"}};
  change_each(value, [&](const std::string& name) {
    if (!seen.try_emplace(digest_of_value(value), name).second) found.push_back(name);
  });
  return found;
}

TEST(CompileKey, EveryMemberOfTheOptionsCounts) {
  const auto digest = [](const CompileOptions& options) {
    Hasher hasher;
    add_to(hasher, options);
    return hasher.finish();
  };
  EXPECT_EQ(left_out(CompileOptions(), digest), std::vector<std::string>());
}

TEST(CompileKey, EveryMemberOfATranslationCountsButItsTimes) {
  const auto digest = [](const Translation& translation) { return translation.digest(); };
  const Translation translation{"code", "sm_90", {}, {}, {}};
  EXPECT_EQ(left_out(translation, digest), std::vector<std::string>());
  Translation timed = translation;
  timed.times.push_back({"optimise", Nanoseconds(5)});
  EXPECT_EQ(timed.digest(), translation.digest());
}

// As of a plugin that was built anew, under its old name.
TEST(DescribeFile, WhatIsWrittenAnewIsAnotherFileWhateverItsSize) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "passes.so";
  std::ofstream(file) << "one";
  const std::string before = describe_file(file);
  EXPECT_EQ(describe_file(file), before);
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  const std::string anew = describe_file(file);
  EXPECT_NE(anew, before);
  std::ofstream(file, std::ios::app) << "more";
  EXPECT_NE(describe_file(file), anew);
  EXPECT_NE(describe_file(file), before);
}

TEST(CompiledCodeCodec, EveryMemberIsWrittenAndRead) {
  CompiledCode code;
  code.image.bytes.assign(40, std::byte{7});
  code.digest = digest_of(code.image.bytes);
  code.assembler = "lld";
  const ByteVector usual = encode(code);
  change_each(code, [&](const std::string& name) {
    const ByteVector changed = encode(code);
    EXPECT_NE(changed, usual) << name << " is not written";
    auto decoded = decode_compiled_code(changed, "x");
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.status().to_string();
    EXPECT_EQ(encode(*decoded), changed) << name << " is not read";
  });
}

TEST(CompileKey, WhereTheFirstPluginEndsCounts) {
  const TemporaryDirectory folder;
  CompileOptions options;
  for (const char* name : {"one.so", "two.so"}) options.pass_plugins.push_back((folder.path() / name).string());
  const auto digest_with = [&](std::string_view one, std::string_view two) {
    std::ofstream(options.pass_plugins[0]) << one;
    std::ofstream(options.pass_plugins[1]) << two;
    Hasher hasher;
    add_to(hasher, options);
    return hasher.finish();
  };
  EXPECT_NE(digest_with("ab", "c"), digest_with("a", "bc"));
}

TEST(CompileKey, TheBuildIsTheFileThatRuns) {
  EXPECT_THAT(build_identity(), testing::EndsWith(describe_file(std::filesystem::read_symlink("/proc/self/exe"))));
}

TEST(CompileKey, TheBuildIsTheLibrariesThatMakeCode) {
  const TemporaryDirectory folder;
  const std::vector<std::string> folders = {folder.path() / "first", folder.path() / "second"};
  for (const std::string& path : folders) std::filesystem::create_directory(path);
  EXPECT_EQ(describe_code_libraries(folders), "");
  EXPECT_THAT(code_libraries(),
              testing::ElementsAre(testing::StartsWith("libmneme_llvm.so."), testing::StartsWith("libLLVM.so.")));
  std::string before;
  for (const std::string& name : code_libraries()) {
    for (const char* more : {"one build", "another"}) {
      std::ofstream(folders[1] + "/" + name, std::ios::app) << more;
      const std::string now = describe_code_libraries(folders);
      EXPECT_NE(now, before) << name;
      EXPECT_THAT(now, testing::HasSubstr(describe_file(folders[1] + "/" + name)));
      before = now;
    }
  }
  const std::string nearer = folders[0] + "/" + code_libraries()[1];
  std::ofstream(nearer) << "the one that is loaded";
  EXPECT_EQ(describe_code_libraries(folders),
            describe_file(folders[1] + "/" + code_libraries()[0]) + " " + describe_file(nearer) + " ");
}

TEST(CompiledCodeCodec, AnotherVersionAndBytesBehindTheEndAreRefused) {
  CompiledCode code;
  code.image.bytes.assign(40, std::byte{7});
  const ByteVector usual = encode(code);
  ByteVector longer = usual;
  longer.push_back(std::byte{0});
  EXPECT_THAT(decode_compiled_code(longer, "x").status().message(), testing::HasSubstr("more than belongs there"));
  for (int step : {-1, 1}) {
    ByteVector other = usual;
    other[0] = std::byte(std::to_integer<int>(other[0]) + step);
    EXPECT_THAT(decode_compiled_code(other, "x").status().message(), testing::HasSubstr("version")) << step;
  }
}

TEST(CompileKey, WhereAListAndAnArgumentEndCounts) {
  const auto digest = [](const CompileOptions& options) {
    Hasher hasher;
    add_to(hasher, options);
    return hasher.finish();
  };
  CompileOptions options, kernels;
  options.assembler.options = {""};
  kernels.kernels = {""};
  EXPECT_NE(digest(options), digest(kernels));

  const auto bytes = [](std::initializer_list<uint64_t> values) {
    const auto parts = std::as_bytes(std::span(values.begin(), values.size()));
    return ByteVector(parts.begin(), parts.end());
  };
  CompileOptions one, other;
  one.specialisation.arguments = {{0, bytes({7, 1, 8})}, {1, bytes({9})}};
  other.specialisation.arguments = {{0, bytes({7})}, {1, bytes({8, 1, 9})}};
  EXPECT_NE(digest(one), digest(other));
}

}  // namespace
}  // namespace mneme
