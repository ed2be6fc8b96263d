// For tests: an image on the CPU device, whose kernels are launched with arguments of the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>

#include "mneme/compile/compiler.h"
#include "mneme/device/device.h"

#define ASSERT_OK(call)                               \
  do {                                                \
    const Status status_ = (call);                    \
    ASSERT_TRUE(status_.ok()) << status_.to_string(); \
  } while (false)

namespace mneme::cpu {

class CpuImageTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open(DeviceKind::cpu);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    device_ = std::move(*opened);
    stream_ = std::move(device_->create_stream()).value();
  }

  void load_code(const Result<CompiledCode>& code) {
    ASSERT_TRUE(code.ok()) << code.status().to_string();
    auto loaded = device_->load(code->image);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    module_ = std::move(*loaded);
  }

  // Launches with the arguments, each at its own alignment, and waits.
  template <typename... Args>
  Status run(const std::string& kernel, LaunchShape shape, Args... args) {
    ByteVector parameters;
    const auto add = [&](const auto& value) {
      constexpr size_t alignment = alignof(std::decay_t<decltype(value)>);
      parameters.resize((parameters.size() + alignment - 1) / alignment * alignment);
      const auto bytes = std::as_bytes(std::span(&value, 1));
      parameters.insert(parameters.end(), bytes.begin(), bytes.end());
    };
    (add(args), ...);
    if (!module_) return error(Code::not_found, "no image is loaded");
    auto found = module_->kernel(kernel);
    if (!found.ok()) return found.status();
    if (Status status = stream_->launch(**found, shape, parameters); !status.ok()) return status;
    return stream_->synchronize();
  }

  static uint64_t address(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Module> module_;
};

}  // namespace mneme::cpu
