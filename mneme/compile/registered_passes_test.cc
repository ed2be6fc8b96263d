#include "mneme/compile/registered_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mneme {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

// Of all passes of that name and level.
std::vector<std::string> parameters_of(PassLevel level, const std::string& name) {
  std::vector<std::string> all;
  for (const RegisteredPass& pass : registered_passes())
    if (pass.level == level && pass.name == name) all.insert(all.end(), pass.parameters.begin(), pass.parameters.end());
  return all;
}

TEST(RegisteredPasses, AreOfEveryLevelWithTheirParameters) {
  EXPECT_THAT(registered_passes(), Contains(RegisteredPass{PassLevel::module, "globalopt", {}}));
  EXPECT_THAT(registered_passes(), Contains(RegisteredPass{PassLevel::function, "sink", {}}));
  EXPECT_THAT(registered_passes(),
              Contains(RegisteredPass{PassLevel::loop, "loop-rotate", parameters_of(PassLevel::loop, "loop-rotate")}));
  EXPECT_THAT(parameters_of(PassLevel::cgscc, "inline"), Contains("only-mandatory"));
  EXPECT_THAT(parameters_of(PassLevel::function, "gvn"), Contains("no-pre"));
}

TEST(RegisteredPasses, AreNoAnalysesAndLeaveNothing) {
  for (const RegisteredPass& pass : registered_passes()) {
    EXPECT_NE(pass.name, "domtree");
    EXPECT_FALSE(pass.name.starts_with("dot-") || pass.name.starts_with("view-")) << pass.name;
  }
}

TEST(RegisteredPasses, LevelsHaveNames) {
  EXPECT_EQ(to_string(PassLevel::module), "module");
  EXPECT_EQ(to_string(PassLevel::cgscc), "cgscc");
  EXPECT_EQ(to_string(PassLevel::function), "function");
  EXPECT_EQ(to_string(PassLevel::loop), "loop");
}

}  // namespace
}  // namespace mneme
