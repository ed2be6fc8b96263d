#include "mneme/cpu/run/host_messages.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace mneme::cpu {
namespace {

using Packet = std::array<uint64_t, 8>;

constexpr uint64_t descriptor(uint64_t flags, uint64_t words, uint64_t number = 0) { return flags | words << 5 | number << 8; }
constexpr uint64_t kBegins = 1, kEnds = 2;

uint64_t words_of(const char* text) {
  uint64_t word = 0;
  std::memcpy(&word, text, std::min<size_t>(std::strlen(text), sizeof word));
  return word;
}

TEST(HostMessages, AreMadeOfPackets) {
  HostMessages messages;
  HostText text;
  const uint64_t first = messages.add(Packet{descriptor(kBegins, 1), 0}, &text);
  const uint64_t second = messages.add(Packet{descriptor(kBegins, 1), 1}, &text);
  EXPECT_NE(first, second);
  EXPECT_EQ(messages.add(Packet{first | descriptor(0, 1), words_of("%d %s")}, &text), first);
  EXPECT_EQ(messages.add(Packet{second | descriptor(kEnds, 1), words_of("no")}, &text), 0u);
  EXPECT_EQ(text.stream, HostStream::error);
  EXPECT_EQ(text.text, "no");
  EXPECT_EQ(
      messages.add(Packet{first | descriptor(kEnds, 3), static_cast<uint64_t>(-5), words_of("eight ch"), words_of("ars")}, &text),
      2u);
  EXPECT_EQ(text.stream, HostStream::out);
  EXPECT_EQ(text.text, "-5 eight chars");
}

TEST(HostMessages, APacketIsNeverReadBeyondItsEnd) {
  HostMessages messages;
  HostText text;
  EXPECT_EQ(messages.add(Packet{descriptor(kEnds, 7, 99), 0, words_of("%s%d%s.."), ~0ull, ~0ull, ~0ull, ~0ull, ~0ull}, &text),
            3u);
  EXPECT_EQ(text.text.size(), 5 * 8u + 1 + 0 + 2);
  EXPECT_EQ(messages.add(Packet{descriptor(kEnds, 0, 99)}, &text), 0u);
  EXPECT_EQ(text.text, "");
  EXPECT_EQ(messages.add(Packet{descriptor(kBegins | kEnds, 1), 0}, &text), 0u);
  EXPECT_EQ(text.text, "");
}

}  // namespace
}  // namespace mneme::cpu
