#include "mneme/base/texture_descriptors.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

TEST(TextureDescriptors, AreWhereAHandleThatIsAPointerLeads) {
  TextureObject object;
  for (const uint64_t number : {uint64_t{0}, uint64_t{79}, (uint64_t{1} << 32) - 1, uint64_t{1} << 47, ~uint64_t{0}}) {
    object.handle = number;
    EXPECT_EQ(descriptors_of(object), std::nullopt) << number;
  }
  object.handle = 0x7f3412345000;
  EXPECT_EQ(descriptors_of(object), (MemoryRange{DevicePtr(0x7f3412345000), Bytes(80)}));
  object.kind = TextureObject::Kind::surface;
  EXPECT_EQ(descriptors_of(object), (MemoryRange{DevicePtr(0x7f3412345000), Bytes(48)}));
}

}  // namespace
}  // namespace mneme
