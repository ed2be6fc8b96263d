#include "mneme/replay/pipeline_file.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(FoldPipeline, IsOneLineWithoutComments) {
  EXPECT_EQ(fold_pipeline("sroa,  # promotes memory\n instcombine"), "sroa,instcombine");
  EXPECT_EQ(fold_pipeline("# all of it\nfunction( sroa ,\tgvn )  # the end"), "function(sroa,gvn)");
  EXPECT_EQ(fold_pipeline("default < O3 >\n"), "default<O3>");
  EXPECT_EQ(fold_pipeline("simplifycfg<bonus-inst-threshold = 1 ; no-x>"), "simplifycfg<bonus-inst-threshold=1;no-x>");
  EXPECT_EQ(fold_pipeline("  \n# nothing\n"), "");
}

TEST(FoldPipeline, NamesThatAreApartStayApart) {
  EXPECT_EQ(fold_pipeline("sroa \n\t gvn"), "sroa gvn");
  EXPECT_EQ(fold_pipeline("sroa# one\ngvn"), "sroa gvn") << "a comment ends with its line";
}

}  // namespace
}  // namespace mneme
