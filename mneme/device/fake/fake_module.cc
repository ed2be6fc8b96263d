#include "mneme/device/fake/fake_module.h"

namespace mneme::fake {

FakeModule::FakeModule(FakeDevice& device, ByteSpan image)
    : device_(device), image_(reinterpret_cast<const char*>(image.data()), image.size()) {}

Result<Kernel*> FakeModule::kernel(const std::string& name) {
  MNEME_TRY(device_.begin("kernel"));
  std::lock_guard lock(device_.mutex_);
  auto found = device_.kernels_.find(name);
  if (found == device_.kernels_.end()) return error(Code::not_found, "the image has no kernel '{}'", name);
  auto& kernel = kernels_[name];
  if (!kernel) kernel = std::make_unique<FakeModuleKernel>(name, found->second, image_);
  return static_cast<Kernel*>(kernel.get());
}

Result<MemoryRange> FakeModule::global(const std::string& name) {
  MNEME_TRY(device_.begin("global"));
  std::lock_guard lock(device_.mutex_);
  auto found = device_.globals_.find(name);
  if (found == device_.globals_.end()) return error(Code::not_found, "the image has no global '{}'", name);
  return found->second;
}

}  // namespace mneme::fake
