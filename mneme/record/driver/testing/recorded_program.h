// RecordedAtTheDriver: a test that runs programs at the driver of the tests, bare and recorded.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "mneme/abi/driver_table.h"
#include "mneme/base/testing/temporary_folder.h"
#include "mneme/snapshot/recording_options.h"
#include "mneme/snapshot/recording_report.h"
#include "mneme/store/database.h"

namespace mneme::driver {

class RecordedAtTheDriver : public ::testing::Test {
 protected:
  RecordedAtTheDriver() : database_(folder_.path() / "database"), report_(RecordingReportMapping::create()) {}

  static std::string shell(const std::string& command) {
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::string out;
    char buffer[256];
    while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, count);
    const int status = ::pclose(pipe);
    return status == 0 ? out : out + fmt::format("status {}\n", status);
  }
  static std::string bare(const std::string& arguments, const std::string& program = MNEME_TEST_PROGRAM) {
    return shell("LD_LIBRARY_PATH=" MNEME_TEST_DRIVER_FOLDER " " + program + " " + arguments);
  }
  std::string recorded(const std::string& arguments, const std::string& program = MNEME_TEST_PROGRAM) {
    options_.database = database_;
    options_.address_space = Bytes(uint64_t{1} << 30);
    options_.report = (*report_).descriptor();
    options_.owner = ::getpid();
    return shell("LD_LIBRARY_PATH=" MNEME_TEST_DRIVER_FOLDER " LD_PRELOAD=" MNEME_TEST_PRELOAD " " MNEME_ENV_DRIVER_INTERPOSER
                 "=" MNEME_TEST_RECORDER " MNEME_RECORD='" +
                 encode_recording_options(options_) + "' " + program + " " + arguments);
  }

  std::vector<KernelDocument> kernels() {
    auto database = Database::open(database_);
    if (!database.ok()) return {};
    auto listing = database->list();
    EXPECT_TRUE(listing.ok() && listing->damaged.empty());
    return listing.ok() ? listing->kernels : std::vector<KernelDocument>();
  }
  RecordingReport& report() { return **report_; }
  uint64_t passed(NotRecorded reason) { return report().not_recorded[static_cast<size_t>(reason)].launches; }

  const TemporaryDirectory folder_;
  const std::string database_;
  Result<RecordingReportMapping> report_;
  RecordingOptions options_;
};

}  // namespace mneme::driver
