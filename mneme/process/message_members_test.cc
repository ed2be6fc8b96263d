#include "mneme/process/message_members.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

using Json = nlohmann::json;

TEST(MessageMembers, AListHasElementsOfItsKindOnly) {
  const auto told = [](const char* name, const Json& list) {
    MessageMembers texts({{name, list}}), numbers({{name, list}});
    const size_t size = list.size();
    EXPECT_EQ(texts.texts(name).size(), size);
    EXPECT_EQ(numbers.numbers(name).size(), size);
    return std::pair(texts.status().to_string(), numbers.status().to_string());
  };
  const std::string wrong = "corrupt: a message of the pool's processes: 'list' is missing or is of another kind";
  EXPECT_EQ(told("list", Json::array()), std::pair(std::string("ok"), std::string("ok")));
  EXPECT_EQ(told("list", {"a", "b"}), std::pair(std::string("ok"), wrong));
  EXPECT_EQ(told("list", {1, 2.5}), std::pair(wrong, std::string("ok")));
  EXPECT_EQ(told("list", {"a", 1}), std::pair(wrong, wrong));
}

TEST(MessageMembers, TheFirstThatIsWrongIsTold) {
  MessageMembers members({{"id", -1}, {"name", 7}});
  EXPECT_EQ(members.number("id"), 0u);
  EXPECT_EQ(members.text("name"), "");
  members.refuse("type");
  EXPECT_EQ(members.status().to_string(), "corrupt: a message of the pool's processes: 'id' is missing or is of another kind");
  EXPECT_EQ(MessageMembers(Json::array()).status().to_string(), "corrupt: a message of the pool's processes: it is no object");
}

TEST(MessageMembers, ANumberThatNoneOfItsKindHoldsIsRefused) {
  for (const Json& number : {Json(uint64_t{1} << 63), Json(~uint64_t{0}), Json(1.5)}) {
    MessageMembers members({{"number", number}});
    members.whole_number("number");
    EXPECT_EQ(members.status().code(), Code::corrupt) << number.dump();
  }
  MessageMembers members({{"number", INT64_MIN}});
  EXPECT_EQ(members.whole_number("number"), INT64_MIN);
  EXPECT_TRUE(members.status().ok());
}

}  // namespace
}  // namespace mneme
