#include "mneme/cli/options/device_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/device/backend.h"

namespace mneme::cli {
namespace {

using ::testing::HasSubstr;

// The option as a command line leaves it.
DeviceOption option(const std::vector<std::string>& words) {
  DeviceOption option;
  CLI::App app;
  option.declare(app, "where");
  app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  return option;
}

TEST(DeviceOption, TakesWhatIsNamed) {
  EXPECT_EQ(*option({"--device", "cpu"}).kind_for_program("CUDA"), DeviceKind::cpu);
  EXPECT_EQ(*option({"--device", "cpu"}).kind(), DeviceKind::cpu);
  EXPECT_EQ(*option({"--device", "cuda"}).kind(), DeviceKind::cuda) << "whether or not there is one";
  EXPECT_EQ(*option({"--device", "cpu"}).kind_for_code("sm_90"), DeviceKind::cpu);
  Result<DeviceKind> cuda = option({"--device", "cuda"}).kind_for_program("CUDA");
  if (!cuda.ok()) EXPECT_EQ(cuda.status().code(), Code::unavailable);
}

TEST(DeviceOption, IsOneThatRunsWhatTheProgramCalls) {
  EXPECT_EQ(*option({}).kind_for_program("HIP"), DeviceKind::cpu) << "whether or not there is a GPU of another vendor";
  EXPECT_EQ(*option({"--device", "cpu"}).kind_for_program("HIP"), DeviceKind::cpu);
  EXPECT_EQ(option({"--device", "cuda"}).kind_for_program("HIP").status().to_string(),
            "invalid_argument: --device cuda: the program calls the HIP runtime, which has no CUDA device: --device cpu");
}

TEST(DeviceOption, AutomaticallyCodeIsForWhatTheKernelWasCompiledFor) {
  EXPECT_EQ(*option({}).kind_for_code("sm_90"), DeviceKind::cuda);
  EXPECT_EQ(*option({}).kind_for_code("x86-64-v3"), DeviceKind::cpu);
}

TEST(DeviceOption, OffersTheKindsThatAreForUsers) {
  CLI::App app;
  DeviceOption option;
  option.declare(app, "where");
  EXPECT_THAT(app.help(), HasSubstr(fmt::format("{{auto,{}}}", fmt::join(user_device_names(), ","))));
  EXPECT_THROW(app.parse("--device fake"), CLI::ValidationError);
}

}  // namespace
}  // namespace mneme::cli
