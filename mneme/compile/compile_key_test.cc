#include "mneme/compile/compile_key.h"

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

}  // namespace
}  // namespace mneme
