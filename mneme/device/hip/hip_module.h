// A loaded code object of AMD's.
#pragma once

#include <memory>

#include "mneme/device/gpu/gpu_module.h"

namespace mneme::hip {

class HipModule final : public gpu::GpuModule {
 public:
  // Loads a code object, or a bundle of them as clang makes it. incompatible: this device does not load the image. corrupt: a
  // code object that is cut short. The runtime reads the image as long as the module is loaded.
  static Result<std::unique_ptr<HipModule>> load(const gpu::Context& context, ByteVector image);

 private:
  using GpuModule::GpuModule;
};

}  // namespace mneme::hip
