#include <gmock/gmock.h>

#include "mneme/hip/program_code.h"
#include "mneme/hip/testing/program.h"
#include "mneme/runtime/code_object.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme::hip {
namespace {

// A program whose first code object is for `target`.
class ProgramFor {
 public:
  explicit ProgramFor(const std::string& target)
      : bundle_(testing::make_bundle(
            {{"host-x86_64-unknown-linux-gnu-", {}}, {"hipv4-amdgcn-amd-amdhsa--" + target, testing::make_code_object({})}})),
        wrapper_(wrap_bundle(bundle_)) {
    program_code().add_image(&handle_, 0, &wrapper_);
  }
  ~ProgramFor() { program_code().remove_image(&handle_); }

 private:
  ByteVector bundle_;
  ImageWrapper wrapper_;
  void* handle_ = nullptr;
};

#if HIP_VERSION_MAJOR < 6
#define HIP_GET_PROPERTIES HIP(hipGetDeviceProperties)
int number_of(const hipDeviceProp_t& properties) { return properties.gcnArch; }
#else
#define HIP_GET_PROPERTIES HIP(hipGetDevicePropertiesR0600)
// Which properties do not have any more.
int number_of(const hipDeviceProp_t& properties) {
  const std::string name = properties.gcnArchName;
  return properties.major * 100 + properties.minor * 10 + (name.find("90a") != name.npos ? 10 : 0);
}
#endif

class DeviceOfAProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    Program::get();
    CUDA_IS(cudaGetDeviceProperties, [](cudaDeviceProp* out, int device) {
      *out = {};
      std::strcpy(out->name, "a device");
      out->warpSize = 32;
      out->totalGlobalMem = 1 << 30;
      out->maxThreadsPerBlock = 1024;
      return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
    });
    CUDA_IS(cudaDeviceGetAttribute, [](int* value, cudaDeviceAttr attribute, int device) {
      *value = static_cast<int>(attribute);
      return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
    });
  }
};

TEST_F(DeviceOfAProgram, IsAnAmdGpuOfItsArchitecture) {
  const ProgramFor program("gfx1030");
  hipDeviceProp_t properties;
  ASSERT_EQ(HIP_GET_PROPERTIES(&properties, 0), hipSuccess);
  EXPECT_STREQ(properties.gcnArchName, "gfx1030");
  EXPECT_STREQ(properties.name, "a device");
  EXPECT_EQ(number_of(properties), 1030);
  EXPECT_EQ(properties.major, 10);
  EXPECT_EQ(properties.minor, 3);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.sharedMemPerBlock, 65536u);
  EXPECT_EQ(properties.totalGlobalMem, size_t{1} << 30);
  EXPECT_EQ(HIP_GET_PROPERTIES(&properties, 1), hipErrorInvalidDevice);
  EXPECT_EQ(HIP_GET_PROPERTIES(nullptr, 0), hipErrorInvalidValue);
}

TEST_F(DeviceOfAProgram, KeepsTheSettingsOfItsTarget) {
  const ProgramFor program("gfx90a:sramecc+:xnack-");
  hipDeviceProp_t properties;
  ASSERT_EQ(HIP_GET_PROPERTIES(&properties, 0), hipSuccess);
  EXPECT_STREQ(properties.gcnArchName, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(number_of(properties), 910);
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.minor, 0);
  EXPECT_EQ(properties.warpSize, 64);
}

TEST_F(DeviceOfAProgram, OfCodeForSeveralGpusHasTheVersionThatTheyShare) {
  for (const auto& [target, major, minor] : {std::tuple("gfx9-4-generic", 9, 4), std::tuple("gfx11-generic", 11, 0)}) {
    const ProgramFor program(target);
    hipDeviceProp_t properties;
    ASSERT_EQ(HIP_GET_PROPERTIES(&properties, 0), hipSuccess);
    EXPECT_EQ(properties.major, major) << target;
    EXPECT_EQ(properties.minor, minor) << target;
    EXPECT_EQ(number_of(properties), major * 100 + minor * 10) << target;
  }
}

TEST_F(DeviceOfAProgram, AttributesAreThoseOfTheSameMeaning) {
  const ProgramFor program("gfx942");
  int value = 0;
  EXPECT_EQ(HIP(hipDeviceGetAttribute)(&value, hipDeviceAttributeMaxThreadsPerBlock, 0), hipSuccess);
  EXPECT_EQ(value, cudaDevAttrMaxThreadsPerBlock);
  EXPECT_EQ(HIP(hipDeviceGetAttribute)(&value, hipDeviceAttributeWarpSize, 0), hipSuccess);
  EXPECT_EQ(value, 64) << "not CUDA's";
  EXPECT_EQ(HIP(hipDeviceGetAttribute)(&value, hipDeviceAttributeComputeCapabilityMinor, 0), hipSuccess);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(HIP(hipDeviceGetAttribute)(&value, hipDeviceAttributeWarpSize, 1), hipErrorInvalidDevice);
  EXPECT_EQ(HIP(hipDeviceGetAttribute)(&value, hipDeviceAttributeLuid, 0), hipErrorInvalidValue);
  EXPECT_EQ(HIP(hipDeviceGetAttribute)(nullptr, hipDeviceAttributeWarpSize, 0), hipErrorInvalidValue);
}

// Whatever the program was compiled for: programs ask before they make textures, and the CPU device has them.
TEST_F(DeviceOfAProgram, HasImages) {
  for (const char* target : {"gfx942", "gfx1030"}) {
    const ProgramFor program(target);
    int value = 0;
    EXPECT_EQ(HIP(hipDeviceGetAttribute)(&value, hipDeviceAttributeImageSupport, 0), hipSuccess);
    EXPECT_EQ(value, 1) << target;
  }
}

TEST_F(DeviceOfAProgram, ReachesPageableMemoryOnlyWithXnack) {
  for (const auto& [target, wanted] : {std::pair{"gfx90a", 0}, std::pair{"gfx90a:xnack-", 0}, std::pair{"gfx90a:xnack+", 1}}) {
    const ProgramFor program(target);
    hipDeviceProp_t properties;
    int value = -1;
    ASSERT_EQ(HIP_GET_PROPERTIES(&properties, 0), hipSuccess);
    EXPECT_EQ(properties.pageableMemoryAccess, wanted) << target;
    EXPECT_EQ(HIP(hipDeviceGetAttribute)(&value, hipDeviceAttributePageableMemoryAccess, 0), hipSuccess);
    EXPECT_EQ(value, wanted) << target;
  }
}

TEST_F(DeviceOfAProgram, WithoutCodeIsAGfx90a) { EXPECT_EQ(program_architecture(), "gfx90a"); }

}  // namespace
}  // namespace mneme::hip
