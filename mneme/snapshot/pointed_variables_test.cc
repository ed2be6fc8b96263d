#include "mneme/snapshot/pointed_variables.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(PointedVariables, AreAnAttributeWhereThereAreSome) {
  std::map<std::string, std::string> attributes{{"priority", "1"}};
  put_pointed_variables({}, attributes);
  EXPECT_EQ(attributes.size(), 1u);
  EXPECT_EQ(pointed_variables_in(attributes), std::set<std::string>());
  put_pointed_variables({"table", "_ZL5where"}, attributes);
  EXPECT_EQ(attributes["pointed_variables"], "_ZL5where table");
  EXPECT_EQ(pointed_variables_in(attributes), (std::set<std::string>{"table", "_ZL5where"}));
}

}  // namespace
}  // namespace mneme
