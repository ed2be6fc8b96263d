#include "mneme/device/conformance/conformance.h"

namespace mneme::conformance {

void Conformance::SetUp() {
  auto device = target().open();
  if (device.status().code() == Code::unavailable) GTEST_SKIP() << device.status().message();
  ASSERT_OK(device.status());
  device_ = std::move(device).value();
  ASSERT_EQ(device_->properties().kind, target().kind);
  auto stream = device_->create_stream();
  ASSERT_OK(stream.status());
  stream_ = std::move(stream).value();
  auto module = device_->load(target().image());
  ASSERT_OK(module.status());
  module_ = std::move(module).value();
}

void Conformance::TearDown() {
  if (stream_) EXPECT_TRUE(stream_->synchronize().ok());
  for (DevicePtr memory : memory_) EXPECT_TRUE(device_->free(memory).ok());
  module_.reset();
  stream_.reset();
}

DevicePtr Conformance::allocate(Bytes size) {
  auto memory = device_->allocate(size);
  EXPECT_TRUE(memory.ok()) << memory.status().to_string();
  if (!memory.ok()) return DevicePtr();
  memory_.push_back(*memory);
  return *memory;
}

Status Conformance::launch(const std::string& kernel, const LaunchShape& shape, const Arguments& arguments) {
  MNEME_ASSIGN(Kernel * found, module_->kernel(kernel));
  MNEME_TRY(stream_->launch(*found, shape, arguments.bytes()));
  return stream_->synchronize();
}

}  // namespace mneme::conformance
