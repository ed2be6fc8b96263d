#include "mneme/cpu/run/line_table.h"

#include <gtest/gtest.h>

namespace mneme::cpu {
namespace {

ByteVector image() {
  ByteVector bytes(100, std::byte{7});
  append_lines(bytes, {{{0x100, 0, 12}, {0x110, 1, 3}, {0x118, 1, 0}, {0x120, 0, 13}, {0x140, 0, 0}}, {"a.cu", "folder/b.h"}});
  return bytes;
}

TEST(LineTable, ARowCountsUntilTheNextOne) {
  const ByteVector bytes = image();
  EXPECT_EQ(find_line(bytes, 0xff), std::nullopt);
  EXPECT_EQ(find_line(bytes, 0x100), "a.cu:12");
  EXPECT_EQ(find_line(bytes, 0x10f), "a.cu:12");
  EXPECT_EQ(find_line(bytes, 0x110), "folder/b.h:3");
  EXPECT_EQ(find_line(bytes, 0x13f), "a.cu:13");
}

TEST(LineTable, CodeOfNoLineHasNone) {
  const ByteVector bytes = image();
  EXPECT_EQ(find_line(bytes, 0x118), std::nullopt);
  EXPECT_EQ(find_line(bytes, 0x140), std::nullopt);
  EXPECT_EQ(find_line(bytes, ~uint64_t{0}), std::nullopt);
}

TEST(LineTable, AnImageWithoutOneHasNoLines) {
  EXPECT_EQ(find_line({}, 0x100), std::nullopt);
  EXPECT_EQ(find_line(ByteVector(1000), 0x100), std::nullopt);
}

TEST(LineTable, ADamagedOneIsNotReadBeyondItsEnds) {
  const ByteVector whole = image();
  for (size_t size = 0; size < whole.size(); ++size) {
    ByteVector front(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)),
        back(whole.begin() + static_cast<ptrdiff_t>(size), whole.end());
    EXPECT_EQ(find_line(front, 0x100), std::nullopt);
    (void)find_line(back, 0x100);
  }
  for (size_t at = 100; at < whole.size(); ++at)
    for (uint8_t bit = 1; bit != 0; bit <<= 1) {
      ByteVector flipped = whole;
      flipped[at] ^= std::byte{bit};
      (void)find_line(flipped, 0x100);
    }
}

}  // namespace
}  // namespace mneme::cpu
