// The suite's memory tests on the CUDA backend over the driver made for tests: what a GPU would tell is told where there is none.
#include "mneme/device/conformance/conformance.h"
#include "mneme/device/cuda/cuda_device.h"

namespace mneme::conformance {
namespace {

Result<std::unique_ptr<Device>> open() {
  return cuda::open_device(0, {MNEME_FAKE_CUDA_LIBRARY, {}, "libnvidia-ml-that-is-not-there.so"});
}

CodeImage image() {
  CodeImage image{DeviceKind::cuda, {}};
  for (char c : std::string(".version 8.0\n")) image.bytes.push_back(static_cast<std::byte>(c));
  return image;
}

}  // namespace

const Target& target() {
  static const Target cuda_driver = {DeviceKind::cuda, open, image, 0x7000};
  return cuda_driver;
}

}  // namespace mneme::conformance
