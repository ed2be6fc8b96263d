// The fake device's modules, which find by name the kernels and globals that the test has defined.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mneme/device/fake/fake_device.h"

namespace mneme::fake {

class FakeModuleKernel final : public Kernel {
 public:
  FakeModuleKernel(std::string name, const FakeKernel& definition, const std::string& image)
      : definition_(definition), image_(image) {
    name_ = std::move(name);
    resources_ = definition.resources;
  }
  Result<std::optional<uint32_t>> active_blocks(const LaunchShape&) const override { return definition_.active_blocks; }
  const FakeKernel& definition() const { return definition_; }
  const std::string& image() const { return image_; }

 private:
  FakeKernel definition_;
  const std::string& image_;
};

class FakeModule final : public Module {
 public:
  FakeModule(FakeDevice& device, ByteSpan image);
  Result<Kernel*> kernel(const std::string& name) override;
  Result<MemoryRange> global(const std::string& name) override;

 private:
  FakeDevice& device_;
  std::string image_;
  std::map<std::string, std::unique_ptr<FakeModuleKernel>> kernels_;
};

}  // namespace mneme::fake
