#include "mneme/pool/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using Json = nlohmann::json;

InstanceRecord launched(uint64_t count, uint32_t blocks, uint8_t id = 0) {
  InstanceRecord instance;
  instance.dynamic_hash = digest_of(ByteVector(1, std::byte(id)));
  instance.grid.x = blocks;
  instance.shape_launches = ShapeLaunches{count, std::nullopt};
  return instance;
}

// They add up to the number of instances.
TEST(Weights, AreAsOftenAsTheProgramLaunchedEachShape) {
  const std::vector<InstanceRecord> instances = {launched(30, 1), launched(10, 2)};
  auto weights = weights_of_program(instances);
  ASSERT_TRUE(weights.ok());
  EXPECT_THAT(*weights, ElementsAre(DoubleEq(1.5), DoubleEq(0.5)));
}

TEST(Weights, OfOneShapeShareItsLaunches) {
  const std::vector<InstanceRecord> instances = {launched(60, 1, 1), launched(60, 1, 2), launched(60, 2, 3)};
  auto weights = weights_of_program(instances);
  ASSERT_TRUE(weights.ok());
  EXPECT_THAT(*weights, ElementsAre(DoubleEq(0.75), DoubleEq(0.75), DoubleEq(1.5)));
}

// What else a shape is than its grid tells instances apart.
TEST(Weights, TellShapesApartByAllThatTheyAre) {
  std::vector<InstanceRecord> instances(6, launched(8, 1));
  instances[1].block.y = 2;
  instances[2].dynamic_shared_memory = Bytes(16);
  instances[3].cooperative = true;
  instances[4].cluster = {2, 1, 1};
  instances[5].grid.z = 2;
  auto weights = weights_of_program(instances);
  ASSERT_TRUE(weights.ok());
  for (const double weight : *weights) EXPECT_DOUBLE_EQ(weight, 1);
}

TEST(Weights, AreTheProgramsWhereTheyAreKnownAndNothingElseIsAskedFor) {
  const std::vector<InstanceRecord> instances = {launched(30, 1), launched(10, 2)};
  EXPECT_EQ(*choose_weights(std::nullopt, instances), *choose_weights(WeighedBy::program, instances));
  EXPECT_EQ(choose_weights(std::nullopt, instances)->of_pool(), (std::vector<double>{1.5, 0.5}));
  const Weights equal = *choose_weights(WeighedBy::equal, instances);
  EXPECT_EQ(equal, (Weights{WeighedBy::equal, {1, 1}, ""}));
  EXPECT_TRUE(equal.of_pool().empty());
}

TEST(Weights, AreEqualWithTheReasonWhereTheyAreNotKnown) {
  std::vector<InstanceRecord> instances = {launched(30, 1), launched(10, 2, 7)};
  for (const std::optional<ShapeLaunches>& unknown : {std::optional<ShapeLaunches>(), std::optional(ShapeLaunches{0, 1.0})}) {
    instances[1].shape_launches = unknown;
    const std::string why = "how often the program launched instance " + instances[1].dynamic_hash.hex() + " is not known";
    EXPECT_EQ(*choose_weights(std::nullopt, instances), (Weights{WeighedBy::equal, {1, 1}, why}));
    EXPECT_EQ(choose_weights(WeighedBy::program, instances).status().to_string(), "not_found: " + why);
    EXPECT_EQ(describe(*choose_weights(std::nullopt, instances)), "2 instances, weighed equally: " + why);
  }
}

TEST(Weights, OfOneInstanceSayNothing) {
  std::vector<InstanceRecord> one = {launched(30, 1)};
  one[0].shape_launches.reset();
  const auto weights = choose_weights(WeighedBy::program, one);
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(*weights, (Weights{WeighedBy::equal, {1}, ""}));
  EXPECT_EQ(describe(*weights), "");
}

TEST(Weights, AreFoundByTheHashesOfAKernelsInstances) {
  KernelDocument kernel;
  kernel.kernel.demangled = "scale(float*)";
  kernel.instances = {launched(30, 1, 1), launched(5, 3, 2), launched(10, 2, 3)};
  const std::vector<Digest> chosen = {kernel.instances[2].dynamic_hash, kernel.instances[0].dynamic_hash};
  EXPECT_THAT(choose_weights(std::nullopt, kernel, chosen)->of, ElementsAre(DoubleEq(0.5), DoubleEq(1.5)));
  const std::vector<Digest> unknown = {Digest()};
  EXPECT_EQ(choose_weights(std::nullopt, kernel, unknown).status().to_string(),
            "not_found: scale(float*) has no instance 00000000000000000000000000000000");
}

TEST(Weights, AreSaidInWords) {
  EXPECT_EQ(describe({WeighedBy::program, {1.5, 0.5}, ""}), "2 instances, weighed as the program launched them, 1.5 : 0.5");
  EXPECT_EQ(describe({WeighedBy::equal, {1, 1, 1}, ""}), "3 instances, weighed equally");
  EXPECT_EQ(parse_weighed_by("program"), WeighedBy::program);
  EXPECT_EQ(parse_weighed_by("equal"), WeighedBy::equal);
  EXPECT_EQ(parse_weighed_by(""), std::nullopt);
}

TEST(Weights, ComeBackFromJson) {
  for (const Weights& weights : {Weights{WeighedBy::program, {1.5, 0.5}, ""}, Weights{WeighedBy::equal, {1, 1}, "not known"}})
    EXPECT_EQ(*weights_from_json(to_json(weights), 2), weights);
  const auto refused = [](const char* text, size_t instances = 2) {
    return weights_from_json(Json::parse(text), instances).status().to_string();
  };
  EXPECT_EQ(refused(R"({"by": "chance", "of": [1, 1]})"), "corrupt: 'weights' are by neither of program and equal");
  EXPECT_EQ(refused(R"({"by": "equal", "of": []})"), "corrupt: 'weights': there are none");
  EXPECT_EQ(refused(R"({"by": "equal", "of": [1, 1]})", 3),
            "corrupt: 'weights': there must be a weight for each of 3 instances, and there are 2");
  EXPECT_EQ(refused(R"({"by": "equal", "of": [1, -2]})"), "corrupt: 'weights': a weight must be a number above 0, not -2");
  for (const char* text : {"[]", "{}", "1", R"({"by": 1, "of": [1, 1]})", R"({"by": "equal", "of": "1"})",
                           R"({"by": "equal", "of": ["1", 1]})", R"({"by": "equal", "of": [1, 1], "why_equal": 1})"})
    EXPECT_THAT(refused(text), ::testing::StartsWith("corrupt: 'weights': ")) << text;
}

TEST(Weights, AreFiniteNumbersAboveZero) {
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(check_weights(std::vector<double>{1, wrong}, 2).code(), Code::invalid_argument) << wrong;
  EXPECT_TRUE(check_weights(std::vector<double>{}, 2).ok());
  EXPECT_TRUE(check_weights(std::vector<double>{1, 1e9}, 2).ok());
}

}  // namespace
}  // namespace mneme
