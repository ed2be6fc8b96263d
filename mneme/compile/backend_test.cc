#include "mneme/compile/backend.h"

#include <gtest/gtest.h>

#include "mneme/device/backend.h"

namespace mneme {
namespace {

// A build without HIP has no device of AMD's, and makes code for them all the same: LLVM is all that takes.
TEST(CompilerBackends, AreOfKindsThatUsersHave) {
  for (const CompilerBackend& compiler : compiler_backends()) {
    EXPECT_TRUE(compiler.architecture && compiler.create && compiler.check_options && compiler.runs_on)
        << compiler.architecture_prefix;
    EXPECT_EQ(find_compiler_backend(compiler.kind), &compiler);
    const Backend& device = backend_of(compiler.kind);
    EXPECT_TRUE(device.kind == compiler.kind || compiler.kind == DeviceKind::hip) << compiler.architecture_prefix;
    if (device.kind == compiler.kind) EXPECT_EQ(device.audience, Audience::users) << device.name;
  }
}

TEST(CompilerBackends, AKindWithoutOneHasNoCompiler) {
  EXPECT_EQ(find_compiler_backend(DeviceKind::fake), nullptr);
  EXPECT_EQ(Compiler::create(DeviceKind::fake, "fake").status().to_string(),
            "unsupported: there is no compiler for device 'fake' in this build");
}

TEST(CompilerBackends, TellTheArchitectureWhereNoDeviceIsOpen) {
  EXPECT_EQ(architecture_without_device(DeviceKind::cuda, "sm_80"), "sm_80");
  EXPECT_EQ(architecture_without_device(DeviceKind::cpu, "sm_80"), "x86-64-v3");
  EXPECT_EQ(*kind_of_architecture("sm_90a"), DeviceKind::cuda);
  EXPECT_EQ(*kind_of_architecture("x86-64-v3"), DeviceKind::cpu);
  EXPECT_EQ(*kind_of_architecture("gfx90a:xnack+"), DeviceKind::hip);
  EXPECT_EQ(kind_of_architecture("another").status().to_string(),
            "unsupported: there is no compiler for the architecture 'another' in this build; the names of those that there are "
            "begin with sm_, gfx, x86-64-v3");
}

}  // namespace
}  // namespace mneme
