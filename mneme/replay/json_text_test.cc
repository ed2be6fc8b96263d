#include "mneme/replay/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using Json = nlohmann::json;

TEST(JsonText, WhatIsNoUtf8IsNamedByItsPlace) {
  EXPECT_TRUE(check_texts({{"passes", "ü"}, {"plugins", {"a", "b"}}, {"n", 3}}, "the configuration").ok());
  EXPECT_EQ(check_texts({{"passes", "a"}, {"plugins", {"a", "b\xff"}}}, "the configuration").to_string(),
            "invalid_argument: the configuration: \"b\xef\xbf\xbd\" at /plugins/1 is no UTF-8, and results are JSON, which is: "
            "spell it otherwise");
}

TEST(JsonText, NeverFails) {
  EXPECT_EQ(json_text(Json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(valid_utf8("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("ü"), "ü");
  EXPECT_TRUE(json_in("{").is_discarded());
  EXPECT_EQ(json_in("[1]"), Json::array({1}));
}

}  // namespace
}  // namespace mneme
