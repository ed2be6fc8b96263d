#include "mneme/compile/amdgpu/message_pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::amdgpu {
namespace {

using namespace std::string_view_literals;
using testing::StartsWith;

TEST(MessagePack, ValuesOfEachKind) {
  // {"a": [1, true, "x"], "b": 300, "c": nil, "d": -1}
  const MessageNode root = read_message_pack(
                               "\x84\xa1"
                               "a\x93\x01\xc3\xa1x\xa1"
                               "b\xcd\x01\x2c\xa1"
                               "c\xc0\xa1"
                               "d\xff"sv)
                               .value();
  ASSERT_EQ(root.kind, MessageNode::Kind::map);
  const MessageNode& list = *root.find("a");
  ASSERT_EQ(list.elements.size(), 3u);
  EXPECT_EQ(list.elements[0].number, 1u);
  EXPECT_EQ(list.elements[1].kind, MessageNode::Kind::flag);
  EXPECT_EQ(list.elements[2].text, "x");
  EXPECT_EQ(root.find("b")->number, 300u);
  EXPECT_EQ(root.find("c")->kind, MessageNode::Kind::other);
  EXPECT_EQ(root.find("d")->kind, MessageNode::Kind::other) << "no number here is negative";
  EXPECT_EQ(root.find("e"), nullptr);
}

std::string refusal(std::string_view bytes) { return read_message_pack(bytes).status().to_string(); }

TEST(MessagePack, WhatIsNone) {
  EXPECT_EQ(refusal(""), "corrupt: reading MessagePack: it is cut off");
  EXPECT_EQ(refusal("\x92\x01"), "corrupt: reading MessagePack: it is cut off");
  EXPECT_EQ(refusal("\xdd\xff\xff\xff\xff\x01"), "corrupt: reading MessagePack: it is cut off") << "four billion elements";
  EXPECT_EQ(refusal("\x01\x01"), "corrupt: reading MessagePack: there is more behind it");
  EXPECT_THAT(refusal("\xa5"
                      "ab"),
              StartsWith("corrupt: reading MessagePack: "));
  EXPECT_THAT(refusal("\xc1"), StartsWith("corrupt: reading MessagePack: "));
  EXPECT_EQ(refusal(std::string(100, '\x91')), "corrupt: reading MessagePack: it is too deep");
}

}  // namespace
}  // namespace mneme::amdgpu
