#include "mneme/cli/options/manual_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DrawCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("FILE", text_, "what 'is' drawn")->required();
    app.add_option("--size", number_, "how large; \\ is no line")->check(CLI::Range(0, 3))->group("Look");
    app.add_option("--former-size", number_, "as the former one")->group("");
    app.footer(".first line\nsecond line");
  }
  int run() override { return 0; }

 private:
  std::string text_;
  int number_ = 0;
};

const Registration draw({.name = "draw",
                         .summary = "draw a file",
                         .visibility = Visibility::hidden,
                         .examples = {{"mneme draw ~/a 'b|c'", "two files"}}},
                        [] { return std::make_unique<DrawCommand>(); });

TEST(ManualPage, IsMadeOfWhatACommandDeclares) {
  const ManualPage page = manual_page(*declare_command("draw"));
  EXPECT_EQ(page.file, "mneme-draw.1");
  EXPECT_THAT(page.text, HasSubstr(".SH NAME\nmneme\\-draw \\- draw a file\n"));
  EXPECT_THAT(page.text, HasSubstr(".SH SYNOPSIS\n.PP\nmneme draw [OPTIONS] FILE\n"));
  EXPECT_THAT(page.text,
              HasSubstr(".SH EXAMPLES\n.PP\nTwo files:\n.PP\n.RS 4\n.nf\nmneme draw \\(ti/a \\(aqb|c\\(aq\n.fi\n.RE\n"));
  EXPECT_THAT(page.text, HasSubstr(".TP\n\\fBFILE\\fR\nwhat \\(aqis\\(aq drawn\n"));
  EXPECT_THAT(page.text, HasSubstr(".SS Look\n.TP\n\\fB\\-\\-size\\fR 0..3\nhow large; \\e is no line\n"));
  EXPECT_THAT(page.text, HasSubstr(".SH NOTES\n.PP\n\\&.first line\n.PP\nsecond line\n"));
  EXPECT_THAT(page.text, Not(HasSubstr("former"))) << "taken, and not shown";
}

TEST(ManualPage, ThereIsOneForEachCommandAndOneOfAll) {
  const std::vector<ManualPage> pages = manual_pages();
  ASSERT_EQ(pages.size(), command_names().size() + 1);
  EXPECT_EQ(pages[0].file, "mneme.1");
  EXPECT_THAT(pages[0].text, HasSubstr(".BR mneme\\-echo (1)\nA test.\n"));
  EXPECT_THAT(pages[0].text, HasSubstr(".BR mneme\\-tune (1)\n"));
  EXPECT_THAT(pages[0].text, Not(HasSubstr("draw"))) << "hidden";
}

}  // namespace
}  // namespace mneme::cli
