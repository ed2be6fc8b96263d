// Programs that build graphs themselves run deployed code at a driver that the tests bring along. The deployed code does nothing
// where it is called "add", so that what has run is seen in what the program prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "mneme/substitute/driver/driver_front.h"
#include "mneme/substitute/driver/testing/at_the_driver.h"

namespace mneme::substitute {
namespace {

using ::testing::HasSubstr;

class GraphsAtTheDriver : public AtTheDriver {
 protected:
  GraphsAtTheDriver() { code_.name = "add"; }
  std::string run_graphs(const std::string& steps, const std::string& environment = "") const {
    return run_program(MNEME_TEST_GRAPHS " " + kCubin + " " + steps, environment);
  }
  static std::string line(int deployed, int launches, const std::string& others = "") {
    return fmt::format("mneme: tuned: add_one: {} of {} launches ran the deployed code{}{}\n", deployed, launches,
                       others.empty() ? "" : "; the others: ", others);
  }
};

TEST_F(GraphsAtTheDriver, EveryFunctionOfNodesIsHooked) {
  std::set<int> hooked;
  for (const driver::DriverHook& one : all_driver_graph_hooks()) EXPECT_TRUE(hooked.insert(one.slot).second) << one.slot;
#define MNEME_LOOK(name) EXPECT_TRUE(hooked.contains(MNEME_DRIVER_CALL_##name)) << #name;
  MNEME_DRIVER_NODE_CALLS(MNEME_LOOK)
#undef MNEME_LOOK
}

TEST_F(GraphsAtTheDriver, CodeStandsInNodesThatAreMade) {
  EXPECT_EQ(run_graphs("make instantiate launch"), "  told: b=0\nlaunched: a=0 b=0\nat the end: a=0 b=0\n" + line(3, 3));
  EXPECT_THAT(run_graphs("make add_any add_any_old instantiate launch"), HasSubstr("at the end: a=0 b=0\n" + line(5, 5)));
  EXPECT_THAT(run_graphs("make_of_library instantiate launch"), HasSubstr("at the end: a=0 b=0\n" + line(1, 1)));
  EXPECT_THAT(run_graphs("make_child instantiate launch"), HasSubstr("at the end: a=0 b=0\n" + line(4, 4)));
  code_.name = "add_one";
  EXPECT_EQ(run_graphs("make instantiate launch launch"),
            "  told: b=2\nlaunched: a=2 b=2\n  told: b=4\nlaunched: a=4 b=4\nat the end: a=4 b=4\n" + line(3, 3));
}

TEST_F(GraphsAtTheDriver, ConditionsAreLookedAtWhenAnExecutableIsChanged) {
  code_.rule = {LaunchRule::Covers::shape, {{1, 1, 1}, {32, 1, 1}}, {{2, 1, 1}, {16, 1, 1}}};
  for (const std::string change : {"set_kernel", "set_any_kernel"})
    EXPECT_THAT(run_graphs("make_fill instantiate " + change + " launch"),
                HasSubstr("at the end: a=0 b=1\n" + line(1, 2, "1 another launch shape")));
  code_.arguments = {{1, {std::byte{4}, std::byte{}, std::byte{}, std::byte{}}}};
  EXPECT_THAT(run_graphs("make_fill instantiate launch set_fewer launch"),
              HasSubstr("launched: a=0 b=0\nlaunched: a=0 b=1\nat the end: a=0 b=1\n" + line(1, 2, "1 other arguments")));
  // So are those of a captured launch. The kernel that is launched before lets the code be loaded.
  EXPECT_THAT(run_graphs("kernel_of_b capture first_of_graph instantiate launch set_fewer launch"),
              HasSubstr("launched: a=0 b=0\nlaunched: a=0 b=1\nat the end: a=0 b=1\n" + line(4, 5, "1 other arguments")));
  EXPECT_THAT(run_graphs("make instantiate update launch"), HasSubstr("at the end: a=0 b=0\n" + line(7, 7)));
}

TEST_F(GraphsAtTheDriver, AProgramIsToldItsOwnKernel) {
  code_.rule = {LaunchRule::Covers::shape, {{1, 1, 1}, {32, 1, 1}}, {{2, 1, 1}, {16, 1, 1}}};
  const std::string end = "at the end: a=0 b=0\n";
  EXPECT_EQ(run_graphs("make tell_first get_and_set tell_first"),
            "first: add_one, 1 of 32, for a\nfirst: add_one, 1 of 32, for b\n" + end + line(4, 4));
  EXPECT_EQ(run_graphs("kernel_of_b capture first_of_graph tell_first"), "first: add_one, 1 of 32, for a\n" + end + line(4, 4));
  EXPECT_EQ(run_graphs("make_of_library tell_first get_and_set tell_first"),
            "first: of the library, 1 of 32, for a\nfirst: of the library, 1 of 32, for b\n" + end + line(2, 2));
}

// A kernel of a library counts where no function is named beside it, or the function that it is.
TEST_F(GraphsAtTheDriver, AFunctionComesBeforeTheKernelBesideIt) {
  code_.name = "add_one";
  EXPECT_EQ(run_graphs("make_of_library get_and_set_other instantiate launch"),
            "launched: a=0 b=0\nat the end: a=0 b=0\n" + line(1, 1));
}

// They are the node's own, and gone when the program's call has been made.
TEST_F(GraphsAtTheDriver, AProgramMaySetTheArgumentsThatItWasTold) {
  code_.arguments = {{1, {std::byte{4}, std::byte{}, std::byte{}, std::byte{}}}};
  EXPECT_EQ(run_graphs("make_fill get_and_set_blocks tell_first instantiate launch"),
            "first: add_one, 8 of 32, for a\nlaunched: a=0 b=0\nat the end: a=0 b=0\n" + line(2, 2));
}

// One is set after another: each is a launch that is decided anew.
TEST_F(GraphsAtTheDriver, AttributesAreConditionsToo) {
  const ProgramShape recorded{{1, 1, 1}, {32, 1, 1}, Bytes(), true, {2, 1, 1}};
  const std::string steps = "make_fill cooperative instantiate launch";
  EXPECT_THAT(run_graphs(steps), HasSubstr("at the end: a=1 b=0\n" + line(1, 3, "2 another launch shape")));
  code_.rule = {LaunchRule::Covers::shape, recorded, recorded};
  EXPECT_THAT(run_graphs(steps), HasSubstr("at the end: a=0 b=0\n" + line(1, 3, "2 another launch shape")));
  EXPECT_THAT(run_graphs("make_fill cooperative no_cluster instantiate launch"),
              HasSubstr("at the end: a=1 b=0\n" + line(1, 4, "3 another launch shape")));
  code_.rule = {LaunchRule::Covers::any};
  EXPECT_THAT(run_graphs("make_fill updatable instantiate launch"),
              HasSubstr("at the end: a=1 b=0\n" + line(1, 2, "1 launch attributes")));
}

TEST_F(GraphsAtTheDriver, ANodeThatIsDecidedAlikeIsNotSetForAnAttribute) {
  code_.arguments = {{1, {std::byte{4}, std::byte{}, std::byte{}, std::byte{}}}};
  EXPECT_EQ(run_graphs("make_fill get_attribute_and_set instantiate launch"),
            "launched: a=0 b=0\nat the end: a=0 b=0\n" + line(3, 3));
}

TEST_F(GraphsAtTheDriver, AnAttributeIsNotChangedWhereTheProgramsKernelCannotBePutBack) {
  EXPECT_EQ(run_graphs("make_fill fail:cuGraphKernelNodeSetParams_v2:0 cooperative instantiate launch"),
            "cuGraphKernelNodeSetAttribute returned 701\nlaunched: a=0 b=0\nat the end: a=0 b=0\n" +
                line(1, 2, "1 another launch shape"));
}

TEST_F(GraphsAtTheDriver, WhatFailsIsTheProgramsOwnNode) {
  const std::string why =
      "the program's own code runs from now on: setting the deployed code for a node of a graph returned 701\n";
  const std::string made = run_graphs("fail:cuGraphKernelNodeSetParams_v2:1 make instantiate launch");
  EXPECT_THAT(made, HasSubstr(why));
  EXPECT_THAT(made, HasSubstr("at the end: a=1 b=1\n" + line(1, 3, "2 after a failure")));
  const std::string changed = run_graphs("make_fill instantiate fail:cuGraphExecKernelNodeSetParams_v2:0 set_kernel launch");
  EXPECT_THAT(changed, HasSubstr(why));
  EXPECT_THAT(changed, HasSubstr("at the end: a=0 b=1\n" + line(1, 2, "1 after a failure")));
}

TEST_F(GraphsAtTheDriver, WhatIsToBeComparedFirstIsTheProgramsOwnNode) {
  code_.repeatable = Repeatable::yes;
  EXPECT_THAT(run_graphs("make instantiate launch", "MNEME_TUNED_VERIFY=1"),
              HasSubstr("at the end: a=2 b=2\n" + line(0, 3, "3 captured before the code was compared")));
}

// A node may be of another context than the current one, where there are several.
TEST_F(GraphsAtTheDriver, WithSeveralDevicesTheDriverHasToTellTheNodesContext) {
  EXPECT_THAT(run_graphs("make instantiate launch", "MNEME_FAKE_DEVICES=2"),
              HasSubstr("at the end: a=2 b=2\n" + line(0, 3, "3 launch attributes")));
}

// What is set into it and what is told of it is of its own context.
TEST_F(GraphsAtTheDriver, ANodeMayBeAskedAndChangedWithAnotherDevice) {
  const std::string two_devices = "MNEME_FAKE_DEVICES=2 MNEME_FAKE_NODE_CONTEXTS=1";
  EXPECT_EQ(run_graphs("make_of_library elsewhere get_first back set_got instantiate launch", two_devices),
            "launched: a=0 b=0\nat the end: a=0 b=0\n" + line(2, 2));
  EXPECT_EQ(run_graphs("make_of_library elsewhere cooperative back instantiate launch", two_devices),
            "launched: a=1 b=0\nat the end: a=1 b=0\n" + line(1, 3, "2 launch attributes"));
}

TEST_F(GraphsAtTheDriver, CodeOfOneContextIsKnownWhenAnotherWasReset) {
  code_.arguments = {{1, {std::byte{4}, std::byte{}, std::byte{}, std::byte{}}}};
  const std::string two_devices = "MNEME_FAKE_DEVICES=2 MNEME_FAKE_NODE_CONTEXTS=1";
  EXPECT_EQ(run_graphs("make_fill reset_other tell_first get_and_set_fewer instantiate launch", two_devices),
            "first: add_one, 1 of 32, for a\nlaunched: a=1 b=0\nat the end: a=1 b=0\n" + line(1, 2, "1 other arguments"));
}

// A handle of a context that is gone may be another function's.
TEST_F(GraphsAtTheDriver, CodeOfAProgramsOwnContextIsKnownUntilThatEnds) {
  const std::string told = "MNEME_FAKE_NODE_CONTEXTS=1";
  EXPECT_THAT(run_graphs("kernel_of_b own_context make_fill reset_primary tell_first", told),
              HasSubstr("first: add_one, 1 of 32, for a\n"));
  EXPECT_THAT(run_graphs("kernel_of_b own_context make_fill destroy_own tell_first", told),
              HasSubstr("first: another, 1 of 32, for a\n"));
}

TEST_F(GraphsAtTheDriver, CodeOfAContextThatWasResetIsForgotten) {
  EXPECT_THAT(run_graphs("make instantiate launch reset make tell_first instantiate launch"),
              HasSubstr("first: add_one, 1 of 32, for a\n  told: b=0\nlaunched: a=0 b=0\nat the end: a=0 b=0\n" + line(6, 6)));
}

}  // namespace
}  // namespace mneme::substitute
