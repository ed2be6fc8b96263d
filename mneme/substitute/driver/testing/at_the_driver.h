// AtTheDriver: a test that runs programs with a file of deployed code at the driver that the tests bring along.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "mneme/abi/driver_table.h"
#include "mneme/base/file_system.h"
#include "mneme/base/testing/temporary_folder.h"
#include "mneme/runtime/device_code.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme::substitute {

inline const std::string kCubin = MNEME_TEST_CUBIN;

// The code for a kernel add_one, for any launch of it.
class AtTheDriver : public ::testing::Test {
 protected:
  AtTheDriver() {
    cubin_ = FileSystem::posix().read(kCubin).value();
    code_.static_hash = read_cubin_kernel(cubin_, "add_one", kCubin).value().digest;
    code_.name = code_.demangled = "add_one";
    code_.device = "cuda";
    code_.architecture = "sm_90";
    code_.rule = {LaunchRule::Covers::any};
  }

  // What the program prints, and behind it what is said.
  std::string run(const std::string& arguments, const std::string& environment = "") const {
    return run_program(MNEME_TEST_PROGRAM " " + arguments, environment);
  }
  std::string run_program(const std::string& command, const std::string& environment) const {
    TunedFile file;
    file.add(code_, cubin_);
    file.add(others_);
    const Path path = folder_.path() / "app.tuned";
    EXPECT_TRUE(FileSystem::posix().write_atomically(path, encode_tuned(file)).ok());
    return shell(environment +
                 " LD_PRELOAD=" MNEME_TEST_PRELOAD " " MNEME_ENV_DRIVER_INTERPOSER "=" MNEME_TEST_INTERPOSER " MNEME_TUNED=" +
                 path.string() + " " + command);
  }

  static std::string shell(const std::string& command) {
    FILE* pipe = ::popen(("LD_LIBRARY_PATH=" MNEME_TEST_DRIVER_FOLDER " " + command + " 2>&1").c_str(), "r");
    std::string out;
    char buffer[256];
    while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, count);
    const int status = ::pclose(pipe);
    return status == 0 ? out : out + fmt::format("status {}\n", status);
  }

  const TemporaryDirectory folder_;
  ByteVector cubin_;
  TunedKernel code_;
  TunedFile others_;  // in the same file
};

}  // namespace mneme::substitute
