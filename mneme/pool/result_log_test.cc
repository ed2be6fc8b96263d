// Where the log is written: by its name alone, through a link, and to what is no regular file.
#include "mneme/pool/result_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "mneme/base/testing/forgetful_file_system.h"
#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class ResultLogTest : public testing::Test {
 protected:
  static Result<ResultLog> open(const Path& log, FileSystem& files = FileSystem::posix()) {
    return ResultLog::open(log, {{"database", "x"}}, ResultLog::Existing::resume, files);
  }

  const TemporaryDirectory directory_;
  const Path& folder_ = directory_.path();
};

TEST_F(ResultLogTest, GoesToTheTargetOfALink) {
  std::filesystem::create_directory(folder_ / "elsewhere");
  std::filesystem::create_symlink("elsewhere/results.jsonl", folder_ / "log");
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(open(folder_ / "log").ok());
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "log"));
    EXPECT_THAT(*FileSystem::posix().list(folder_ / "elsewhere"), ElementsAre("results.jsonl"));
  }
  EXPECT_EQ(read_log(folder_ / "log")->about, Json({{"database", "x"}}));
}

TEST_F(ResultLogTest, IsWrittenToAFifoAsItIs) {
  const Path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  std::string heard;
  std::thread reader([&] { std::getline(std::ifstream(fifo), heard); });
  auto log = ResultLog::open(fifo, {{"database", "x"}}, ResultLog::Existing::refuse);
  reader.join();
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  EXPECT_EQ(heard, R"({"about":{"database":"x"},"mneme_log":1})");
  EXPECT_THAT(*FileSystem::posix().list(folder_), ElementsAre("fifo"));
  // Nor is it waited for where results are read from it.
  EXPECT_THAT(read_log(fifo).status().to_string(), HasSubstr("it is a FIFO, where a regular file is needed"));
}

// Another's file is neither written to nor taken for the lock.
TEST_F(ResultLogTest, TheNewFileIsNoLink) {
  std::ofstream(folder_ / "other") << "content";
  std::filesystem::create_symlink("other", folder_ / "log.new");
  EXPECT_THAT(open(folder_ / "log").status().to_string(),
              HasSubstr("/log: it is a symbolic link, where a regular file is needed"));
  std::string content;
  std::getline(std::ifstream(folder_ / "other"), content);
  EXPECT_EQ(content, "content");
}

PoolResult result_of(const std::string& passes) {
  PoolResult result;
  result.configuration.passes = passes;
  return result;
}

Status append(ResultLog& log, const PoolResult& result) {
  return log.append(result, to_json(result.configuration), whole_digest(result.configuration));
}

// What a run had found out is there whenever the machine loses its power, and whatever the next run had begun to do with it.
TEST_F(ResultLogTest, NoLossOfPowerTakesResultsThatAreTakenUp) {
  const Path path = folder_ / "log";
  {
    auto log = open(path);
    ASSERT_TRUE(log.ok());
    for (const char* passes : {"a", "b", "c"}) ASSERT_TRUE(append(*log, result_of(passes)).ok());
  }
  bool resumed = false;
  for (int operations = 0; !resumed; ++operations) {
    ASSERT_LT(operations, 100);
    testing_base::ForgetfulFileSystem disk;
    int left = operations;
    auto ending = faulty_file_system(disk, [&](std::string_view operation, const Path&, uint64_t) {
      const bool changes = operation != "open" && operation != "read";
      return changes && left-- <= 0 ? error(Code::io, "the process is gone") : Status();
    });
    auto log = open(path, *ending);
    resumed = log.ok();
    disk.forget();
    auto there = read_log(path);
    ASSERT_TRUE(there.ok()) << "after " << operations << " operations: " << there.status().to_string();
    EXPECT_THAT(there->results, testing::SizeIs(3)) << "after " << operations << " operations";
    std::filesystem::remove(path.string() + ".new");
  }
}

TEST_F(ResultLogTest, ANewLogIsThereAfterALossOfPower) {
  testing_base::ForgetfulFileSystem disk;
  auto log = open(folder_ / "log", disk);
  ASSERT_TRUE(log.ok());
  disk.forget();
  EXPECT_EQ(read_log(folder_ / "log")->about, Json({{"database", "x"}}));
}

TEST_F(ResultLogTest, OfTwoResultsOfAConfigurationTheLaterCounts) {
  PoolResult result;
  result.configuration.passes = "a";
  {
    auto log = open(folder_ / "log");
    ASSERT_TRUE(log.ok()) << log.status().to_string();
    for (double time : {5, 7}) {
      result.details.together.exec_time = {Nanoseconds(time)};
      ASSERT_TRUE(log->append(result, to_json(result.configuration), whole_digest(result.configuration)).ok());
    }
  }
  const auto log = open(folder_ / "log");
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  ASSERT_EQ(log->known().size(), 1u);
  EXPECT_EQ(log->known().begin()->second.exec_time(), std::vector<Nanoseconds>{Nanoseconds(7)});
}

// A line that was cut off is the last. One in between that is none is no accident of a run that was killed.
TEST_F(ResultLogTest, ADamagedLineIsNamedByItsNumber) {
  const std::string header = R"({"about":{"database":"x"},"mneme_log":1})",
                    whole = R"({"configuration":{"passes":"a"},"failure":null})";
  std::ofstream(folder_ / "log") << header << "\n" << whole << "\n{\n" << whole << "\n";
  EXPECT_EQ(read_log(folder_ / "log").status().to_string(),
            "corrupt: reading line 3 of " + (folder_ / "log").string() + ": a result of a pool: members are missing");
  EXPECT_FALSE(open(folder_ / "log").ok());
  std::ofstream(folder_ / "log") << header << "\n" << whole << "\n{";
  EXPECT_EQ(read_log(folder_ / "log")->results.size(), 1u);
}

}  // namespace
}  // namespace mneme
