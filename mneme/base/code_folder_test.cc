#include "mneme/base/code_folder.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(CodeFolder, IsTheProgramsWhereItIsPartOfOne) {
  EXPECT_EQ(code_folder(), std::filesystem::read_symlink("/proc/self/exe").parent_path());
}

}  // namespace
}  // namespace mneme
