// Kernels that a graph launches are counted and recorded when the graph runs: whatever a program does with graphs, it prints the
// same bare and recorded.
#include "mneme/record/driver/graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>

#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/testing/recorded_program.h"
#include "mneme/snapshot/profile_file.h"

namespace mneme::driver {
namespace {

using ::testing::HasSubstr;

class GraphsTest : public RecordedAtTheDriver {
 protected:
  GraphsTest() { options_.max = 100; }
  // Runs the steps bare and recorded, which print the same.
  void run(const std::string& steps) {
    const std::string arguments = std::string(MNEME_TEST_CUBIN) + " " + steps;
    printed_ = bare(arguments, MNEME_TEST_GRAPHS);
    EXPECT_EQ(recorded(arguments, MNEME_TEST_GRAPHS), printed_);
    EXPECT_THAT(printed_, Not(HasSubstr("returned")));
  }
  // Launches that were recorded, or were the same as a recorded one.
  uint64_t recorded_launches() { return report().instances + report().duplicates; }
  std::vector<InstanceRecord> instances() {
    const auto all = kernels();
    return all.empty() ? std::vector<InstanceRecord>() : all[0].instances;
  }
  std::string printed_;
};

TEST_F(GraphsTest, EachKernelOfALaunchIsALaunch) {
  run("make instantiate launch");
  EXPECT_EQ(printed_, "  told: b=2\nlaunched: a=2 b=2\nat the end: a=2 b=2\n");
  EXPECT_EQ(report().launches, 3u);
  EXPECT_EQ(report().instances, 3u);
  for (const InstanceRecord& instance : instances()) {
    EXPECT_EQ(instance.attributes, (std::map<std::string, std::string>{{"graph", "1"}}));
    EXPECT_EQ(instance.grid, (Dim3{1, 1, 1}));
    EXPECT_EQ(instance.block, (Dim3{32, 1, 1}));
  }
}

TEST_F(GraphsTest, HoweverItIsMade) {
  run("make instantiate_old drop launch make instantiate_parameters drop launch destroy");
  EXPECT_EQ(report().launches, 6u);
  EXPECT_EQ(recorded_launches(), 6u);
}

TEST_F(GraphsTest, ACapturedLaunchCountsWhenTheGraphRuns) {
  run("capture instantiate drop launch launch");
  EXPECT_EQ(printed_, "launched: a=2 b=1\nlaunched: a=4 b=2\nat the end: a=4 b=2\n");
  EXPECT_EQ(report().launches, 6u);
  EXPECT_EQ(recorded_launches(), 6u);
  run("capture");
  EXPECT_EQ(report().launches, 6u);
}

TEST_F(GraphsTest, ALaunchOfAGraphIntoACaptureIsANodeOfAnother) {
  run("make instantiate capture_launch instantiate launch");
  EXPECT_EQ(report().launches, 3u);
  EXPECT_EQ(recorded_launches(), 3u);
}

TEST_F(GraphsTest, KernelsOfChildGraphsAreRecordedInTheirOrder) {
  run("make_child instantiate drop launch");
  EXPECT_EQ(printed_, "  in the child: b=1\n  told: b=2\nlaunched: a=2 b=2\nat the end: a=2 b=2\n");
  EXPECT_EQ(report().instances, 4u);
}

TEST_F(GraphsTest, WhatIsChangedOfAnExecutableIsRecordedSo) {
  run("make instantiate set_kernel launch");
  EXPECT_EQ(printed_, "  told: b=1\nlaunched: a=1 b=1\nat the end: a=1 b=1\n");
  EXPECT_EQ(report().instances, 3u);
  std::set<uint32_t> grids;
  for (const InstanceRecord& instance : instances()) grids.insert(instance.grid.x);
  EXPECT_EQ(grids, (std::set<uint32_t>{1, 2}));
  run("make instantiate set_kernel_old launch");
  run("make instantiate set_copy set_host launch");
  EXPECT_EQ(printed_, "  told otherwise: b=1\nlaunched: a=2 b=1\nat the end: a=2 b=1\n");
  run("make_fill instantiate set_fill launch set_any launch");
  EXPECT_EQ(passed(NotRecorded::graph_untold), 0u);
  EXPECT_EQ(recorded_launches(), 3 + 3 + 3 + 2u);
}

TEST_F(GraphsTest, AChildGraphIsChangedAsAWhole) {
  run("make_child instantiate set_child launch");
  EXPECT_EQ(printed_, "  in the child: b=0\n  told: b=0\nlaunched: a=4 b=0\nat the end: a=4 b=0\n");
  EXPECT_EQ(report().instances, 4u);
  // Which node of the new one stands for that of the old one the driver does not say.
  run("make_child instantiate set_child set_in_child launch");
  EXPECT_EQ(passed(NotRecorded::graph_untold), 4u);
}

TEST_F(GraphsTest, ANodeWithinAChildGraphIsChanged) {
  run("make_child instantiate set_in_child launch");
  EXPECT_EQ(printed_, "  in the child: b=0\n  told: b=1\nlaunched: a=3 b=1\nat the end: a=3 b=1\n");
  EXPECT_EQ(report().instances, 4u);
}

TEST_F(GraphsTest, AnExecutableIsUpdatedAsAWhole) {
  run("make instantiate update launch");
  EXPECT_EQ(printed_, "  told: b=1\nlaunched: a=1 b=1\nat the end: a=1 b=1\n");
  EXPECT_EQ(recorded_launches(), 3u);
}

TEST_F(GraphsTest, WhatIsDisabledDoesNotRun) {
  run("make instantiate disable launch enable launch disable_copy launch");
  EXPECT_EQ(report().launches, 2 + 3 + 3u);
  EXPECT_EQ(recorded_launches(), 8u);
  // Which of the new nodes are, the driver does not say.
  run("make instantiate disable update launch");
  EXPECT_EQ(passed(NotRecorded::graph_untold), 3u);
}

TEST_F(GraphsTest, AKernelKeepsItsAttributes) {
  run("make cooperative instantiate launch");
  int cooperative = 0;
  for (const InstanceRecord& instance : instances()) {
    cooperative += instance.cooperative;
    if (instance.cooperative) EXPECT_EQ(instance.cluster, (Dim3{2, 1, 1}));
  }
  EXPECT_EQ(cooperative, 1);
}

TEST_F(GraphsTest, WhatIsSelectedIsRecordedAndTheGraphRunsWholeOtherwise) {
  options_.max = 1;
  run("make instantiate launch launch launch count");
  EXPECT_THAT(printed_, HasSubstr("1 executable"));  // parts are gone when the launch is over
  EXPECT_EQ(report().launches, 9u);
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::beyond_max), 8u);
}

TEST_F(GraphsTest, OfWhichNoneIsRecordedAnyMoreEachLaunchCountsHoweverTheGraphIsChanged) {
  options_.max = 1;
  run("make instantiate launch launch launch launch disable launch launch enable launch set_kernel launch launch update launch");
  EXPECT_EQ(report().launches, 4 * 3 + 2 * 2 + 3 + 2 * 3 + 3u);
  EXPECT_EQ(passed(NotRecorded::beyond_max), report().launches - 1);
  ASSERT_EQ(instances().size(), 1u);
  EXPECT_EQ(instances()[0].shape_launches->count, report().launches - 2) << "two were in a larger grid";
}

TEST_F(GraphsTest, WhatIsCountedIsThereHoweverTheProgramEnds) {
  options_.max = 1;
  options_.staging = Bytes(0);  // else the launch that is recorded may still be in flight
  for (const char* end : {"leave", "die"}) {
    const uint64_t before = report().launches;
    const std::string steps = std::string(MNEME_TEST_CUBIN) + " make instantiate launch launch launch launch " + end;
    recorded(steps, MNEME_TEST_GRAPHS);
    EXPECT_EQ(report().launches - before, 12u) << end;
    EXPECT_EQ(report().launches, passed(NotRecorded::beyond_max) + recorded_launches()) << end;
  }
}

// The reason is told as it is at each launch, although those of the graph are counted together.
TEST_F(GraphsTest, AReasonThatChangesIsToldAsItIs) {
  options_.max = 1;
  run("make updatable instantiate launch launch kernel_of_b launch launch");
  EXPECT_EQ(passed(NotRecorded::graph_nodes), 6u);
  EXPECT_EQ(passed(NotRecorded::beyond_max), 6u);
}

TEST_F(GraphsTest, TheOptionsCountKernelsOfGraphsAsLaunches) {
  options_.skip = 4;
  options_.max = 1;
  run("make instantiate launch launch launch");
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::skipped), 4u);
  EXPECT_EQ(passed(NotRecorded::beyond_max), 4u);
  ASSERT_EQ(instances().size(), 1u);
  ASSERT_TRUE(instances()[0].shape_launches.has_value());
  EXPECT_EQ(instances()[0].shape_launches->count, 9u);
}

// Every function of the driver's that takes an executable graph, in each version and variant.
TEST(GraphCalls, EachIsSeenOrChangesNothing) {
  std::set<std::string> seen;
  std::set<mneme_driver_call> hooked;
  for (const DriverHook& one : graph_hooks()) hooked.insert(one.slot);
#define MNEME_SEEN(name) \
  if (hooked.contains(MNEME_DRIVER_CALL_##name)) seen.insert(#name);
  MNEME_DRIVER_GRAPH_CALLS(MNEME_SEEN)
#undef MNEME_SEEN
  const std::map<std::string, std::string> left_alone = {
      {"cuGraphUpload", "changes nothing"},
      {"cuGraphExecGetFlags", "changes nothing"},
      {"cuGraphNodeGetEnabled", "changes nothing"},
      {"cuGraphExecBatchMemOpNodeSetParams", "a graph with such a node is refused"},
      {"cuGraphExecExternalSemaphoresSignalNodeSetParams", "a graph with such a node is refused"},
      {"cuGraphExecExternalSemaphoresWaitNodeSetParams", "a graph with such a node is refused"},
  };
  std::ifstream file(MNEME_TEST_CUDA_H);
  const std::string header((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto each = [&](const std::string& expression, auto take) {
    const std::regex pattern(expression);
    for (std::sregex_iterator found(header.begin(), header.end(), pattern), end; found != end; ++found) take(*found);
  };
  std::set<std::string> functions;
  each(R"(CUresult CUDAAPI (cuGraph\w+)\((CUgraphExec|[^;]*\bCUgraphExec \*))",
       [&](const std::smatch& found) { functions.insert(found[1]); });
  EXPECT_GE(functions.size(), 20u);
  std::set<std::string> names = functions;
  each(R"(#define (cuGraph\w+)\s+(__CUDA_API_PTSZ\()?(cuGraph\w+))", [&](const std::smatch& found) {
    if (functions.contains(found[1])) names.insert(found[3].str() + (found[2].matched ? "_ptsz" : ""));
  });
  for (const std::string& name : names) {
    const bool is_left =
        std::any_of(left_alone.begin(), left_alone.end(), [&](const auto& one) { return name.starts_with(one.first); });
    EXPECT_TRUE(seen.contains(name) || is_left) << name;
  }
}

TEST_F(GraphsTest, HoweverItIsMadeChangedAndLaunchedEachKernelIsRecorded) {
  const struct {
    const char* steps;
    uint64_t launches;
  } kWays[] = {
      {"make instantiate upload launch", 3},
      {"make instantiate_parameters_per_thread launch_per_thread", 3},
      {"make add_any instantiate launch", 4},
      {"make add_any_old instantiate launch", 4},
      {"make instantiate set_any_kernel launch", 3},
      {"make_child instantiate set_any_child launch", 4},
      {"make instantiate update_old launch", 3},
      {"make instantiate launch destroy instantiate launch", 6},
      {"make instantiate launch drop launch destroy", 6},
  };
  for (const auto& way : kWays) {
    const uint64_t launches = report().launches, recorded = recorded_launches();
    run(way.steps);
    EXPECT_EQ(report().launches - launches, way.launches) << way.steps;
    EXPECT_EQ(recorded_launches() - recorded, way.launches) << way.steps;
  }
}

// What is set of a node of the graph itself, once the executable is made, is not the executable's.
TEST_F(GraphsTest, AnAttributeThatIsSetLaterIsNotTheExecutables) {
  run("make instantiate cooperative launch");
  for (const InstanceRecord& instance : instances()) EXPECT_FALSE(instance.cooperative);
  EXPECT_EQ(report().instances, 3u);
}

TEST_F(GraphsTest, WhatIsNotRunNodeByNodePassesThroughWithAReason) {
  run("make instantiate_parameters_for_device launch");
  run("make updatable instantiate launch");
  run("make instantiate_for_device launch");
  run("make instantiate_for_device instantiate launch");  // its kernels might launch the other
  EXPECT_EQ(passed(NotRecorded::graph_nodes), 12u);
  EXPECT_EQ(report().instances, 0u);
}

TEST_F(GraphsTest, AroundAConditionKernelsAreRecorded) {
  run("make_condition instantiate launch launch");
  EXPECT_EQ(printed_, "  told: b=1\nlaunched: a=2 b=1\n  told: b=2\nlaunched: a=4 b=2\nat the end: a=4 b=2\n");
  EXPECT_EQ(report().launches, 8u);
  EXPECT_EQ(recorded_launches(), 4u);
  EXPECT_EQ(passed(NotRecorded::graph_condition), 2u) << "the kernel that may set it";
  EXPECT_EQ(passed(NotRecorded::graph_body), 2u) << "once for each launch of the graph";
  run("make_condition_assigned instantiate launch");
  EXPECT_EQ(recorded_launches(), 6u);
  EXPECT_EQ(passed(NotRecorded::graph_condition), 2u);
}

TEST_F(GraphsTest, BesideAConditionKernelsAreRecorded) {
  run("make_condition_beside instantiate launch launch");
  EXPECT_THAT(printed_, HasSubstr("at the end: a=4 b=2\n"));
  EXPECT_EQ(report().launches, 6u);
  EXPECT_EQ(recorded_launches(), 4u);
  EXPECT_EQ(passed(NotRecorded::graph_condition), 0u);
  EXPECT_EQ(passed(NotRecorded::graph_body), 2u);
}

// In bodies that are within bodies, and in graphs there; what the program changes of them changes nothing of the others.
TEST_F(GraphsTest, KernelsInBodiesAreCountedHoweverDeepTheyAre) {
  run("make_condition_deep instantiate set_body_kernel launch launch");
  EXPECT_EQ(passed(NotRecorded::graph_body), 2 * 4u);
  EXPECT_EQ(recorded_launches(), 2u) << "the kernel beside the condition";
  EXPECT_EQ(report().launches, 2 * 5u);
}

// A program may make graphs as long as it runs.
TEST(Conditions, GoWithTheGraphOrTheNodeThatTheyAreIn) {
  const auto graph = [](uintptr_t number) { return reinterpret_cast<CUgraph>(number); };
  const auto node = [](uintptr_t number) { return reinterpret_cast<CUgraphNode>(number); };
  const size_t before = known_conditions();
  const auto make = [&] {
    add_condition(graph(1), 10, true);
    add_bodies(graph(1), node(1), {graph(2), graph(3)});
    add_condition(graph(3), 30, false);
    add_bodies(graph(3), node(3), {graph(4)});
    add_bodies(graph(4), node(4), {graph(5)});
    EXPECT_EQ(known_conditions(), before + 6);
  };
  make();
  forget_conditions(graph(1));
  EXPECT_EQ(known_conditions(), before);
  make();
  forget_bodies(node(3));
  EXPECT_EQ(known_conditions(), before + 3);
  add_bodies(graph(6), node(3), {});  // the next one at its place is another graph's
  forget_conditions(graph(1));
  EXPECT_EQ(known_conditions(), before + 2);
  forget_conditions(graph(6));
  EXPECT_EQ(known_conditions(), before);
}

TEST_F(GraphsTest, OnlyWhatIsSelectedIsRunBesideACondition) {
  options_.max = 1;
  options_.skip = 1;
  run("make_condition instantiate launch launch disable launch");
  EXPECT_EQ(
      printed_,
      "  told: b=1\nlaunched: a=2 b=1\n  told: b=2\nlaunched: a=4 b=2\n  told: b=3\nlaunched: a=5 b=3\nat the end: a=5 b=3\n");
  EXPECT_EQ(report().instances, 1u);
}

TEST_F(GraphsTest, AConditionThatIsSetNobodyKnowsHowIsLeftAlone) {
  run("make_condition_unset instantiate launch");
  EXPECT_EQ(passed(NotRecorded::graph_condition), 2u);
  run("make_condition instantiate set_kernel_to_condition launch");
  EXPECT_EQ(passed(NotRecorded::graph_condition), 5u);
  EXPECT_EQ(report().instances, 0u);
}

// The nodes of an executable are named by those of the graph that it was made from.
TEST_F(GraphsTest, WithoutTheGraphNothingIsRecordedAroundACondition) {
  run("make_condition instantiate drop launch");
  run("make_condition instantiate drop_node launch");
  EXPECT_EQ(passed(NotRecorded::graph_condition), 6u);
  EXPECT_EQ(report().instances, 0u);
}

// What runs behind it on the device may be waiting for who destroys it.
TEST_F(GraphsTest, TheGraphMayBeDestroyedWhileItsExecutableRuns) {
  run("make_condition_assigned instantiate launch_destroyed");
  EXPECT_EQ(printed_, "launched: a=2 b=1\nat the end: a=2 b=1\n");
  EXPECT_EQ(recorded_launches(), 2u);
}

TEST_F(GraphsTest, WhatIsChangedOfAnExecutableWithAConditionIsRecordedSo) {
  run("make_condition instantiate set_kernel launch");
  EXPECT_EQ(printed_, "  told: b=2\nlaunched: a=1 b=2\nat the end: a=1 b=2\n");
  EXPECT_EQ(recorded_launches(), 2u);
  std::set<uint32_t> grids;
  for (const InstanceRecord& instance : instances()) grids.insert(instance.grid.x);
  EXPECT_EQ(grids, (std::set<uint32_t>{1, 2}));
  run("make_condition instantiate set_host launch");
  EXPECT_EQ(recorded_launches(), 4u);
}

TEST_F(GraphsTest, WhatTheDriverDoesNotDisableIsRunAsItIs) {
  const std::string steps =
      std::string(MNEME_TEST_CUBIN) + " make_condition instantiate fail:cuGraphNodeSetEnabled:1 launch launch";
  EXPECT_EQ(recorded(steps, MNEME_TEST_GRAPHS),
            "  told: b=1\nlaunched: a=2 b=1\n  told: b=2\nlaunched: a=4 b=2\nat the end: a=4 b=2\n");
  EXPECT_EQ(passed(NotRecorded::graph_untold), 4u + 1u) << "the graph is refused, with the kernel that may set the condition";
  EXPECT_EQ(report().instances, 0u);
}

TEST_F(GraphsTest, BeforeAndBehindAllocationsKernelsAreRecorded) {
  run("make_allocation_freed instantiate launch");
  EXPECT_EQ(printed_, "launched: a=2 b=1\nat the end: a=2 b=1\n");
  EXPECT_EQ(recorded_launches(), 2u);
  EXPECT_EQ(passed(NotRecorded::graph_memory), 1u);
}

TEST_F(GraphsTest, MemoryThatAGraphAllocatesIsKnown) {
  run("make_allocation instantiate launch kernel_of_b");
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::pool_memory), 1u);
}

TEST_F(GraphsTest, WhatTheDriverDoesNotGiveThePartsOfRunsAsItIs) {
  for (const char* function : {"cuGraphClone", "cuGraphNodeFindInClone", "cuGraphGetNodes", "cuGraphGetEdges_v2",
                               "cuGraphNodeGetType", "cuGraphKernelNodeGetParams_v2"}) {
    const uint64_t before = report().launches - passed(NotRecorded::graph_untold);
    const std::string steps = std::string(MNEME_TEST_CUBIN) + " make fail:" + function + ":0 instantiate launch";
    EXPECT_EQ(recorded(steps, MNEME_TEST_GRAPHS), "  told: b=2\nlaunched: a=2 b=2\nat the end: a=2 b=2\n") << function;
    EXPECT_EQ(report().launches - passed(NotRecorded::graph_untold), before) << function;
  }
  // When the graph is launched; it is not tried again.
  for (const char* function : {"cuGraphClone", "cuGraphNodeFindInClone", "cuGraphDestroyNode", "cuGraphInstantiateWithFlags"}) {
    const uint64_t before = passed(NotRecorded::graph_untold);
    const std::string steps = std::string(MNEME_TEST_CUBIN) + " make instantiate fail:" + function + ":1 launch count launch";
    EXPECT_EQ(recorded(steps, MNEME_TEST_GRAPHS),
              "  told: b=2\nlaunched: a=2 b=2\n1 executable\n  told: b=4\nlaunched: a=4 b=4\nat the end: a=4 b=4\n")
        << function;
    EXPECT_EQ(passed(NotRecorded::graph_untold), before + 6) << function;
  }
  EXPECT_EQ(report().instances, 0u);
}

TEST_F(GraphsTest, AnExecutableFromElsewhereIsTold) {
  run("make instantiate_unseen launch");
  EXPECT_EQ(report().launches, 1u);
  EXPECT_EQ(passed(NotRecorded::graph_untold), 1u);
}

TEST_F(GraphsTest, AnUpdateThatCannotBeFollowedEndsTheRecordingOfThatGraph) {
  const std::string steps =
      std::string(MNEME_TEST_CUBIN) + " make instantiate fail:cuGraphKernelNodeSetParams_v2:0 set_kernel launch";
  EXPECT_EQ(recorded(steps, MNEME_TEST_GRAPHS), "  told: b=1\nlaunched: a=1 b=1\nat the end: a=1 b=1\n");
  EXPECT_EQ(passed(NotRecorded::graph_untold), 3u);
}

TEST_F(GraphsTest, AFailureOfALaunchIsTheProgramsToSee) {
  const std::string whole = std::string(MNEME_TEST_CUBIN) + " make instantiate fail:cuGraphLaunch:0 launch";
  EXPECT_EQ(recorded(whole, MNEME_TEST_GRAPHS), bare(whole, MNEME_TEST_GRAPHS));
  EXPECT_EQ(passed(NotRecorded::launch_failed), 3u);
  // Of the second kernel, when the first is recorded already.
  const std::string later = std::string(MNEME_TEST_CUBIN) + " make instantiate fail:cuLaunchKernel:1 launch";
  EXPECT_THAT(recorded(later, MNEME_TEST_GRAPHS), HasSubstr("cuGraphLaunch returned 701"));
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::launch_failed), 5u);
}

TEST_F(GraphsTest, WhileAStreamIsCapturedNothingIsRead) {
  run("make instantiate launch_while_capturing");
  EXPECT_EQ(report().launches, 4u);
  EXPECT_EQ(passed(NotRecorded::during_capture), 4u);
}

TEST_F(GraphsTest, AGraphInPartsGoesOnWhenAnotherThreadBeginsACapture) {
  run("make instantiate launch_under_capture kernel_of_b");
  EXPECT_EQ(printed_, "launched: a=2 b=2\nat the end: a=2 b=3\n");
  EXPECT_EQ(report().launches, 4u);
  EXPECT_EQ(recorded_launches(), 3u);
  EXPECT_EQ(passed(NotRecorded::during_capture), 1u) << "the part behind its begin";
}

TEST_F(GraphsTest, AStreamThatIsDestroyedIsCapturedNoMore) {
  run("capture_destroyed kernel_of_b");
  EXPECT_EQ(report().instances, 1u);
}

TEST_F(GraphsTest, AResetOfTheDeviceForgetsGraphs) {
  run("make instantiate launch reset make instantiate launch");
  EXPECT_EQ(report().launches, 6u);
  EXPECT_EQ(recorded_launches(), 6u);
}

TEST_F(GraphsTest, AResetOfAnotherDeviceLeavesGraphsAlone) {
  ::setenv("MNEME_FAKE_DEVICES", "2", 1);
  run("make instantiate launch reset_other launch");
  ::unsetenv("MNEME_FAKE_DEVICES");
  EXPECT_EQ(report().launches, 6u);
  EXPECT_EQ(recorded_launches(), 6u);
}

// Where nothing is recorded.
class ProfileOfGraphs : public GraphsTest {
 protected:
  ProfileOfGraphs() { options_.profile_file = file_.descriptor(); }
  TimedLaunches launches() {
    const auto profile = file_.sum();
    EXPECT_TRUE(profile.ok() && profile->kernels.size() == 1u);
    return profile.ok() && !profile->kernels.empty() ? profile->kernels[0].launches() : TimedLaunches();
  }
  ProfileFile file_ = *ProfileFile::create();
};

TEST_F(ProfileOfGraphs, KernelsAreCountedAndSomeAreTimed) {
  run("make instantiate launch capture instantiate launch");
  EXPECT_EQ(report().launches, 6u);
  EXPECT_EQ(launches().launches, 6u);
  EXPECT_EQ(launches().timed, 2u) << "of the first, the second and the fourth; the first may load code";
  EXPECT_EQ(launches().mean, 250'000) << "as the clock of the tests says of any launch";
  EXPECT_EQ(report().untimed, 3u);
}

TEST_F(ProfileOfGraphs, OfManyLaunchesAFewAreTimed) {
  std::string steps = "make instantiate";
  for (int i = 0; i < 50; ++i) steps += " launch";
  run(steps + " disable launch count");
  EXPECT_THAT(printed_, HasSubstr("1 executable")) << "parts are gone when the launch is over";
  EXPECT_EQ(report().launches, 152u);
  EXPECT_EQ(launches().launches, 152u);
  EXPECT_EQ(launches().timed, Profile::kMostSamples - 1);
  EXPECT_EQ(report().untimed, 152 - Profile::kMostSamples);
}

TEST_F(ProfileOfGraphs, WhatDoesNotRunInPartsIsCounted) {
  run("make updatable instantiate launch launch");
  run("make instantiate fail:cuGraphClone:1 launch launch");
  EXPECT_EQ(report().launches, 12u);
  EXPECT_EQ(launches().launches, 12u);
  EXPECT_EQ(launches().timed, 0u);
}

TEST_F(ProfileOfGraphs, KernelsAroundAConditionAreTimed) {
  run("make_condition_assigned instantiate launch launch");
  EXPECT_EQ(launches().launches, 6u) << "those in the body, too, once for each launch of the graph";
  EXPECT_EQ(launches().timed, 2u) << "of the first, the second and the fourth; the first may load code";
}

TEST_F(ProfileOfGraphs, ALaunchThatFailedIsNotCounted) {
  const std::string steps = std::string(MNEME_TEST_CUBIN) + " make instantiate fail:cuGraphLaunch:0 launch launch";
  EXPECT_EQ(recorded(steps, MNEME_TEST_GRAPHS), bare(steps, MNEME_TEST_GRAPHS));
  EXPECT_EQ(report().launches, 6u);
  EXPECT_EQ(launches().launches, 3u);
}

}  // namespace
}  // namespace mneme::driver
