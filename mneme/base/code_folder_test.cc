#include "mneme/base/code_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

TEST(CodeFolder, IsTheProgramsWhereItIsPartOfOne) {
  EXPECT_EQ(code_folder(), std::filesystem::read_symlink("/proc/self/exe").parent_path());
}

// As where a package manager links the command into a folder of $PATH: this program is started again by a link to it.
TEST(CodeFolder, IsThatOfTheFileAndNotOfALinkToIt) {
  const TemporaryDirectory directory;
  const Path link = directory.path() / "link";
  std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), link);
  const std::string command = link.string() + " --gtest_brief=1 --gtest_filter=CodeFolder.IsTheProgramsWhereItIsPartOfOne";
  EXPECT_EQ(std::system((command + " >&2").c_str()), 0);
}

}  // namespace
}  // namespace mneme
