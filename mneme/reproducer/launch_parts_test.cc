#include "mneme/reproducer/launch_parts.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(LaunchParts, LimitsThatTheProgramHasRaisedAreRefused) {
  InstanceRecord instance;
  instance.attributes = {{"priority", "1"}};
  EXPECT_TRUE(check_limits(instance).ok());
  instance.attributes["limit_stack_size"] = "65536";
  EXPECT_EQ(check_limits(instance).to_string(),
            "unsupported: the program has raised limits of the device for the launch (cudaDeviceSetLimit), which only a replay "
            "does too");
  instance.attributes["limit_stack_size"] = "much";
  EXPECT_EQ(check_limits(instance).code(), Code::corrupt);
}

}  // namespace
}  // namespace mneme
