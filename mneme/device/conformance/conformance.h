// The conformance suite: tests of what every kind of device must do. It is compiled once, and linked with one target for each
// kind.
//
// Where no such device is available the suite is skipped, with the reason; anything else that goes wrong fails it. A new
// backend joins by a file <kind>_target.cc that is linked with the suite. Each executable holds its kernels' image, and so runs
// alone.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "mneme/device/address_space.h"
#include "mneme/device/conformance/conformance_kernels.h"
#include "mneme/device/device.h"

namespace mneme::conformance {

struct Target {
  DeviceKind kind;
  // Opens a device on which image() can be loaded.
  Result<std::unique_ptr<Device>> (*open)();
  // conformance_kernels.cu, compiled for this kind of device.
  CodeImage (*image)();
  // An address that no kernel may write to.
  uint64_t wild_address;
  // Why a kernel that writes to imported memory (Device::import_shared()) does not fault; empty where it does.
  const char* no_write_protection = "";
  // Whether an array is the memory of its copy, so that nothing is copied between them.
  bool arrays_are_memory = false;
};

// The target of this executable, which <kind>_target.cc defines.
const Target& target();

// Packs arguments as the device's ABI does: each at the next offset that its alignment allows.
class Arguments {
 public:
  template <typename... T>
  explicit Arguments(const T&... values) {
    (add(values), ...);
  }
  ByteSpan bytes() const { return buffer_; }

 private:
  template <typename T>
  void add(const T& value) {
    const size_t offset = (buffer_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    buffer_.resize(offset + sizeof(T));
    std::memcpy(buffer_.data() + offset, &value, sizeof(T));
  }
  ByteVector buffer_;
};

// A test with an open device, a stream and the module.
class Conformance : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Device memory, which is freed at the end of the test.
  DevicePtr allocate(Bytes size);
  template <typename T>
  DevicePtr upload(const std::vector<T>& values) {
    DevicePtr memory = allocate(Bytes(values.size() * sizeof(T)));
    Status status = stream_->copy_to_device(memory, std::as_bytes(std::span(values)));
    EXPECT_TRUE(status.ok()) << status.to_string();
    return memory;
  }
  template <typename T>
  std::vector<T> download(DevicePtr memory, size_t count) {
    std::vector<T> values(count);
    Status status = stream_->copy_to_host(std::as_writable_bytes(std::span(values)), memory);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return values;
  }
  DevicePtr zeros(Bytes size) {
    DevicePtr memory = allocate(size);
    Status status = stream_->fill(memory, std::byte{0}, size);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return memory;
  }
  Status launch(const std::string& kernel, const LaunchShape& shape, const Arguments& arguments);
  void run(const std::string& kernel, const LaunchShape& shape, const Arguments& arguments) {
    Status status = launch(kernel, shape, arguments);
    ASSERT_TRUE(status.ok()) << kernel << ": " << status.to_string();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Stream> stream_;
  std::vector<DevicePtr> memory_;
};

}  // namespace mneme::conformance

#define ASSERT_OK(expression)                             \
  do {                                                    \
    ::mneme::Status mneme_ok_ = (expression);             \
    ASSERT_TRUE(mneme_ok_.ok()) << mneme_ok_.to_string(); \
  } while (false)
