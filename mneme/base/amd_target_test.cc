#include "mneme/base/amd_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(AmdTarget, HasAProcessorAndSettings) {
  EXPECT_EQ(amd_processor("gfx90a:sramecc+:xnack-"), "gfx90a");
  EXPECT_THAT(amd_settings("gfx90a:sramecc+:xnack-"), testing::ElementsAre("sramecc+", "xnack-"));
  EXPECT_EQ(amd_processor("gfx1100"), "gfx1100");
  EXPECT_THAT(amd_settings("gfx1100"), testing::IsEmpty());
}

TEST(AmdTarget, ADeviceRunsWhatItHasEachSettingOf) {
  EXPECT_TRUE(amd_device_runs("gfx90a", "gfx90a:sramecc+:xnack-"));
  EXPECT_TRUE(amd_device_runs("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(amd_device_runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(amd_device_runs("gfx90a:xnack+", "gfx90a"));
  EXPECT_FALSE(amd_device_runs("gfx90a", "gfx942"));
}

TEST(AmdTarget, GenericCodeIsForItsProcessors) {
  EXPECT_TRUE(amd_device_runs("gfx11-generic", "gfx1103"));
  EXPECT_TRUE(amd_device_runs("gfx9-4-generic", "gfx942:sramecc+:xnack-"));
  for (const char* other : {"gfx1200", "gfx110", "", " "}) EXPECT_FALSE(amd_device_runs("gfx11-generic", other)) << other;
}

}  // namespace
}  // namespace mneme
