#include "mneme/sweep/plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "mneme/replay/testing/each_member.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

SweepPlan some_plan() {
  SweepPlan plan;
  plan.database = "/somewhere/record-db";
  plan.kernel = "scale(int*)";
  plan.static_hash = digest_of({});
  plan.instances = {digest_of({}), Digest()};
  plan.weights = {WeighedBy::program, {1.5, 0.5}, ""};
  plan.device = DeviceKind::cuda;
  plan.base.codegen.level = 1;
  plan.base.execution.iterations = 7;
  plan.axes = {*parse_axis("block.x=64:256:64"), *parse_axis("passes=default<O1>|default<O3>")};
  plan.random = 5;
  plan.seed = 3;
  plan.share = false;
  plan.limits.compiling = PoolLimits::Seconds(2.5);
  plan.limits.running = PoolLimits::Seconds(3.5);
  plan.limits.compile_memory = 2_GiB;
  return plan;
}

struct SweepFolderTest : ::testing::Test {
  void SetUp() override {
    folder.path = std::filesystem::temp_directory_path() / fmt::format("mneme-sweep-test-{}", ::getpid());
    std::filesystem::remove_all(folder.path);
    std::filesystem::create_directories(folder.path);
  }
  void TearDown() override { std::filesystem::remove_all(folder.path); }
  void write_plan(std::string_view text) { std::ofstream(folder.plan()) << text; }
  ResultsFolder folder;
};

TEST_F(SweepFolderTest, KeepsThePlan) {
  const SweepPlan plan = some_plan();
  ASSERT_TRUE(begin_folder(folder, plan).ok());
  auto read = read_plan(folder);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_json(*read), to_json(plan));
  EXPECT_EQ(read->kernel, "scale(int*)");
  EXPECT_EQ(read->instances, plan.instances);
  EXPECT_EQ(read->base, plan.base);
  EXPECT_EQ(read->axes[1].values, plan.axes[1].values);
  EXPECT_EQ(read->random, 5u);
  EXPECT_EQ(read->limits.running.count(), 3.5);
  EXPECT_EQ(read->limits.compile_memory, 2_GiB);
}

TEST_F(SweepFolderTest, ReadsThePlanOfAnOlderVersion) {
  Json older = to_json(some_plan());
  older["configuration"]["verdict"]["poison"] = false;
  older["grid"].push_back({{"key", "verdict.poison"}, {"values", {true, false}}});
  write_plan(older.dump());
  auto read = read_plan(folder);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_FALSE(read->base.verdict.mask);
  EXPECT_EQ(read->axes.back().key, "verdict.mask");
  const auto grid = Grid::create(read->base, read->axes);
  ASSERT_TRUE(grid.ok()) << grid.status().to_string();
  EXPECT_TRUE(grid->at(0).verdict.mask);
  EXPECT_FALSE(grid->at(1).verdict.mask);
}

TEST_F(SweepFolderTest, FindsTheDatabaseThatWasMovedWithIt) {
  SweepPlan plan = some_plan();
  const Path first = folder.path / "first", second = folder.path / "second", elsewhere = folder.path / "elsewhere";
  const std::string kernel = plan.static_hash.hex() + ".json";
  plan.database = first / "record-db";
  std::filesystem::create_directories(plan.database);
  std::ofstream(plan.database / kernel) << "{}";
  const ResultsFolder before{first / "results"}, after{second / "results"};
  ASSERT_TRUE(make_folder(before).ok());
  ASSERT_TRUE(begin_folder(before, plan).ok());
  std::filesystem::rename(first, second);
  auto moved = read_plan(after);
  ASSERT_TRUE(moved.ok()) << moved.status().to_string();
  EXPECT_EQ(moved->database, second / "record-db");
  EXPECT_TRUE(check_inputs(after, *moved).ok());

  std::filesystem::rename(second / "record-db", elsewhere);
  EXPECT_EQ(read_plan(after)->database, first / "record-db");
  EXPECT_EQ(check_inputs(after, *read_plan(after)).to_string(),
            "not_found: the recorded kernel of this sweep, " + (first / "record-db" / kernel).string() +
                ", is not there any more; if it was moved: mneme sweep --resume " + after.path.string() + " -rdb DIR/" + kernel);
  ASSERT_TRUE(move_plan(after, *moved, elsewhere).ok());
  EXPECT_EQ(read_plan(after)->database, elsewhere);
  EXPECT_TRUE(check_inputs(after, *read_plan(after)).ok());
}

TEST_F(SweepFolderTest, KeepsWhatFilesOfIrWere) {
  SweepPlan plan = some_plan();
  const Path kernel = folder.path / (plan.static_hash.hex() + ".json"), ir = folder.path / "a.ll";
  std::ofstream(kernel) << "{}";
  std::ofstream(ir) << "one";
  plan.database = folder.path;
  plan.axes.push_back(*parse_axis("ir=null|" + ir.string()));
  ASSERT_TRUE(pin_files(plan.axes.back(), FileSystem::posix()).ok());
  ASSERT_TRUE(begin_folder(folder, plan).ok());
  auto read = read_plan(folder);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->axes.back().digests, plan.axes.back().digests);
  EXPECT_TRUE(check_inputs(folder, *read).ok());
  std::ofstream(ir) << "two";
  const Status changed = check_inputs(folder, *read);
  EXPECT_EQ(changed.code(), Code::incompatible);
  EXPECT_TRUE(changed.message().starts_with("grid 'ir': the IR in place of the recorded one, " + ir.string() + ", has changed: "))
      << changed.message();
}

TEST_F(SweepFolderTest, RefusesOneThatIsInUse) {
  ASSERT_TRUE(begin_folder(folder, some_plan()).ok());
  const std::string name = folder.path.string();
  EXPECT_EQ(begin_folder(folder, some_plan()).to_string(), "invalid_argument: " + name +
                                                               " has the results of a sweep already: --resume " + name +
                                                               " goes on with it; or name another folder");
}

TEST_F(SweepFolderTest, RefusesTheFolderOfARunOfTuning) {
  EXPECT_FALSE(has_results(folder));
  std::ofstream(folder.tuning_plan()) << "{}";
  EXPECT_TRUE(has_results(folder));
  EXPECT_EQ(begin_folder(folder, some_plan()).to_string(),
            "invalid_argument: " + folder.path.string() + " has the results of a run of tuning already: name another folder");
}

TEST(SweepPlan, OfVersionOneIsRead) {
  Json json = to_json(some_plan());
  json["mneme_sweep"] = 1;
  for (const char* name : {"kernel", "sampler", "trials"}) json.erase(name);
  json["random"] = 5;
  auto plan = sweep_plan_from_json(json);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->random, 5u);
  EXPECT_EQ(plan->kernel, "");
  json["random"] = nullptr;
  EXPECT_FALSE(sweep_plan_from_json(json)->random);
}

TEST(SweepPlan, SaysHowPointsAreChosenAsARunOfTuningDoes) {
  SweepPlan plan = some_plan();
  EXPECT_EQ(to_json(plan)["sampler"], "random");
  EXPECT_EQ(to_json(plan)["trials"], 5);
  plan.random.reset();
  EXPECT_EQ(to_json(plan)["sampler"], "exhaustive");
  EXPECT_EQ(to_json(plan)["trials"], nullptr);
  EXPECT_FALSE(sweep_plan_from_json(to_json(plan))->random);
}

TEST(SweepPlan, RefusesLimitsThatAreNone) {
  for (const char* number : {"-1.0", "0.0", "1e+300"}) {
    nlohmann::json plan = to_json(some_plan());
    plan["limits"]["run_timeout"] = nlohmann::json::parse(number);
    EXPECT_EQ(sweep_plan_from_json(plan).status().to_string(),
              fmt::format("corrupt: the plan of a sweep: 'run_timeout' must be from 0.001 to 1000000 seconds, not {}",
                          plan["limits"]["run_timeout"].get<double>()));
  }
}

TEST_F(SweepFolderTest, FreshOnesAreNeverShared) {
  auto first = make_fresh_folder(1'000'000'000, folder.path), second = make_fresh_folder(1'000'000'000, folder.path);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->path.string(), first->path.string() + "-2");
  EXPECT_TRUE(std::filesystem::is_directory(second->path));
  const Path nowhere = folder.path / "nowhere";
  const std::string refused = make_fresh_folder(0, nowhere).status().to_string();
  EXPECT_TRUE(refused.starts_with("io: making a folder for the results, " + nowhere.string() + "/sweep-1970")) << refused;
  EXPECT_TRUE(refused.ends_with(": No such file or directory; --results-dir names another")) << refused;
}

TEST_F(SweepFolderTest, OneAtATimeWorksOnIt) {
  const std::string name = folder.path.string();
  {
    auto lock = lock_folder(folder);
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(lock_folder(folder).status().to_string(),
              "unavailable: another sweep is working on " + name + ": wait for its end, or name another folder");
  }
  EXPECT_TRUE(lock_folder(folder).ok());
  EXPECT_EQ(lock_folder({folder.path / "none"}).status().to_string(),
            "not_found: opening the folder of results " + name + "/none: No such file or directory");
}

TEST_F(SweepFolderTest, SaysWhatIsNoPlan) {
  EXPECT_EQ(read_plan(folder).status().to_string(),
            "not_found: " + folder.path.string() + " has no sweep.json: give the folder of results of an earlier `mneme sweep`");
  write_plan("{}");
  EXPECT_EQ(read_plan(folder).status().to_string(), "corrupt: " + folder.plan().string() + ": the plan of a sweep: this is none");
  write_plan(R"({"mneme_sweep": 9})");
  EXPECT_EQ(read_plan(folder).status().to_string(),
            "incompatible: " + folder.plan().string() + ": the plan of a sweep: its version is 9, and 3 is known");
  Json cut = to_json(some_plan());
  cut.erase("grid");
  write_plan(cut.dump());
  EXPECT_EQ(read_plan(folder).status().code(), Code::corrupt);
}

TEST(SweepPlan, TheBaselineIsWhatWasRecordedUnderTheSameTiming) {
  const Configuration baseline = some_plan().baseline();
  EXPECT_EQ(baseline.codegen.level, Configuration().codegen.level);
  EXPECT_EQ(baseline.execution.iterations, 7u);
}

TEST(SweepPlan, TheBaselineHasEveryMemberThatIsOfNoCode) {
  const Configuration recorded;
  SweepPlan plan;
  testing_members::change_each(plan.base, [&](const std::string& name) {
    const std::string section = testing_members::section_of(name);
    const bool kept = section == "execution" || section == "tolerance" || section == "verdict";
    EXPECT_EQ(plan.baseline(), kept ? plan.base : recorded) << name;
  });
}

TEST(SweepPlan, EveryMemberIsKept) {
  const SweepPlan plan = some_plan();
  auto read = sweep_plan_from_json(to_json(plan));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->database, plan.database);
  EXPECT_EQ(read->static_hash, plan.static_hash);
  EXPECT_EQ(read->kernel, "scale(int*)");
  EXPECT_EQ(read->instances, plan.instances);
  EXPECT_EQ(read->weights, plan.weights);
  EXPECT_EQ(read->device, plan.device);
  EXPECT_EQ(read->base, plan.base);
  ASSERT_EQ(read->axes.size(), plan.axes.size());
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    EXPECT_EQ(read->axes[i].key, plan.axes[i].key);
    EXPECT_EQ(read->axes[i].values, plan.axes[i].values);
  }
  EXPECT_EQ(read->random, plan.random);
  EXPECT_EQ(read->seed, plan.seed);
  EXPECT_EQ(read->share, plan.share);
  EXPECT_EQ(read->limits.compiling, plan.limits.compiling);
  EXPECT_EQ(read->limits.running, plan.limits.running);
  EXPECT_EQ(read->limits.compile_memory, plan.limits.compile_memory);
}

TEST(SweepPlan, OfCodeThatIsNotRunHasAnArchitectureAndNoDevice) {
  SweepPlan plan = some_plan();
  EXPECT_FALSE(to_json(plan).contains("compile_for"));
  plan.device = DeviceKind::hip;
  plan.compile_for = "gfx942";
  const Json json = to_json(plan);
  EXPECT_EQ(json["device"], "none");
  const auto read = sweep_plan_from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->compile_for, "gfx942");
  EXPECT_EQ(read->device, DeviceKind::hip) << "told by the architecture";
  EXPECT_EQ(to_json(*read), json);
  plan.base.assembler.level = 1;
  EXPECT_EQ(check_knobs(plan).to_string(),
            "unsupported: assembler.level has no effect on AMD GPUs, whose code is not made from PTX: leave it out");
}

TEST(SweepPlan, WhatTheDeviceHasNoUseForIsRefusedAtTheStart) {
  SweepPlan plan = some_plan();
  EXPECT_TRUE(check_knobs(plan).ok());
  plan.device = DeviceKind::cpu;
  EXPECT_TRUE(check_knobs(plan).ok());
  plan.axes.push_back(*parse_axis("assembler.max_registers=null|32"));
  EXPECT_TRUE(check_knobs(plan).ok()) << "one of the two values can be had";
  plan.axes.back() = *parse_axis("assembler.max_registers=32|64");
  EXPECT_EQ(
      check_knobs(plan).to_string(),
      "unsupported: grid 'assembler.max_registers': assembler.max_registers has no effect on the CPU device, whose code is not "
      "made from PTX: leave it out");
  plan.axes.back() = *parse_axis("assembler.max_registers=32|64|null");
  EXPECT_TRUE(check_knobs(plan).ok()) << "the last can be had";
  plan.axes.back() = *parse_axis("execution.l2=cold|warm");
  EXPECT_EQ(
      check_knobs(plan).to_string(),
      "unsupported: grid 'execution.l2': execution.l2 'cold' has no effect on the device cpu, which has no L2 cache to prepare");
  plan.axes.back() = *parse_axis("specialise.max_threads=null|256");
  plan.base.specialise.bounds.max_threads = 64;
  EXPECT_TRUE(check_knobs(plan).ok()) << "the axis takes the base's place";
  plan.base.specialise.bounds.min_blocks = 2;
  EXPECT_EQ(check_knobs(plan).to_string(),
            "unsupported: specialise.min_blocks has no effect on the CPU device: leave it out there");
  plan.device = DeviceKind::cuda;
  EXPECT_TRUE(check_knobs(plan).ok());
}

TEST(SweepPlan, WhatTheCodeLacksIsRefusedAtTheStart) {
  SweepPlan plan = some_plan();
  plan.base = {};
  plan.axes = {*parse_axis("block.x=64|128"), *parse_axis("assembler.level=null|1")};
  plan.device = DeviceKind::cuda;
  KernelRecord kernel;
  EXPECT_TRUE(check_code_level(plan, kernel).ok());
  kernel.level = CodeLevel::ptx;
  EXPECT_TRUE(check_code_level(plan, kernel).ok());
  plan.axes.push_back(*parse_axis("codegen.level=1|2"));
  EXPECT_EQ(
      check_code_level(plan, kernel).to_string(),
      "unsupported: grid 'codegen.level': codegen.level: the kernel was recorded as PTX: there is no IR that it could change; "
      "leave it out");
  plan.axes.back() = *parse_axis("passes=default<O1>|as-built");
  EXPECT_TRUE(check_code_level(plan, kernel).ok()) << "one of the two values can be had";
  plan.base.linkage = Linkage::internal;
  EXPECT_EQ(check_code_level(plan, kernel).to_string(),
            "unsupported: linkage: the kernel was recorded as PTX: there is no IR that it could change; leave it out");
  plan.device = DeviceKind::cpu;
  EXPECT_EQ(check_code_level(plan, kernel).code(), Code::unsupported);
}

// An earlier version's baseline, and its configurations without a pipeline, were default<O3>, whatever the program was compiled
// with.
TEST(SweepPlan, OfAnEarlierVersionKeepsItsPipelines) {
  SweepPlan plan = some_plan();
  plan.as_built = "default<O2>";
  plan.axes.back() = {"passes", {Json(), "default<O1>"}};
  auto now = sweep_plan_from_json(to_json(plan));
  ASSERT_TRUE(now.ok()) << now.status().to_string();
  EXPECT_EQ(now->baseline().passes, "as-built");
  EXPECT_EQ(now->as_built, "default<O2>");
  EXPECT_EQ(now->axes.back().values[0], Json());
  Json json = to_json(plan);
  json["mneme_sweep"] = 2;
  json.erase("recorded_passes");
  json.erase("as_built");
  auto before = sweep_plan_from_json(json);
  ASSERT_TRUE(before.ok()) << before.status().to_string();
  EXPECT_EQ(before->baseline().passes, "default<O3>");
  EXPECT_EQ(before->axes.back().values, (std::vector<Json>{"default<O3>", "default<O1>"}));
  EXPECT_EQ(sweep_plan_from_json(to_json(*before))->baseline().passes, "default<O3>") << "when it is written anew";
  json["code"] = "ptx";
  EXPECT_EQ(sweep_plan_from_json(json)->baseline().passes, "as-built");
}

// As of a kernel of Triton's: as-built is machine code, which the code generator does not change, and other pipelines are not.
TEST(SweepPlan, WhatAsBuiltLacksIsAskedUnderThePipelinesThatAreTried) {
  SweepPlan plan = some_plan();
  plan.base = {};
  plan.device = DeviceKind::cuda;
  plan.axes = {*parse_axis("codegen.level=1|2")};
  KernelRecord kernel;
  kernel.images = {{CodeImageRecord::Kind::cubin, Digest(), Bytes(100)}};
  EXPECT_EQ(check_code_level(plan, kernel).to_string(),
            "unsupported: grid 'codegen.level': codegen.level: as-built is the program's own machine code, without IR that it "
            "could change; name a pipeline");
  plan.axes.push_back(*parse_axis("passes=default<O1>|default<O2>"));
  plan.base.linkage = Linkage::internal;
  EXPECT_TRUE(check_code_level(plan, kernel).ok());
  plan.axes.pop_back();
  plan.base.passes = "default<O2>";
  EXPECT_TRUE(check_code_level(plan, kernel).ok());
}

TEST(SweepPlan, TellsThatThereIsNoIr) {
  SweepPlan plan = some_plan();
  EXPECT_FALSE(to_json(plan).contains("code"));
  EXPECT_EQ(plan.baseline().passes, "as-built");
  plan.code = CodeLevel::cubin;
  EXPECT_EQ(plan.baseline().passes, "as-built");
  auto json = to_json(plan);
  auto read = sweep_plan_from_json(json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->code, CodeLevel::cubin);
  json["code"] = "sass";
  EXPECT_EQ(sweep_plan_from_json(json).status().to_string(), "corrupt: the plan of a sweep: 'code' is none of ir, ptx and cubin");
}

TEST(SweepPoints, AreAllOrASample) {
  SweepPlan plan = some_plan();
  const Grid grid = *Grid::create(plan.base, plan.axes);
  EXPECT_EQ(SweepPoints(grid, plan).size(), 5u);
  EXPECT_EQ(SweepPoints(grid, plan).at(2), grid.sample(5, 3)[2]);
  plan.random = UINT64_MAX;  // all there are, none of them held
  EXPECT_TRUE(check_sample(grid, plan).ok());
  EXPECT_EQ(SweepPoints(grid, plan).size(), 8u);
  EXPECT_EQ(SweepPoints(grid, plan).at(7), 7u);
  plan.random.reset();
  EXPECT_EQ(SweepPoints(grid, plan).size(), 8u);
  EXPECT_EQ(SweepPoints(grid, plan).at(7), 7u);
}

TEST(SweepPoints, AreDrawnByTheSeed) {
  SweepPlan plan = some_plan();
  plan.axes = {*parse_axis("block.x=1:1000")};
  const Grid grid = *Grid::create(plan.base, plan.axes);
  const auto drawn = [&](uint64_t seed) {
    plan.seed = seed;
    const SweepPoints points(grid, plan);
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < points.size(); ++i) all.push_back(points.at(i));
    return all;
  };
  EXPECT_EQ(drawn(3), grid.sample(5, 3));
  EXPECT_NE(drawn(3), drawn(0));
}

TEST(SweepPoints, MoreThanAreDrawnAreRefused) {
  SweepPlan plan = some_plan();
  plan.axes.clear();
  for (const char* key : {"block.x", "block.y", "block.z", "grid.x", "grid.y", "grid.z"})
    plan.axes.push_back(*parse_axis(std::string(key) + "=1:100"));
  const Grid grid = *Grid::create({}, plan.axes);
  plan.random = 1'000'000'000;
  EXPECT_EQ(
      check_sample(grid, plan).to_string(),
      "invalid_argument: --random 1000000000 of the grid's 1000000000000 points: at most 10000000 are drawn; a smaller grid "
      "may be swept whole");
  plan.random = 2'000'000'000'000;
  EXPECT_TRUE(check_sample(grid, plan).ok());
  EXPECT_EQ(SweepPoints(grid, plan).size(), grid.size());
}

TEST_F(SweepFolderTest, TheDatabaseInItsPlaceIsPreferredToOneBesideTheResults) {
  SweepPlan plan = some_plan();
  const Path first = folder.path / "first", copy = folder.path / "copy";
  plan.database = first / "record-db";
  std::filesystem::create_directories(plan.database);
  std::ofstream(plan.database / (plan.static_hash.hex() + ".json")) << "{}";
  ASSERT_TRUE(make_folder({first / "results"}).ok());
  ASSERT_TRUE(begin_folder({first / "results"}, plan).ok());
  std::filesystem::copy(first, copy, std::filesystem::copy_options::recursive);
  auto read = read_plan({copy / "results"});
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->database, plan.database);
}

TEST_F(SweepFolderTest, AFolderGivenRelativelyMovesWithItsDatabaseToo) {
  SweepPlan plan = some_plan();
  const Path first = folder.path / "first", moved = folder.path / "moved", before = std::filesystem::current_path();
  plan.database = first / "record-db";
  std::filesystem::create_directories(plan.database);
  std::ofstream(plan.database / (plan.static_hash.hex() + ".json")) << "{}";
  std::filesystem::current_path(first);
  const bool begun = make_folder({"results"}).ok() && begin_folder({"results"}, plan).ok();
  std::filesystem::current_path(before);
  ASSERT_TRUE(begun);
  std::filesystem::rename(first, moved);
  auto read = read_plan({moved / "results"});
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->database, moved / "record-db");
}

TEST_F(SweepFolderTest, AFileOfIrThatHasChangedIsRefusedInTheBaseToo) {
  SweepPlan plan = some_plan();
  plan.database = folder.path;
  std::ofstream(folder.path / (plan.static_hash.hex() + ".json")) << "{}";
  const Path ir = folder.path / "a.ll";
  std::ofstream(ir) << "one";
  plan.base.ir = {ir.string(), digest_of(std::as_bytes(std::span("one", 3))).hex()};
  EXPECT_TRUE(check_inputs(folder, plan).ok());
  std::ofstream(ir) << "two";
  EXPECT_EQ(check_inputs(folder, plan).code(), Code::incompatible);
}

TEST_F(SweepFolderTest, ADatabaseThatWasMovedIsKeptWithItsWholePath) {
  SweepPlan plan = some_plan();
  ASSERT_TRUE(move_plan(folder, plan, "moved/./record-db").ok());
  EXPECT_EQ(plan.database, std::filesystem::current_path() / "moved/record-db");
}

TEST_F(SweepFolderTest, ALogAloneIsResultsToo) {
  std::ofstream(folder.log()) << "";
  EXPECT_TRUE(has_results(folder));
}

TEST(SweepPlan, LimitsAreFromAThousandthToAMillionSeconds) {
  nlohmann::json plan = to_json(some_plan());
  for (double right : {0.001, 1e6}) {
    plan["limits"]["run_timeout"] = right;
    EXPECT_TRUE(sweep_plan_from_json(plan).ok()) << right;
  }
  for (double wrong : {0.0009, 1000001.0}) {
    plan["limits"]["run_timeout"] = wrong;
    EXPECT_FALSE(sweep_plan_from_json(plan).ok()) << wrong;
  }
}

TEST(SweepPoints, TenMillionAreDrawn) {
  SweepPlan plan = some_plan();
  plan.axes = {*parse_axis("block.x=1:10000"), *parse_axis("block.y=1:10000")};
  const Grid grid = *Grid::create({}, plan.axes);
  plan.random = 10'000'000;
  EXPECT_TRUE(check_sample(grid, plan).ok());
  plan.random = 10'000'001;
  EXPECT_FALSE(check_sample(grid, plan).ok());
}

TEST(SweepPlan, APipelineThatDoesNotParseIsNamedByItsPlace) {
  SweepPlan plan = some_plan();
  KernelRecord kernel;
  kernel.target = "nvptx";
  plan.axes = {*parse_axis("passes=null|default<O1>|no-such-pass")};
  const Status refused = check_pipelines(plan, kernel);
  EXPECT_TRUE(refused.to_string().starts_with("invalid_argument: grid 'passes', value 3 of 3: ")) << refused.to_string();
  plan.axes.push_back(*parse_axis("pass_plugins=[]"));
  EXPECT_TRUE(check_pipelines(plan, kernel).ok()) << "which plugins may know";
}

TEST(SweepPlan, EachTargetHasPassesOfItsOwn) {
  SweepPlan plan = some_plan();
  KernelRecord kernel;
  plan.axes = {*parse_axis("passes=default<O1>|function(amdgpu-promote-kernel-arguments)")};
  kernel.target = "amdgcn";
  EXPECT_TRUE(check_pipelines(plan, kernel).ok()) << check_pipelines(plan, kernel).to_string();
  kernel.target = "nvptx";
  EXPECT_EQ(check_pipelines(plan, kernel).code(), Code::invalid_argument);
}

TEST(SweepPlan, InstancesAreHashes) {
  for (const Json& wrong : {Json("zz"), Json(7), Json(Digest().hex() + "0")}) {
    Json plan = to_json(some_plan());
    plan["instances"].push_back(wrong);
    EXPECT_EQ(sweep_plan_from_json(plan).status().to_string(), "corrupt: the plan of a sweep: 'instances' has what is no hash");
  }
}

// Plans of before there were weights have none: their results are of plain sums.
TEST(SweepPlan, WeightsAreKeptAndMayBeMissing) {
  Json plan = to_json(some_plan());
  EXPECT_EQ(plan["weights"], Json({{"by", "program"}, {"of", {1.5, 0.5}}}));
  plan["weights"]["of"].push_back(1);
  EXPECT_EQ(sweep_plan_from_json(plan).status().to_string(),
            "corrupt: the plan of a sweep: 'weights': there must be a weight for each of 2 instances, and there are 3");
  plan.erase("weights");
  EXPECT_TRUE(sweep_plan_from_json(plan)->weights.of_pool().empty());
  SweepPlan one = some_plan();
  one.instances.resize(1);
  one.weights = {WeighedBy::equal, {1}, ""};
  EXPECT_FALSE(to_json(one).contains("weights"));
}

TEST_F(SweepFolderTest, APlanThatCannotBeReadSaysWhy) {
  std::filesystem::create_directories(folder.plan());
  EXPECT_EQ(read_plan(folder).status().code(), Code::io) << read_plan(folder).status().to_string();
}

}  // namespace
}  // namespace mneme
