#include "mneme/compile/amdgpu/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::amdgpu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(TargetId, IsAProcessorAndItsSettings) {
  const TargetId id = parse_target_id("gfx90a:sramecc+:xnack-").value();
  EXPECT_EQ(id, (TargetId{"gfx90a", Setting::off, Setting::on}));
  EXPECT_EQ(id.text(), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(parse_target_id("gfx90a:xnack-:sramecc+").value().text(), id.text()) << "in one order";
  for (const char* one : {"gfx90a", "gfx942", "gfx1100", "gfx942:xnack+", "gfx906:sramecc-", "gfx11-generic", "gfx9-4-generic"})
    EXPECT_EQ(parse_target_id(one).value().text(), one);
}

std::string refusal(std::string_view text) { return parse_target_id(text).status().to_string(); }

TEST(TargetId, WhatIsNone) {
  EXPECT_THAT(refusal("gfx90b"), StartsWith("unsupported: making code for gfx90b: LLVM 22"));
  EXPECT_THAT(refusal("gfx90b"), HasSubstr("does not know the architecture; did you mean 'gfx90"));
  EXPECT_THAT(refusal("sm_90"), HasSubstr("making code for sm_90: LLVM"));
  EXPECT_THAT(refusal("fiji"), HasSubstr("does not know the architecture")) << "names of products are not asked for";
  EXPECT_THAT(refusal(""), HasSubstr("does not know the architecture"));
  for (const char* part : {"", "+", "xnack", "Xnack+", "tgsplit+"})
    EXPECT_EQ(
        refusal(std::string("gfx90a:") + part),
        fmt::format("invalid_argument: the target 'gfx90a:{}': '{}' is no feature of a target ID, which has xnack and sramecc, "
                    "each with + or - behind it, as in gfx90a:sramecc+:xnack-",
                    part, part));
  EXPECT_EQ(refusal("gfx1100:xnack+"), "invalid_argument: the target 'gfx1100:xnack+': gfx1100 has no xnack");
  EXPECT_EQ(refusal("gfx1030:sramecc-"), "invalid_argument: the target 'gfx1030:sramecc-': gfx1030 has no sramecc");
  EXPECT_EQ(refusal("gfx90a:xnack+:xnack+"), "invalid_argument: the target 'gfx90a:xnack+:xnack+' names xnack twice");
}

TEST(Architecture, WhatLlvmsTableSays) {
  EXPECT_EQ(isa_version("gfx90a"), 9010u);
  EXPECT_EQ(isa_version("gfx942"), 9402u);
  EXPECT_EQ(isa_version("gfx1100"), 11000u);
  EXPECT_TRUE(has_xnack("gfx90a") && has_sramecc("gfx90a") && !has_wavefront_of_32("gfx90a") && has_wavefront_of_64("gfx90a"));
  EXPECT_TRUE(!has_xnack("gfx1100") && !has_sramecc("gfx1100") && has_wavefront_of_32("gfx1100") &&
              has_wavefront_of_64("gfx1100"));
  EXPECT_FALSE(has_wavefront_of_64("gfx1250"));
  EXPECT_TRUE(is_generic("gfx11-generic"));
  EXPECT_FALSE(is_generic("gfx1100"));
}

TEST(Architecture, WhichRunsWhoseCode) {
  EXPECT_TRUE(runs_on("gfx90a", "gfx90a"));
  EXPECT_TRUE(runs_on("gfx90a", "gfx90a:sramecc+:xnack-"));
  EXPECT_TRUE(runs_on("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
  EXPECT_TRUE(runs_on("gfx11-generic", "gfx1103"));
  EXPECT_TRUE(runs_on("gfx9-4-generic", "gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(runs_on("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
  EXPECT_FALSE(runs_on("gfx90a", "gfx942"));
  EXPECT_FALSE(runs_on("gfx11-generic", "gfx1200"));
  EXPECT_FALSE(runs_on("sm_90", "gfx90a"));
  EXPECT_FALSE(runs_on("gfx90a", "x86-64-v3"));
}

}  // namespace
}  // namespace mneme::amdgpu
