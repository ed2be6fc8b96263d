#include "mneme/snapshot/launch_limits.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

using Attributes = std::map<std::string, std::string>;

TEST(LaunchLimits, AreAttributesWhereTheyAreMoreThanUsual) {
  Attributes attributes = {{"priority", "1"}};
  put_limits({kUsualDeviceStack, kUsualPendingLaunches}, attributes);
  put_limits({}, attributes);
  EXPECT_EQ(attributes, (Attributes{{"priority", "1"}}));
  put_limits({Bytes(65536), 4096}, attributes);
  EXPECT_EQ(attributes, (Attributes{{"limit_pending_launches", "4096"}, {"limit_stack_size", "65536"}, {"priority", "1"}}));
  const auto limits = limits_in(attributes);
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(*limits, (LaunchLimits{Bytes(65536), 4096}));
  EXPECT_EQ(*limits_in({}), LaunchLimits());
}

TEST(LaunchLimits, ThatAreNoNumbersAreDamage) {
  for (const char* text : {"", "4 KiB", "-1", "99999999999999999999"})
    EXPECT_EQ(limits_in({{kStackLimit, text}}).status().to_string(),
              fmt::format("corrupt: the attribute limit_stack_size of the launch is '{}': a number expected", text));
}

}  // namespace
}  // namespace mneme
