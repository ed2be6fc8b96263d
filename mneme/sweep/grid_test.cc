#include "mneme/sweep/grid.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace mneme {
namespace {

using Json = nlohmann::json;

std::string refusal(std::string_view text) { return parse_axis(text).status().message(); }

TEST(GridAxis, ReadsRangesAndLists) {
  EXPECT_EQ(parse_axis("block.x=64:256:64")->values, (std::vector<Json>{64, 128, 192, 256}));
  EXPECT_EQ(parse_axis("block.x=1:3")->values, (std::vector<Json>{1, 2, 3}));
  EXPECT_EQ(parse_axis("block.x=1:9:3")->values, (std::vector<Json>{1, 4, 7}));
  EXPECT_EQ(parse_axis("block.x=32:1024:*2")->values, (std::vector<Json>{32, 64, 128, 256, 512, 1024}));
  EXPECT_EQ(parse_axis("block.x=1:9223372036854775807:*1000000000")->values,
            (std::vector<Json>{1, 1'000'000'000, 1'000'000'000'000'000'000}));
  EXPECT_EQ(parse_axis("block.x=32|100")->values, (std::vector<Json>{32, 100}));
  EXPECT_EQ(parse_axis("block.x=null|32|64:128:64")->values, (std::vector<Json>{nullptr, 32, 64, 128}));
  EXPECT_EQ(parse_axis("passes=default<O1>|function(sroa,gvn)")->values,
            (std::vector<Json>{"default<O1>", "function(sroa,gvn)"}));
  EXPECT_EQ(parse_axis("a=[\"n\"]|[]|true")->values, (std::vector<Json>{Json::array({"n"}), Json::array(), true}));
}

TEST(GridAxis, AFormerNameIsThatOfTheMember) {
  const GridAxis axis = *parse_axis("verdict.poison=true|false");
  EXPECT_EQ(axis.key, "verdict.mask");
  const auto grid = Grid::create({}, {axis});
  ASSERT_TRUE(grid.ok()) << grid.status().to_string();
  EXPECT_TRUE(grid->at(0).verdict.mask);
  EXPECT_FALSE(grid->at(1).verdict.mask);
}

TEST(GridAxis, RefusesWithTheReason) {
  EXPECT_EQ(refusal("block.x"), "grid 'block.x': KEY=VALUE|VALUE… or KEY=FIRST:LAST:STEP is expected, as in block.x=64:1024:64");
  EXPECT_EQ(refusal("block.x=9:1"),
            "grid 'block.x=9:1': a range goes from its first number up to its last, by a step of 1 or more");
  EXPECT_EQ(refusal("n=0:9:0"), "grid 'n=0:9:0': a range goes from its first number up to its last, by a step of 1 or more");
  EXPECT_EQ(refusal("n=0:9:*2"), "grid 'n=0:9:*2': a range by a factor begins at 1 or above, and its factor is 2 or more");
  EXPECT_EQ(refusal("n=0:9000000000000000000"), "grid 'n=0:9000000000000000000': an axis has at most 1000000 values");
  EXPECT_EQ(refusal("n=1:600000|1000000:1600000"), "grid 'n=1:600000|1000000:1600000': an axis has at most 1000000 values");
  EXPECT_EQ(refusal("n=1:3|2"), "grid 'n=1:3|2': 2 comes twice");
}

Grid make(std::vector<std::string> texts) {
  std::vector<GridAxis> axes;
  for (const std::string& text : texts) axes.push_back(*parse_axis(text));
  return *Grid::create({}, axes);
}

TEST(Grid, HasEveryCombinationOnce) {
  Grid grid = make({"passes=default<O1>|default<O3>", "block.x=64|128|256"});
  ASSERT_EQ(grid.size(), 6u);
  std::set<std::pair<std::string, uint32_t>> seen;
  for (uint64_t i = 0; i < grid.size(); ++i) seen.emplace(grid.at(i).passes, *grid.at(i).block.x);
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(grid.values_at(4), (std::vector<Json>{"default<O3>", 128}));
  EXPECT_EQ(make({}).size(), 1u);
}

TEST(Grid, RefusesWhatNoConfigurationTakes) {
  EXPECT_TRUE(
      Grid::create({}, {*parse_axis("a=null")}).status().message().starts_with("grid 'a=null': configuration: unknown key 'a'"));
  EXPECT_TRUE(Grid::create({}, {*parse_axis("block.x=null"), *parse_axis("ir=null"), *parse_axis("tolerance=null")}).ok());
  EXPECT_EQ(Grid::create({}, {*parse_axis("ir_digest=null|abc")}).status().message(),
            "grid 'ir_digest': it is what the file of 'ir' has, and follows from that: give ir=FILE");
  EXPECT_EQ(Grid::create({}, {*parse_axis("blok.x=64")}).status().message(),
            "grid 'blok.x=64': configuration: unknown key 'blok'; the nearest is 'block'");
  EXPECT_EQ(Grid::create({}, {*parse_axis("block.x=64"), *parse_axis("block.x=32")}).status().message(),
            "grid: 'block.x' is given twice");
  EXPECT_EQ(Grid::create({}, {*parse_axis("block={\"x\":64}"), *parse_axis("block.x=32")}).status().message(),
            "grid: 'block' and 'block.x' are given, and one is a part of the other");
  EXPECT_EQ(Grid::create({}, {*parse_axis("passes.x=64")}).status().message(),
            "grid 'passes.x': there is no such member of a configuration");
  EXPECT_EQ(Grid::create({}, {*parse_axis("block.x=0.5")}).status().message(),
            "grid 'block.x=0.5': configuration: 'block.x' must be a whole number from 0 to 4294967295, not 0.5");
  Configuration kept;
  kept.keep_threads = true;
  EXPECT_EQ(Grid::create(kept, {*parse_axis("grid.x=64")}).status().message(),
            "grid 'grid.x': keep_threads computes the grid: leave one of the two out");
  EXPECT_TRUE(Grid::create(kept, {*parse_axis("block.x=64")}).ok());
}

TEST(Grid, NullLeavesTheMemberOut) {
  Configuration base;
  base.block.x = 32;
  Grid grid = *Grid::create(base, {*parse_axis("block.x=null|64"), *parse_axis("assembler.max_registers=null|40")});
  EXPECT_EQ(grid.at(0), Configuration());
  EXPECT_EQ(grid.at(3).block.x, 64u);
  EXPECT_EQ(grid.at(1).assembler.max_registers, 40u);
}

struct GridFilesTest : ::testing::Test {
  GridFilesTest() : folder(std::filesystem::temp_directory_path() / fmt::format("mneme-grid-test-{}", ::getpid())) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "a.ll") << "a";
    std::ofstream(folder / "b.ll") << "b";
  }
  ~GridFilesTest() override { std::filesystem::remove_all(folder); }
  Path folder;
};

TEST_F(GridFilesTest, FilesAreWhatTheyWereWhenTheyWerePinned) {
  const std::string a = folder / "a.ll", b = folder / "b.ll";
  GridAxis axis = *parse_axis("ir=null|" + a + "|" + b), other = *parse_axis("block.x=64|128");
  FileSystem& files = FileSystem::posix();
  ASSERT_TRUE(pin_files(axis, files).ok());
  ASSERT_TRUE(pin_files(other, files).ok());
  EXPECT_TRUE(other.digests.empty());
  Configuration base;
  base.ir = {"/elsewhere.ll", std::string(32, '0')};
  const Grid grid = *Grid::create(base, {axis, other});
  EXPECT_EQ(grid.at(0).ir, IrFile()) << "the recorded code";
  EXPECT_EQ(grid.at(2).ir, (IrFile{a, digest_of(std::as_bytes(std::span("a", 1))).hex()}));
  EXPECT_NE(grid.at(4).ir.digest, grid.at(2).ir.digest);
  EXPECT_EQ(Grid::create(base, {*parse_axis("ir=" + a)})->at(0).ir, (IrFile{a, ""})) << "not the base's digest";
  ASSERT_TRUE(pin_files(axis, files).ok()) << "nothing has changed";

  std::ofstream(b) << "changed";
  EXPECT_EQ(
      pin_files(axis, files).to_string(),
      fmt::format("incompatible: grid 'ir': the IR in place of the recorded one, {}, has changed: its digest is {}, and the "
                  "configuration's {}",
                  b, digest_of(std::as_bytes(std::span("changed", 7))).hex(), digest_of(std::as_bytes(std::span("b", 1))).hex()));
  std::filesystem::remove(b);
  EXPECT_EQ(pin_files(axis, files).code(), Code::not_found);
  axis.digests.pop_back();
  EXPECT_EQ(Grid::create({}, {axis}).status().message(), "grid 'ir': 3 values and 2 digests");
}

TEST_F(GridFilesTest, PathsAreOfTheFolderInWhichTheyWereGiven) {
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  GridAxis axis = *parse_axis("ir=./a.ll");
  EXPECT_TRUE(pin_files(axis, FileSystem::posix()).ok());
  std::filesystem::current_path(before);
  EXPECT_EQ(axis.values[0], (folder / "a.ll").string());
}

TEST(Grid, SamplesDifferentPointsByTheSeed) {
  Grid grid = make({"block.x=1:1000", "block.y=1:1000"});
  std::vector<uint64_t> points = grid.sample(500, 7);
  EXPECT_EQ(std::set<uint64_t>(points.begin(), points.end()).size(), 500u);
  EXPECT_EQ(points, grid.sample(500, 7));
  EXPECT_NE(points, grid.sample(500, 8));
  EXPECT_EQ(make({"block.x=1:3"}).sample(10, 1), (std::vector<uint64_t>{0, 1, 2}));
  std::vector<uint64_t> most = make({"block.x=1:1000"}).sample(999, 7);
  EXPECT_EQ(std::set<uint64_t>(most.begin(), most.end()).size(), 999u);
}

TEST(GridAxis, WhatGoesOnBehindANumberIsText) {
  EXPECT_EQ(parse_axis("passes=1:2x")->values, (std::vector<Json>{"1:2x"}));
  EXPECT_EQ(parse_axis("passes=1:2:*2x")->values, (std::vector<Json>{"1:2:*2x"}));
}

TEST(GridAxis, HasAMillionValuesAtMost) {
  EXPECT_EQ(parse_axis("n=1:1000000")->values.size(), 1'000'000u);
  EXPECT_EQ(refusal("n=1:1000000|0"), "grid 'n=1:1000000|0': an axis has at most 1000000 values");
}

TEST(Grid, HasTwoToTheSixtyThirdPointsAtMost) {
  std::vector<GridAxis> axes;
  for (const char* key : {"block.x", "block.y", "block.z", "grid.x", "grid.y", "grid.z"})
    axes.push_back(*parse_axis(fmt::format("{}=1:1024", key)));
  axes.push_back(*parse_axis("execution.iterations=1:8"));
  auto grid = Grid::create({}, axes);
  ASSERT_TRUE(grid.ok()) << grid.status().to_string();
  EXPECT_EQ(grid->size(), uint64_t{1} << 63);
  EXPECT_EQ(grid->values_at(grid->size() - 1).front(), 1024);
  axes.push_back(*parse_axis("execution.warm_up=0|1"));
  EXPECT_EQ(Grid::create({}, axes).status().message(), "grid: it has more than 2^63 points");
}

TEST(Grid, KeepThreadsComputesTheWholeGrid) {
  Configuration kept;
  kept.keep_threads = true;
  EXPECT_EQ(Grid::create(kept, {*parse_axis(R"(grid={"x":4})")}).status().message(),
            "grid 'grid': keep_threads computes the grid: leave one of the two out");
}

TEST_F(GridFilesTest, NoPathIsTheRecordedCode) {
  GridAxis axis = *parse_axis("ir=\"\"|" + (folder / "a.ll").string());
  const Status pinned = pin_files(axis, FileSystem::posix());
  ASSERT_TRUE(pinned.ok()) << pinned.to_string();
  EXPECT_EQ(axis.values[0], "");
  EXPECT_EQ(axis.digests[0], "");
  EXPECT_EQ(Grid::create({}, {axis})->at(0), Configuration());
}

// A sweep that is resumed, by another version on another machine too, goes on with the points that it began with.
TEST(Grid, ASampleIsTheSameEverywhere) {
  EXPECT_EQ(make({"block.x=1:1000", "block.y=1:1000"}).sample(4, 7), (std::vector<uint64_t>{470989, 956704, 723633, 333046}));
  std::vector<std::string> axes;
  for (const char* key : {"block.x", "block.y", "block.z", "grid.x", "grid.y", "grid.z"})
    axes.push_back(fmt::format("{}=1:1024", key));
  axes.push_back("execution.iterations=1:7");
  EXPECT_EQ(make(axes).sample(4, 7),
            (std::vector<uint64_t>{5845502106427382186, 2165911192842364878, 2606000371313139421, 1016289395134552428}));
}

}  // namespace
}  // namespace mneme
