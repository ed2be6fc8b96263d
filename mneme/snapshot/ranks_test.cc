#include "mneme/snapshot/ranks.h"

#include <gtest/gtest.h>

#include <map>

namespace mneme {
namespace {

std::optional<uint64_t> rank_in(const std::map<std::string, const char*>& environment) {
  return rank_of_process([&](const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  });
}

TEST(Ranks, AProcessHasTheRankThatItsLauncherGaveIt) {
  EXPECT_EQ(rank_in({}), std::nullopt);
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"})
    EXPECT_EQ(rank_in({{name, "3"}}), 3u) << name;
  EXPECT_EQ(rank_in({{"RANK", "2"}, {"SLURM_PROCID", "0"}}), 2u);
  EXPECT_EQ(rank_in({{"RANK", "captain"}, {"SLURM_PROCID", "1"}}), 1u);
  EXPECT_EQ(rank_in({{"RANK", ""}}), std::nullopt);
}

TEST(Ranks, AreRecordedThatAreListed) {
  EXPECT_TRUE(records_rank("0", 0));
  EXPECT_FALSE(records_rank("0", 1));
  EXPECT_TRUE(records_rank("0", std::nullopt));
  EXPECT_TRUE(records_rank("all", 7));
  EXPECT_TRUE(records_rank("0,12", 12));
  EXPECT_FALSE(records_rank("0,12", 2));
}

// Each runs `mneme record` with the same words, and none writes where another does.
TEST(Ranks, EachWritesAFileOfItsOwn) {
  EXPECT_EQ(file_of_rank("told/report.json", "all", 0), "told/report.json");
  EXPECT_EQ(file_of_rank("told/report.json", "all", 3), "told/report.rank3.json");
  EXPECT_EQ(file_of_rank("told/report.json", "all", std::nullopt), "told/report.json");
  EXPECT_EQ(file_of_rank("report.json", "0", 0), "report.json");
  EXPECT_EQ(file_of_rank("report.json", "12,3", 3), "report.json");
  EXPECT_EQ(file_of_rank("report.json", "12,3", 12), "report.rank12.json");
  EXPECT_EQ(file_of_rank("/tmp/v1.2/report", "all", 1), "/tmp/v1.2/report.rank1");
  EXPECT_EQ(file_of_rank("told/", "all", 1), "told/");
}

TEST(Ranks, OtherWordsAreRefused) {
  EXPECT_TRUE(check_ranks("all").ok());
  EXPECT_TRUE(check_ranks("0,3").ok());
  for (const char* wrong : {"", "first", "0,", ",0", "-1", "0 1"})
    EXPECT_EQ(check_ranks(wrong).message(),
              "ranks to record are all, or numbers with commas between them such as 0,2, not '" + std::string(wrong) + "'");
}

}  // namespace
}  // namespace mneme
