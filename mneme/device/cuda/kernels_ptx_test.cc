#include <gtest/gtest.h>

#include <algorithm>

#include "mneme/device/cuda/memory_kernels.h"
#include "mneme/device/gpu/element_kernels_host.h"

namespace mneme::cuda {
namespace {

TEST(ElementKernels, EveryTypeHasItsKernelInThePtxAndEachStandsAlone) {
  const std::string_view ptx = element_kernels_ptx();
  EXPECT_EQ(ptx.data()[ptx.size()], '\0');
  for (int t = 0; t <= static_cast<int>(ElementType::complex128); ++t) {
    const std::string name = fmt::format("mneme_elements_{}", to_string(static_cast<ElementType>(t)));
    const std::string alone = ptx_of_kernels(ptx, {name});
    EXPECT_TRUE(alone.find(".target sm_70") < alone.find(".visible .entry " + name + "(")) << name;
    EXPECT_EQ(alone.find(".entry"), alone.rfind(".entry")) << name;
    EXPECT_EQ(std::count(alone.begin(), alone.end(), '{'), std::count(alone.begin(), alone.end(), '}')) << name;
    EXPECT_EQ(name, gpu::host::elements::kKernels[t].name);
  }
}

}  // namespace
}  // namespace mneme::cuda
