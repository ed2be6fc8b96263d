#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "mneme/base/byte_stream.h"
#include "mneme/base/compress.h"
#include "mneme/base/descriptor.h"
#include "mneme/base/digest.h"
#include "mneme/base/log.h"
#include "mneme/base/processors.h"
#include "mneme/base/suggestion.h"
#include "mneme/base/testing/descriptor_table.h"
#include "mneme/base/types.h"

namespace mneme {
namespace {

ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Digest, HexRoundTripAndRefusal) {
  Digest digest = digest_of(bytes_of("mneme"));
  EXPECT_EQ(*Digest::from_hex(digest.hex()), digest);
  EXPECT_EQ(Digest::from_hex("../../etc/passwd").status().message(), "'../../etc/passwd' is not a hash (32 hexadecimal digits)");
}

TEST(Digest, HasherDoesNotDependOnTheSplit) {
  EXPECT_EQ(Hasher().add(bytes_of("ab")).add(bytes_of("c")).finish(), digest_of(bytes_of("abc")));
  EXPECT_NE(Hasher().add("ab").add("c").finish(), Hasher().add("a").add("bc").finish());
}

TEST(ByteReader, ReportsOffsetOfEveryShortRead) {
  ByteWriter writer;
  writer.put(uint32_t{7});
  writer.put_string("name");
  ByteReader reader(writer.buffer(), "file.x");
  uint32_t number = 0;
  std::string text;
  ASSERT_TRUE(reader.read(number).ok());
  ASSERT_TRUE(reader.read_string(text).ok());
  EXPECT_EQ(text, "name");
  EXPECT_EQ(reader.read(number).message(), "file.x: offset 12: 4 bytes expected, 0 left");
}

TEST(ByteReader, RefusesCountsThatCannotFit) {
  ByteWriter writer;
  writer.put(~uint64_t{0});
  ByteReader reader(writer.buffer(), "f");
  EXPECT_EQ(reader.read_count(16).status().code(), Code::corrupt);
}

TEST(ByteReader, RefusesStringsThatAreTooLong) {
  ByteWriter writer;
  writer.put_string("name");
  std::string text;
  EXPECT_TRUE(ByteReader(writer.buffer(), "f").read_string(text, 4).ok());
  EXPECT_EQ(ByteReader(writer.buffer(), "f").read_string(text, 3).to_string(),
            "corrupt: f: offset 4: a string of 4 bytes is longer than 3");
}

TEST(Compress, RoundTripAndDamage) {
  ByteVector content(100000, std::byte{3});
  ByteVector packed = compress(content);
  EXPECT_EQ(*decompress(packed, Bytes(content.size())), content);
  EXPECT_FALSE(decompress(packed, Bytes(content.size() - 1)).ok());
  EXPECT_FALSE(decompress(packed, Bytes(content.size() + 1)).ok());
  packed[packed.size() / 2] ^= std::byte{0xff};
  packed.resize(packed.size() - 1);
  EXPECT_FALSE(decompress(packed, Bytes(content.size())).ok());
  EXPECT_FALSE(decompress(packed, Bytes(~uint64_t{0})).ok());
}

TEST(Types, FormatsSizes) {
  EXPECT_EQ(format_bytes(512_KiB), "512 KiB");
  EXPECT_EQ(fmt::format("{} {} {}", Bytes(1536), Dim3{2, 3, 4}, DevicePtr(0x7a0000000000)), "1.50 KiB 2x3x4 0x7a0000000000");
}

TEST(Types, SizesHaveThreeDigits) {
  const std::pair<uint64_t, const char*> kSizes[] = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.00 KiB"},
      {10229, "9.99 KiB"},
      {10240, "10.0 KiB"},
      {102298, "99.9 KiB"},
      {102400, "100 KiB"},
      {1047552, "1023 KiB"},
      {1 << 20, "1.00 MiB"},
      {uint64_t{3} << 29, "1.50 GiB"},
      {uint64_t{5} << 41, "10.0 TiB"},
      {uint64_t{1} << 60, "1048576 TiB"},
  };
  for (const auto& [bytes, text] : kSizes) EXPECT_EQ(format_bytes(Bytes(bytes)), text);
}

TEST(Suggestions, AreTheNearestThatIsNearEnough) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
  EXPECT_EQ(edit_distance("abcd", "acbd"), 1u) << "two letters that changed places";
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(nearest("blok", {"grid", "block", "black"}), "block");
  EXPECT_EQ(nearest("bleck", {"block", "black"}), "block") << "of equals the first";
  EXPECT_EQ(nearest("abcdef", {"abcxyz"}), std::nullopt) << "three of six letters";
  EXPECT_EQ(nearest("abcdefghi", {"abcdefxyz"}), "abcdefxyz") << "three of nine";
  EXPECT_EQ(nearest("xy", {"ab"}), std::nullopt) << "nothing of it is left";
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(did_you_mean("blok", {"block"}), "; did you mean 'block'?");
  EXPECT_EQ(did_you_mean("blok", {"specialise"}), "");
}

TEST(Log, EachLevelHasItsNameAndItsBegin) {
  using log::Level;
  const Level usual = log::level();
  const std::tuple<const char*, Level, const char*> kLevels[] = {{"debug", Level::debug, "mneme: debug: a word\n"},
                                                                 {"info", Level::info, "mneme: a word\n"},
                                                                 {"warning", Level::warning, "mneme: warning: a word\n"},
                                                                 {"error", Level::error, "mneme: error: a word\n"}};
  std::string from_here;
  for (auto one = std::rbegin(kLevels); one != std::rend(kLevels); ++one) {
    const auto& [name, level, line] = *one;
    EXPECT_EQ(log::level_named(name), level);
    from_here = line + from_here;
    log::set_level(level);
    testing::internal::CaptureStderr();
    log::debug("a {}", "word");
    log::info("a {}", "word");
    log::warning("a {}", "word");
    log::error("a {}", "word");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), from_here) << name;
  }
  log::set_level(usual);
  EXPECT_EQ(log::level_named("loud"), std::nullopt);
}

// The environment is read once in a process: it is one of its own.
TEST(Log, AWordThatNamesNoLevelIsToldAndChangesNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ::setenv("MNEME_LOG", "loud", 1);
  EXPECT_EXIT(
      {
        log::debug("a word");
        log::info("a word");
        ::_exit(0);
      },
      ::testing::ExitedWithCode(0),
      ::testing::EndsWith("mneme: warning: MNEME_LOG=loud names no level: debug, info, warning or error\nmneme: a word\n"));
  ::unsetenv("MNEME_LOG");
}

TEST(Processors, AreThoseThatTheProcessMayUse) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_processors(), 1u);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(usable_processors(), static_cast<unsigned>(CPU_COUNT(&before)));
}

TEST(Descriptors, AreReservedAsFarAsTheProcessMayHaveThem) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit fewer{500, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &fewer), 0);
  reserve_descriptors(1'000'000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(testing_base::size_of_descriptor_table(), ::testing::AllOf(::testing::Ge(500), ::testing::Le(1024)));
}

}  // namespace
}  // namespace mneme
