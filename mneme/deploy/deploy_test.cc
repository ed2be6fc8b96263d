#include "mneme/deploy/deploy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/deploy/conditions.h"

namespace mneme {
namespace {

TEST(StatesThatCount, AreAllWhereThereIsACacheToSet) {
  using enum CacheState;
  EXPECT_THAT(states_that_count({}, as_it_comes, DeviceKind::cuda), testing::ElementsAre(as_it_comes, cold, warm));
  EXPECT_THAT(states_that_count({}, warm, DeviceKind::cuda), testing::ElementsAre(warm, as_it_comes, cold));
  EXPECT_THAT(states_that_count({}, as_it_comes, DeviceKind::cpu), testing::ElementsAre(as_it_comes));
  EXPECT_THAT(states_that_count({Unconfirmed::take, {}}, cold, DeviceKind::cuda), testing::ElementsAre(cold));
  EXPECT_THAT(states_that_count({Unconfirmed::leave_out, warm}, cold, DeviceKind::cuda), testing::ElementsAre(warm));
}

InstanceRecord recorded_launch() {
  InstanceRecord instance;
  instance.grid = {10, 1, 1};
  instance.block = {128, 1, 1};
  return instance;
}

LaunchRule::Covers covers(const Configuration& configuration, BlockUse blocks = BlockUse::none) {
  const InstanceRecord instance = recorded_launch();
  return rule_of(configuration, instance, *configuration.launch_shape(instance), blocks).covers;
}

TEST(RuleOf, CoversWhatDependsOnNothingElse) {
  using Covers = LaunchRule::Covers;
  Configuration configuration;
  EXPECT_EQ(covers(configuration), Covers::any);
  configuration.specialise.alignment = true;
  EXPECT_EQ(covers(configuration), Covers::any);
  configuration.block.x = 64;
  EXPECT_EQ(covers(configuration), Covers::shape) << "half the threads are no rule for other launches";
  configuration.keep_threads = true;
  EXPECT_EQ(covers(configuration), Covers::block);
  EXPECT_EQ(covers(configuration, BlockUse::unknown), Covers::shape) << "blocks may mean something to the kernel";
  for (bool* fact : {&configuration.specialise.dimensions, &configuration.specialise.ranges}) {
    *fact = true;
    EXPECT_EQ(covers(configuration), Covers::shape);
    *fact = false;
  }
  configuration.shared_memory = Bytes(64);
  EXPECT_EQ(covers(configuration), Covers::shape);
}

TEST(RuleOf, WhatIsNotTheRecordedCodeCoversWhatItWasVerifiedOn) {
  using Covers = LaunchRule::Covers;
  Configuration recorded;
  recorded.passes = "default<O1>";
  recorded.codegen.level = 1;
  recorded.assembler = {};
  EXPECT_EQ(covers(recorded, BlockUse::unknown), Covers::any);
  Configuration changed = recorded;
  changed.ir.path = "scale.ll";
  EXPECT_EQ(covers(changed), Covers::shape);
  changed = recorded;
  changed.pass_plugins = {"own.so"};
  EXPECT_EQ(covers(changed), Covers::shape);
  changed = recorded;
  changed.codegen.fast_math = {"reassoc"};
  EXPECT_EQ(covers(changed), Covers::shape);
  changed = recorded;
  changed.codegen.ftz = FlushDenormals::on;
  EXPECT_EQ(covers(changed), Covers::shape);
  changed = recorded;
  changed.codegen.contraction = Contraction::fast;
  EXPECT_EQ(covers(changed), Covers::shape);
}

TEST(RepeatableOf, CodeThatDoesMoreThanChangeMemoryIsNotRunTwice) {
  const auto of_ir = [](const std::string& declaration) {
    const std::string ir = "target triple = \"nvptx64-nvidia-cuda\"\n" + declaration +
                           "\ndefine ptx_kernel void @kernel(ptr %out) {\n  store i32 1, ptr %out\n  ret void\n}\n";
    auto module = ir::Module::parse(std::as_bytes(std::span(ir)), "test.ll");
    EXPECT_TRUE(module.ok()) << module.status().message();
    return repeatable(&*module, {}, {});
  };
  EXPECT_EQ(of_ir("declare double @__nv_sin(double)"), Repeatable::yes);
  EXPECT_EQ(of_ir("declare void @__assertfail(ptr, ptr, i32, ptr, i64)"), Repeatable::yes);
  EXPECT_EQ(of_ir("declare i32 @vprintf(ptr, ptr)"), Repeatable::no);
  EXPECT_EQ(of_ir("declare ptr @malloc(i64)"), Repeatable::no);
  EXPECT_EQ(of_ir("declare float @__ocml_sin_f32(float)"), Repeatable::yes);
  EXPECT_EQ(of_ir("define void @__ockl_hostcall_preview() {\n  ret void\n}"), Repeatable::no) << "as printf of HIP's does";
  EXPECT_EQ(of_ir("define i64 @__ockl_dm_alloc(i64 %n) {\n  ret i64 %n\n}"), Repeatable::no);
  const std::string plain = "a cubin", prints = "a cubin with vprintf in it";
  EXPECT_EQ(repeatable(nullptr, std::as_bytes(std::span(plain)), {}), Repeatable::yes);
  EXPECT_EQ(repeatable(nullptr, std::as_bytes(std::span(prints)), {}), Repeatable::no);
  TextureSet textures;
  textures.arrays.resize(1);
  textures.objects.resize(1);
  textures.objects[0].kind = TextureObject::Kind::surface;
  EXPECT_EQ(repeatable(nullptr, std::as_bytes(std::span(plain)), textures), Repeatable::no);
}

TEST(TolerancesOf, AreToldFromThePointerThatLeadsThere) {
  KernelRecord kernel;
  InstanceRecord instance = recorded_launch();
  for (const uint64_t word : {0x1000, 0x1040, 0x3000}) {
    kernel.parameters.push_back({Parameter::Kind::pointer, "", "", instance.parameters.size(), 8, 8});
    const auto bytes = std::as_bytes(std::span(&word, 1));
    instance.parameters.insert(instance.parameters.end(), bytes.begin(), bytes.end());
  }
  MemoryPlan plan;
  for (const uint64_t address : {0x1000, 0x5000}) {
    PlannedRegion& region = plan.regions.emplace_back();
    region.prologue.address = DevicePtr(address);
    region.prologue.size = Bytes(0x102);
  }
  const Tolerance f32{ElementType::f32, 1e-5, ErrorKind::relative};
  EXPECT_EQ(tolerances_of({{"out", 0, 0x80, Bytes(0x20), f32}, {"out", 0, 0xc0, Bytes(0x40), f32}, {"far", 1, 0, Bytes(8), f32}},
                          kernel, instance, plan, {"total"}),
            (std::vector<TunedTolerance>{{{1, 0}, 0x40, 0x20, f32, {}}, {{1, 0}, 0x80, 0, f32, {}}}));

  plan.regions[1].prologue.kind = Region::Kind::global;
  plan.regions[1].prologue.name = "total";
  const std::vector<ToleratedRange> of_variable{{"total", 1, 0x10, Bytes(0xf2), f32}, {"out", 0, 0, Bytes(4), f32}};
  EXPECT_EQ(tolerances_of(of_variable, kernel, instance, plan, {"other", "total"}),
            (std::vector<TunedTolerance>{{{0, 0}, 0, 4, f32, {}}, {{}, 0x10, 0, f32, 1}}));
  EXPECT_EQ(tolerances_of(of_variable, kernel, instance, plan, {}).size(), 1u) << "the code does not reach it";
}

TEST(RuleOf, HasTheLaunchThatWasVerified) {
  Configuration configuration;
  configuration.block.x = 64;
  configuration.keep_threads = true;
  configuration.specialise.bounds.max_threads = 64;
  const InstanceRecord instance = recorded_launch();
  const LaunchRule rule = rule_of(configuration, instance, *configuration.launch_shape(instance), BlockUse::none);
  EXPECT_EQ(rule.recorded, (ProgramShape{{10, 1, 1}, {128, 1, 1}}));
  EXPECT_EQ(rule.tuned, (ProgramShape{{20, 1, 1}, {64, 1, 1}}));
  EXPECT_EQ(rule.max_threads, 64u);
}

// Arrays a and b, a third pointer into a, a count, and a structure with two words, of which the second leads into b.
TEST(AddConditions, AreWhatTheSpecialisationAssumes) {
  KernelRecord kernel;
  InstanceRecord instance = recorded_launch();
  const auto add = [&](Parameter::Kind kind, std::vector<uint64_t> words) {
    kernel.parameters.push_back({kind, "", "", instance.parameters.size(), words.size() * 8, 8});
    const auto bytes = std::as_bytes(std::span(words));
    instance.parameters.insert(instance.parameters.end(), bytes.begin(), bytes.end());
  };
  add(Parameter::Kind::pointer, {0x1000});
  add(Parameter::Kind::pointer, {0x3000});
  add(Parameter::Kind::pointer, {0x1010});
  add(Parameter::Kind::integer, {5});
  add(Parameter::Kind::aggregate, {7, 0x3008});
  MemoryPlan plan;
  for (const uint64_t address : {0x1000, 0x3000}) {
    PlannedRegion& region = plan.regions.emplace_back();
    region.prologue.address = DevicePtr(address);
    region.prologue.size = Bytes(0x100);
  }
  Specialisation specialisation;
  specialisation.arguments = {{3, ByteVector(8, std::byte{5})}};
  specialisation.pointers = {{0, 16, true}, {1, 4096, false}};
  TunedKernel tuned;
  add_conditions(specialisation, kernel, instance, plan, tuned);
  EXPECT_EQ(tuned.arguments, (std::vector<ArgumentIs>{{3, ByteVector(8, std::byte{5})}}));
  EXPECT_EQ(tuned.aligned, (std::vector<PointerAligned>{{0, 16}, {1, 4096}}));
  EXPECT_EQ(tuned.alone, (std::vector<PointerAlone>{{0, {{1, 0}, {4, 0}, {4, 8}}}})) << "the third led to the same array before";
}

TEST(AsksNoMore, OfAlignmentAndOfPointersThatAreAlone) {
  const auto asking = [](std::vector<PointerAligned> aligned, std::vector<PointerAlone> alone) {
    TunedKernel kernel;
    kernel.aligned = std::move(aligned);
    kernel.alone = std::move(alone);
    return kernel;
  };
  const TunedKernel nothing, little = asking({{0, 16}}, {{0, {{1, 0}}}}),
                             much = asking({{0, 512}, {1, 4}}, {{0, {{1, 0}, {2, 8}}}}), another = asking({{1, 16}}, {});
  EXPECT_TRUE(asks_no_more(nothing, little));
  EXPECT_FALSE(asks_no_more(little, nothing));
  EXPECT_TRUE(asks_no_more(little, little));
  EXPECT_TRUE(asks_no_more(little, much));
  EXPECT_FALSE(asks_no_more(much, little));
  EXPECT_FALSE(asks_no_more(another, much)) << "of the second pointer it asks for more";
  EXPECT_FALSE(asks_no_more(another, little));
  EXPECT_FALSE(asks_no_more(little, another));
}

class ReadFound : public testing::Test {
 protected:
  void write(const char* name, const std::string& text) {
    EXPECT_TRUE(FileSystem::posix().write_atomically(folder_.path() / name, std::as_bytes(std::span(text))).ok());
  }
  std::string refusal() const { return read_found(folder_.path()).status().message(); }
  std::string here() const { return folder_.path().string(); }

  const TemporaryDirectory folder_;
  const std::string plan_ =
      R"({"mneme_tune": 3, "database": "/nowhere/db", "database_from_here": "../db", "device": "cpu",)"
      R"( "static_hash": "00112233445566778899aabbccddeeff", "instances": ["ffeeddccbbaa99887766554433221100"]})";
};

TEST_F(ReadFound, IsWhatPlanAndBestSay) {
  write("tune.json", plan_);
  write("best.json",
        R"({"configuration": {"passes": "default<O1>"}, "claim": "faster", "speed_up": 1.5, "interval": [1.4, 1.6]})");
  auto found = read_found(folder_.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->database, "/nowhere/db");
  EXPECT_EQ(found->static_hash.hex(), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(found->instances.size(), 1u);
  EXPECT_THAT(found->weights, testing::ElementsAre(1));
  EXPECT_EQ(found->configuration.passes, "default<O1>");
  EXPECT_EQ(found->speed_up, (SpeedUp{1.5, 1.4, 1.6}));
  write("best.json", R"({"configuration": {}, "claim": "not confirmed", "speed_up": 1.5, "interval": null})");
  EXPECT_EQ(read_found(folder_.path())->speed_up, std::nullopt);
}

TEST_F(ReadFound, InstancesCountAsTheSearchHasWeighedThem) {
  std::string plan = plan_;
  plan.replace(plan.find("]}"), 2, R"(, "00112233445566778899aabbccddeeff"], "weights": {"by": "program", "of": [1.5, 0.5]}})");
  write("tune.json", plan);
  write("best.json", R"({"configuration": {}, "claim": "faster", "speed_up": 1.5, "interval": [1.4, 1.6]})");
  EXPECT_THAT(read_found(folder_.path())->weights, testing::ElementsAre(1.5, 0.5));
  plan.replace(plan.find("1.5, 0.5"), 8, "1.5");
  write("tune.json", plan);
  EXPECT_EQ(refusal(), here() + "/tune.json: 'weights': there must be a weight for each of 2 instances, and there are 1");
}

TEST_F(ReadFound, WhatIsNoResultIsTold) {
  EXPECT_EQ(refusal(), here() + " has no results: give a folder that `mneme sweep` or `mneme tune` has written");
  write("sweep.json", plan_);
  EXPECT_EQ(refusal(),
            here() + " has no best.json: nothing was found there, or the search was killed (--resume goes on with it)");
  write("best.json", "[1]");
  EXPECT_EQ(refusal(), here() + "/best.json is no JSON object");
  write("best.json", R"({"configuration": {"passes": 5}, "claim": "faster", "interval": null})");
  EXPECT_THAT(refusal(), testing::HasSubstr(here() + "/best.json: "));
  write("best.json", R"({"configuration": {}, "interval": null})");
  EXPECT_THAT(refusal(), testing::HasSubstr("'claim'"));
  write("best.json", R"({"configuration": {}, "claim": "faster", "speed_up": 2, "interval": [1]})");
  EXPECT_THAT(refusal(), testing::HasSubstr(here() + ": "));
}

}  // namespace
}  // namespace mneme
