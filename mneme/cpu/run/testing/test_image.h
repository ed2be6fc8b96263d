// The images that the executor's tests load, and a device of a few workers to run them on.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "mneme/cpu/run/cpu_device.h"

namespace mneme::cpu {

// The parameters of the kernels in kernels.cc.
struct TestParameters {
  uint32_t* out = nullptr;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  void* pointer = nullptr;
};

inline CodeImage read_image(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  CodeImage image;
  image.device = DeviceKind::cpu;
  image.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(image.bytes.data(), bytes.data(), bytes.size());
  return image;
}

class ExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    module_ = std::move(device_.load(read_image(MNEME_TEST_KERNELS))).value();
    stream_ = std::move(device_.create_stream()).value();
  }

  Status launch(const std::string& name, const LaunchShape& shape, TestParameters parameters) {
    auto kernel = module_->kernel(name);
    if (!kernel.ok()) return kernel.status();
    return stream_->launch(**kernel, shape, std::as_bytes(std::span(&parameters, 1)));
  }
  // Launches with `count` words of output, which are zero before, and returns them.
  std::vector<uint32_t> output(const std::string& name, const LaunchShape& shape, size_t count, TestParameters parameters = {}) {
    std::vector<uint32_t> out(count);
    parameters.out = out.data();
    Status status = launch(name, shape, parameters);
    EXPECT_TRUE(status.ok()) << name << ": " << status.to_string();
    return out;
  }

  CpuDevice device_{3};
  std::unique_ptr<Module> module_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace mneme::cpu
