#include "mneme/replay/compile_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/replay/access_notes.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/testing/each_member.h"

namespace mneme {
namespace {

PlannedRegion planned(Region::Kind kind, uint64_t address, const char* name, Placement placement) {
  PlannedRegion region;
  region.prologue = region.epilogue = {kind, DevicePtr(address), Bytes(64), name, {}};
  region.placement = placement;
  return region;
}

// Whatever of a configuration changes code is asked of the compiler; the rest is not.
TEST(CompileRequest, EveryMemberThatChangesCodeIsAsked) {
  KernelRecord kernel;
  kernel.name = "k";
  kernel.pipeline = "default<O2>";
  const CompileOptions usual = compile_options({}, kernel, {});
  Configuration changed;
  testing_members::change_each(changed, [&](const std::string& name) {
    const std::string section = testing_members::section_of(name);
    const bool of_code = section == "passes" || section == "pass_plugins" || section == "codegen" || section == "assembler";
    const CompileOptions options = compile_options(changed, kernel, {});
    EXPECT_EQ(options.passes != usual.passes, name == "passes") << name;
    EXPECT_EQ(options.pass_plugins != usual.pass_plugins, name == "pass_plugins") << name;
    EXPECT_EQ(options.codegen != usual.codegen, section == "codegen") << name;
    EXPECT_EQ(options.assembler != usual.assembler, section == "assembler") << name;
    if (!of_code) return;
    EXPECT_EQ(options.passes, changed.passes);
    EXPECT_EQ(options.pass_plugins, changed.pass_plugins);
    EXPECT_EQ(options.codegen, changed.codegen);
    EXPECT_EQ(options.assembler, changed.assembler);
  });
}

TEST(CompileRequest, GlobalsAtTheirRecordedAddressesAreBoundAndOneKernelIsKept) {
  KernelRecord kernel;
  kernel.name = "k";
  MemoryPlan plan;
  plan.regions = {planned(Region::Kind::allocation, 0x1000, "", Placement::recorded_address),
                  planned(Region::Kind::global, 0x2000, "bound", Placement::recorded_address),
                  planned(Region::Kind::global, 0x3000, "of_the_module", Placement::module_symbol)};
  const CompileOptions options = compile_options({}, kernel, plan);
  EXPECT_THAT(options.kernels, testing::ElementsAre("k"));
  ASSERT_EQ(options.bindings.size(), 1u);
  EXPECT_EQ(options.bindings[0].name, "bound");
  EXPECT_EQ(options.bindings[0].address, DevicePtr(0x2000));
}

// Which linkage functions have, and the pipeline that the program was compiled with where that is the one to be run.
TEST(CompileRequest, TheLinkageAndThePipelineOfTheProgramAreAsked) {
  KernelRecord kernel;
  kernel.pipeline = "default<O2>";
  Configuration configuration;
  configuration.linkage = Linkage::internal;
  EXPECT_EQ(compile_options({}, kernel, {}).linkage, Linkage::recorded);
  EXPECT_EQ(compile_options(configuration, kernel, {}).linkage, Linkage::internal);
  configuration.passes = "default<O1>";
  EXPECT_EQ(compile_options(configuration, kernel, {}).as_built, CompileOptions().as_built);
  configuration.passes = "as-built";
  EXPECT_EQ(compile_options(configuration, kernel, {}).as_built, "default<O2>");
  EXPECT_EQ(compile_options(configuration, kernel, {}).passes, "as-built");
}

// As of what an older Mneme has recorded.
TEST(CompileRequest, WhereThePipelineOfTheProgramIsNotKnownAsBuiltIsO3) {
  KernelRecord kernel;
  const auto passes_of = [&](const char* passes) {
    Configuration configuration;
    configuration.passes = passes;
    return compile_options(configuration, kernel, {}).passes;
  };
  EXPECT_EQ(compile_options({}, kernel, {}).passes, "default<O3>");
  EXPECT_EQ(passes_of("as-built,function(gvn)"), "default<O3>,function(gvn)");
  EXPECT_EQ(passes_of("default<O1>"), "default<O1>");
  EXPECT_EQ(describe_pipeline("as-built", kernel), "as-built: default<O3>, as the recording does not say");
  kernel.pipeline = "default<O1>";
  EXPECT_EQ(describe_pipeline("as-built", kernel), "as-built: default<O1>");
  EXPECT_EQ(describe_pipeline("as-built,function(gvn)", kernel), "as-built,function(gvn); as-built is default<O1>");
  EXPECT_EQ(describe_pipeline("default<O3>", kernel), "default<O3>");
  kernel.pipeline.clear();
  kernel.images = {{CodeImageRecord::Kind::cubin, Digest(), Bytes(100)}};
  EXPECT_EQ(describe_pipeline("as-built", kernel), "as-built: the program's own code");
  EXPECT_EQ(passes_of("as-built,function(gvn)"), "as-built,function(gvn)")
      << "machine code is no part of a pipeline: it is refused when it is parsed";
}

TEST(AccessNotes, AreOfWhatLiesAtItsRecordedAddress) {
  MemoryPlan plan;
  plan.regions = {planned(Region::Kind::global, 0x3000, "of_the_module", Placement::module_symbol),
                  planned(Region::Kind::allocation, 0x1000, "", Placement::recorded_address)};
  plan.regions[1].offset = 0x100;
  plan.copy_size = Bytes(0x200);
  const AccessTracking tracking = AccessNotes::tracking(plan, NoteOf::thread);
  ASSERT_EQ(tracking.ranges.size(), 1u);
  EXPECT_EQ(tracking.ranges[0].base, DevicePtr(0x1000));
  EXPECT_EQ(tracking.plane, Bytes(0x200));
  EXPECT_EQ(tracking.note, NoteOf::thread);
}

}  // namespace
}  // namespace mneme
